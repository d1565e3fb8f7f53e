//===- ConvBatchNorms.h - Batch norms of pointwise convolutions -----------===//

#ifndef FRIT_DIALECTS_NN_REWRITES_CONVBATCHNORMS_H
#define FRIT_DIALECTS_NN_REWRITES_CONVBATCHNORMS_H

#include "dialects/nn/NN.h"

#include <functional>

namespace frit::nn {

/// A target's answer to the pass `conv-batch-norms` (a target rewrite).
struct ConvBatchNormsRewrite {
  /// Returns in how many equal parts of all positions the gradient of the batch
  /// norm of this pointwise convolution should sum products, if it should be
  /// computed from the convolution's operand (nn.conv_batch_norm); else 0.
  std::function<int64_t(ConvOp)> parts;
};

} // namespace frit::nn

#endif // FRIT_DIALECTS_NN_REWRITES_CONVBATCHNORMS_H
