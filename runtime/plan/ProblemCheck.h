//===- ProblemCheck.h - Check gemm, conv and attention problems -----------===//
//
// A gemm, convolution or attention describes memory by sizes and strides. These
// functions check that every element it accesses is in the step's arguments, so
// that neither a library nor frit's kernels access memory outside of them.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_RUNTIME_PLAN_PROBLEMCHECK_H
#define FRIT_RUNTIME_PLAN_PROBLEMCHECK_H

#include "frit/artifact.h"

#include <span>

namespace frit {

/// Return an error message, or null.
const char *checkGemm(const artifact::Gemm &gemm,
                      std::span<const artifact::Buffer> arguments);
const char *checkConv(const artifact::Conv &conv,
                      std::span<const artifact::Buffer> arguments);
const char *checkAttention(const artifact::Attention &attention,
                           std::span<const artifact::Buffer> arguments);

} // namespace frit

#endif // FRIT_RUNTIME_PLAN_PROBLEMCHECK_H
