//===- Safetensors.h - Weights in .safetensors files ----------------------===//
//
// A file is the length of a JSON object in 8 bytes, little endian, the object,
// which says for each tensor its type, its shape and where in the rest of the
// file its bytes lie, and these bytes. (huggingface.co/docs/safetensors)
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

/// The tensors of a file, whose bytes they share, by name; nothing after an
/// error at `loc`.
std::optional<llvm::StringMap<mlir::ElementsAttr>>
readSafetensors(std::shared_ptr<llvm::MemoryBuffer> file, mlir::Location loc);

} // namespace frit::importer

#endif // FRIT_COMPILER_JSON_SAFETENSORS_H
