//===- ConstantFunctions.h - Elementwise operators on floats --------------===//

#ifndef FRIT_DIALECTS_NN_CONSTANTS_CONSTANTFUNCTIONS_H
#define FRIT_DIALECTS_NN_CONSTANTS_CONSTANTFUNCTIONS_H

#include "dialects/nn/NN.h"

namespace frit::nn {

/// Computes an element of a result from those of up to three operands.
using ConstantFunction = float (*)(const float *);

/// Returns the function of an elementwise operator from which masks are built,
/// else null. Integers and bools are given as floats.
ConstantFunction constantFunctionOf(mlir::Operation *op);

} // namespace frit::nn

#endif // FRIT_DIALECTS_NN_CONSTANTS_CONSTANTFUNCTIONS_H
