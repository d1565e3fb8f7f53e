//===- ConvRewrite.h - Convolutions as a target wants them ----------------===//

#ifndef FRIT_COMPILER_TRANSFORM_LAYOUT_CONVREWRITE_H
#define FRIT_COMPILER_TRANSFORM_LAYOUT_CONVREWRITE_H

#include "dialects/nn/NN.h"

#include <functional>

namespace frit {

/// A rewrite of the pass `layout` (a target rewrite). A convolution gets the
/// first of each step that pays.
struct ConvRewrite {
  /// When it runs: on what was imported; on what that became, to put channels
  /// last; and once transposes have moved.
  enum class Step { dimensions, channelsLast, kernel };
  Step step;
  std::function<bool(nn::ConvOp)> pays;
  /// Replaces the convolution.
  void (*apply)(nn::ConvOp);
};

/// Replaces a 1-D convolution, or a 3-D one with one group, by a 2-D one. One
/// from 3-D is channels-last.
void makePlanar(nn::ConvOp conv);

/// Makes a convolution channels-last, between transposes.
void putChannelsLast(nn::ConvOp conv);

/// Returns whether the strides of a convolution can be folded into channels;
/// foldStrideIntoChannels() does it and makes it channels-last.
bool canFoldStrideIntoChannels(nn::ConvOp conv);
void foldStrideIntoChannels(nn::ConvOp conv);

/// Replaces a channels-last convolution with one filter per channel by
/// nn.depthwise_conv.
void makeDepthwise(nn::ConvOp conv);

} // namespace frit

#endif // FRIT_COMPILER_TRANSFORM_LAYOUT_CONVREWRITE_H
