//===- Safetensors.h - Read weights from safetensors files ----------------===//
//
// Format: the length of the header (8 bytes, little endian), the header (JSON:
// type, shape and byte range of each tensor), and the data.
// (huggingface.co/docs/safetensors)
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
