//===- Gradient.h - Operators of the backward pass ------------------------===//
//
// Apart from NN.h, because few files need it.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_DIALECTS_NN_TRAINING_GRADIENT_H
#define FRIT_DIALECTS_NN_TRAINING_GRADIENT_H

#include "dialects/nn/NN.h"

#define GET_OP_CLASSES
#include "dialects/nn/Gradient.h.inc"

namespace frit::nn {

/// Returns whether a mask of an attention, or null, has ranges.
bool hasRanges(mlir::Value mask);

/// Returns whether these are statistics of the attention's scores.
bool isStatsOf(AttentionStatsOp stats, AttentionOp attention);

/// Returns whether the operand `y` is delta.
bool hasDelta(AttentionGradOp gradient);

} // namespace frit::nn

#endif // FRIT_DIALECTS_NN_TRAINING_GRADIENT_H
