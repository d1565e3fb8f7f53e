//===- Safetensors.h - Read weights from safetensors files ----------------===//
//
// The runtime's reader finds the tensors; this makes them elements of the IR.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_COMPILER_JSON_SAFETENSORS_H
#define FRIT_COMPILER_JSON_SAFETENSORS_H

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>
#include <optional>

namespace frit::importer {

/// Reads the tensors of a file by name; they refer to its bytes. None after an
/// error at `loc`.
std::optional<llvm::StringMap<mlir::ElementsAttr>>
readSafetensors(std::shared_ptr<llvm::MemoryBuffer> file, mlir::Location loc);

} // namespace frit::importer

#endif // FRIT_COMPILER_JSON_SAFETENSORS_H
