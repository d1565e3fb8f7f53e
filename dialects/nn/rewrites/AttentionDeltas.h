//===- AttentionDeltas.h - Sums that gradients of attention need ----------===//

#ifndef FRIT_DIALECTS_NN_REWRITES_ATTENTIONDELTAS_H
#define FRIT_DIALECTS_NN_REWRITES_ATTENTIONDELTAS_H

#include "dialects/nn/training/Gradient.h"

#include <functional>

namespace frit::nn {

/// A target's answer to the pass `attention-deltas` (a target rewrite).
struct AttentionDeltasRewrite {
  /// Returns whether the kernel of this gradient reads the sum of y · dy of
  /// each query instead of y.
  std::function<bool(AttentionGradOp)> takes;
};

} // namespace frit::nn

#endif // FRIT_DIALECTS_NN_REWRITES_ATTENTIONDELTAS_H
