//===- ProblemCheck.h - Check gemm, conv and attention problems -----------===//
//
// A gemm, convolution or attention describes memory by sizes and strides. These
// functions check that every element it touches lies inside the step's
// arguments, so that neither a library nor our own kernels access memory
// outside of them.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_EXEC_PROBLEMCHECK_H
#define FRIT_EXEC_PROBLEMCHECK_H

#include "frit/artifact.h"

#include <span>

namespace frit {

/// Return what is wrong, or null.
const char *checkGemm(const artifact::Gemm &gemm,
                      std::span<const artifact::Buffer> arguments);
const char *checkConv(const artifact::Conv &conv,
                      std::span<const artifact::Buffer> arguments);
const char *checkAttention(const artifact::Attention &attention,
                           std::span<const artifact::Buffer> arguments);

} // namespace frit

#endif // FRIT_EXEC_PROBLEMCHECK_H
