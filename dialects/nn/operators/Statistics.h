//===- Statistics.h - Statistics of columns, rows and groups --------------===//
//
// Apart from NN.h, because few files need it.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_DIALECTS_NN_OPERATORS_STATISTICS_H
#define FRIT_DIALECTS_NN_OPERATORS_STATISTICS_H

#include "dialects/nn/NN.h"

#define GET_OP_CLASSES
#include "dialects/nn/Statistics.h.inc"

namespace frit::nn {

/// Repeats a number per group of channels of `x`, or takes one per channel
/// (n x groups x channels of a group), in a shape that broadcasts to `x`:
/// n x 1 ... 1 x channels.
mlir::Value channelsOfGroups(NNBuilder &b, mlir::Value statistic,
                             mlir::Value x);

/// Returns a pointwise convolution with channels last; `bias` may be null.
mlir::Value convolvePoints(NNBuilder &b, mlir::Value x, mlir::Value w,
                           mlir::Value bias);

} // namespace frit::nn

#endif // FRIT_DIALECTS_NN_OPERATORS_STATISTICS_H
