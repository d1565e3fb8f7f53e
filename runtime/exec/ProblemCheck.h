//===- ProblemCheck.h - Check what a library would be asked to do ---------===//
//
// A gemm, convolution or attention describes memory through sizes and strides.
// These check that every element it would touch lies inside the step's
// arguments, so that neither a library nor our own kernels can be made to leave
// them.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_EXEC_PROBLEMCHECK_H
#define FRIT_EXEC_PROBLEMCHECK_H

#include "frit/artifact.h"

#include <span>

namespace frit {

/// What is wrong, or null.
const char *checkGemm(const artifact::Gemm &gemm,
                      std::span<const artifact::Buffer> arguments);
const char *checkConv(const artifact::Conv &conv,
                      std::span<const artifact::Buffer> arguments);
const char *checkAttention(const artifact::Attention &attention,
                           std::span<const artifact::Buffer> arguments);

} // namespace frit

#endif // FRIT_EXEC_PROBLEMCHECK_H
