//===- Blocks.h - The numbers that blocks of few bits stand for -----------===//

#ifndef FRIT_COMPILER_GGUF_BLOCKS_H
#define FRIT_COMPILER_GGUF_BLOCKS_H

#include "compiler/support/Gguf.h"

namespace frit::gguf {

/// Returns whether `dequantize` knows a type: F32, F16, BF16, Q4_0, Q4_1, Q5_0,
/// Q5_1, Q8_0, Q4_K, Q5_K, Q6_K, IQ4_NL and MXFP4.
bool canDequantize(GgufType type);

/// Writes the numbers of `count` blocks (blockOf) of a type that it knows.
void dequantize(GgufType type, const uint8_t *blocks, size_t count,
                float *numbers);

} // namespace frit::gguf

#endif // FRIT_COMPILER_GGUF_BLOCKS_H
