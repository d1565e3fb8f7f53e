//===- ReadCodes.h - Reads matrices of codes from a folder ----------------===//

#ifndef FRIT_COMPILER_DECODER_QUANTIZED_READCODES_H
#define FRIT_COMPILER_DECODER_QUANTIZED_READCODES_H

#include "compiler/decoder/quantized/CodedMatrix.h"
#include "compiler/decoder/quantized/Scheme.h"
#include "compiler/decoder/quantized/StoredTensors.h"

namespace frit::decoder {

/// Returns the name of the tensor that has the codes of a module's matrix; ""
/// if there is none.
std::string codesNameOf(const StoredTensors &tensors, llvm::StringRef module);

inline bool hasCodes(const StoredTensors &tensors, llvm::StringRef module) {
  return !codesNameOf(tensors, module).empty();
}

/// Reads the matrix of a module that has codes: of GPTQ, AWQ,
/// compressed-tensors, or floats of 8 bits. Sizes are checked before elements
/// are read. None after an error that names the tensor and its file.
std::optional<CodedMatrix> readCodes(StoredTensors &tensors,
                                     const Scheme &scheme,
                                     llvm::StringRef module, int64_t rows,
                                     int64_t columns);

/// Returns whether a tensor that no matrix needs may stay unread: a scale of
/// activations or caches, or a bias of zeros of a module that has codes.
bool isUnneeded(const StoredTensors &tensors, llvm::StringRef name);

} // namespace frit::decoder

#endif // FRIT_COMPILER_DECODER_QUANTIZED_READCODES_H
