//===- KernelSize.h - What operators add to a kernel ----------------------===//

#ifndef FRIT_DIALECTS_NN_KERNELSIZE_H
#define FRIT_DIALECTS_NN_KERNELSIZE_H

#include "dialects/nn/NN.h"

namespace frit::nn {

/// The size of a kernel's code and of its parameter list.
struct KernelSize {
  int64_t instructions = 0; ///< for one element of the result, about
  int64_t tensors = 0;      ///< inputs and outputs
};

/// Instructions that one element of an operator's result takes in a kernel of
/// several operators, about: 1 for arithmetic, more for functions, for what
/// works out places, and for reductions.
int64_t countInstructions(mlir::Operation *op);

} // namespace frit::nn

#endif // FRIT_DIALECTS_NN_KERNELSIZE_H
