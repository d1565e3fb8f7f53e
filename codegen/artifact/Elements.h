//===- Elements.h - Constants as files hold them --------------------------===//

#ifndef FRIT_CODEGEN_ARTIFACT_ELEMENTS_H
#define FRIT_CODEGEN_ARTIFACT_ELEMENTS_H

#include "frit/artifact.h"

#include "mlir/IR/BuiltinAttributes.h"

#include <list>
#include <optional>
#include <string>

namespace frit::artifact {

/// What the runtime calls a tensor's element type.
DType dtypeOf(mlir::Type element);

/// The bytes of a constant as they are stored: bools take one each, splats are
/// spelled out. `owned` holds them where the attribute does not. Nothing where
/// they are missing.
std::optional<llvm::ArrayRef<char>> bytesOf(mlir::ElementsAttr value,
                                            std::list<std::string> &owned);

} // namespace frit::artifact

#endif // FRIT_CODEGEN_ARTIFACT_ELEMENTS_H
