//===- Layout.h - Forms in which a target computes convolutions -----------===//

#ifndef FRIT_DIALECTS_NN_REWRITES_LAYOUT_H
#define FRIT_DIALECTS_NN_REWRITES_LAYOUT_H

#include "dialects/nn/NN.h"

#include <functional>

namespace frit::nn {

/// A rewrite of the pass `layout` (a target rewrite). In each of its steps, the
/// first rewrite that is possible and pays is applied to a convolution.
/// Channels may be last already, which `channelsLast` and `spaceToDepth` leave
/// as it is.
struct ConvRewrite {
  /// What a convolution becomes.
  enum class Form {
    twoDimensional, ///< of one dimension, or of three and one group
    spaceToDepth,   ///< strides become channels; channels last
    channelsLast,
    depthwise ///< nn.depthwise_conv; it was channels-last
  };
  Form form;
  std::function<bool(ConvOp)> pays;
};

/// A rewrite of the pass `layout`: norms of channels-first rows become
/// nn.group_norm of `x`, where channels are last, if it pays whether or not a
/// model trains.
struct GroupNormRewrite {
  std::function<bool(mlir::RankedTensorType x, int64_t groups)> pays;
};

} // namespace frit::nn

#endif // FRIT_DIALECTS_NN_REWRITES_LAYOUT_H
