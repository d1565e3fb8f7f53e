//===- ConvForms.h - Rewrites of convolutions -----------------------------===//

#ifndef FRIT_COMPILER_TRANSFORM_LAYOUT_CONVFORMS_H
#define FRIT_COMPILER_TRANSFORM_LAYOUT_CONVFORMS_H

#include "dialects/nn/NN.h"

namespace frit {

/// Replaces a 1-D convolution, or a 3-D one with one group, by a 2-D one. The
/// result for 3-D is channels-last.
void makeConv2D(nn::ConvOp conv);

/// Makes a convolution channels-last, between transposes.
void putChannelsLast(nn::ConvOp conv);

/// Returns whether a strided convolution can become one of stride 1 whose input
/// has the strides' pixels as channels (space to depth); applySpaceToDepth()
/// does it and makes it channels-last.
bool canApplySpaceToDepth(nn::ConvOp conv);
void applySpaceToDepth(nn::ConvOp conv);

/// Replaces a channels-last convolution with one filter per channel by
/// nn.depthwise_conv.
void makeDepthwise(nn::ConvOp conv);

} // namespace frit

#endif // FRIT_COMPILER_TRANSFORM_LAYOUT_CONVFORMS_H
