//===- Codes.h - Blocks of few bits as nn.dequantize has them -------------===//

#ifndef FRIT_COMPILER_GGUF_CODES_H
#define FRIT_COMPILER_GGUF_CODES_H

#include "compiler/support/Gguf.h"
#include "dialects/nn/operators/Quantized.h"

namespace frit::gguf {

/// How a type's weights are stored after reordering. Types of 5 and 6 bits have
/// codes of 8.
struct CodeLayout {
  nn::Code code;
  int64_t block; ///< weights that share a scale
  bool hasOffsets;
};

/// Returns nothing for types whose blocks have one weight.
std::optional<CodeLayout> codeLayoutOf(GgufType type);

/// Writes the codes, scales and offsets (if the layout has them) of `count`
/// blocks (blockOf). Products of codes and scales, plus offsets, are the
/// numbers of `dequantize` up to the rounding of f32.
void readCodes(GgufType type, const uint8_t *blocks, size_t count,
               uint8_t *codes, float *scales, float *offsets);

} // namespace frit::gguf

#endif // FRIT_COMPILER_GGUF_CODES_H
