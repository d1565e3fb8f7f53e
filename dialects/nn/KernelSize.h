//===- KernelSize.h - Estimate the size of kernels ------------------------===//

#ifndef FRIT_DIALECTS_NN_KERNELSIZE_H
#define FRIT_DIALECTS_NN_KERNELSIZE_H

#include "dialects/nn/NN.h"

namespace frit::nn {

/// The size of a kernel's code and of its parameter list.
struct KernelSize {
  int64_t instructions = 0; ///< approximately, per element of the result
  int64_t tensors = 0;      ///< inputs and outputs
};

/// Estimates the instructions per element of an operator's result inside a
/// fused kernel: 1 for arithmetic, more for functions, index computations and
/// reductions.
int64_t countInstructions(mlir::Operation *op);

} // namespace frit::nn

#endif // FRIT_DIALECTS_NN_KERNELSIZE_H
