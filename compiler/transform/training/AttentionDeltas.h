//===- AttentionDeltas.h - Sums that gradients of attention need ----------===//

#ifndef FRIT_COMPILER_TRANSFORM_TRAINING_ATTENTIONDELTAS_H
#define FRIT_COMPILER_TRANSFORM_TRAINING_ATTENTIONDELTAS_H

#include "dialects/nn/operators/Gradient.h"

#include <functional>

namespace frit {

/// A target's answer to the pass `attention-deltas` (a target rewrite).
struct AttentionDeltasRewrite {
  /// Returns whether the kernel of this gradient reads the sum of y · dy of
  /// each query instead of y.
  std::function<bool(nn::AttentionGradOp)> takes;
};

} // namespace frit

#endif // FRIT_COMPILER_TRANSFORM_TRAINING_ATTENTIONDELTAS_H
