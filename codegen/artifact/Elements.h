//===- Elements.h - Bytes of constants ------------------------------------===//

#ifndef FRIT_CODEGEN_ARTIFACT_ELEMENTS_H
#define FRIT_CODEGEN_ARTIFACT_ELEMENTS_H

#include "frit/artifact.h"

#include "mlir/IR/BuiltinAttributes.h"

#include <list>
#include <optional>
#include <string>

namespace frit::artifact {

/// Returns the bytes of a constant as files store them: one byte per bool,
/// splats expanded. They point into the attribute, or into `owned` if they had
/// to be converted. None if the attribute has no data.
std::optional<llvm::ArrayRef<char>> bytesOf(mlir::ElementsAttr value,
                                            std::list<std::string> &owned);

} // namespace frit::artifact

#endif // FRIT_CODEGEN_ARTIFACT_ELEMENTS_H
