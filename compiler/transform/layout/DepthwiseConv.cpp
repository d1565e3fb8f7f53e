//===- DepthwiseConv.cpp - Depthwise convolutions -------------------------===//
//
//   %y = nn.conv %x, %w, %bias {channels_last, group = c}       %w: c×r×s×1
// ==>
//   %f = nn.transpose %w                                        r×s×c
//   %d = nn.depthwise_conv %x, %f
//   %y = nn.add %d, %bias
//
// Filters of neighbouring channels are then contiguous, and the bias becomes an
// elementwise operator.
//
//===----------------------------------------------------------------------===//

#include "compiler/transform/layout/ConvForms.h"

using namespace mlir;
using namespace frit;
using namespace frit::nn;

void frit::makeDepthwise(ConvOp conv) {
  NNBuilder b(conv.getLoc(), conv.getOperation());
  ArrayRef<int64_t> w = shapeOf(conv.getW());
  Value beside = TransposeOp::create(b, conv.getW(), {3, 1, 2, 0});
  Value y = DepthwiseConvOp::create(
      b, conv.getX(), b.reshape(beside, {w[1], w[2], w[0]}), conv.getStrides(),
      conv.getPads(), conv.getDilations());
  if (conv.getBias())
    y = b.add(y, conv.getBias());
  conv->replaceAllUsesWith(ValueRange{y});
  conv->erase();
}
