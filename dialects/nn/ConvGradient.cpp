//===- ConvGradient.cpp - Gradients of convolutions as libraries see them -===//

#include "dialects/nn/ConvGradient.h"
#include "dialects/nn/SlidingWindow.h"

using namespace mlir;
using namespace frit::nn;

/// Fills in what both operators have; `x`, `w` and `y` are shaped like the
/// convolution's tensors.
template <typename Op>
static Match<ConvGradientInfo> describe(Op op, Value x, Value w, Value y) {
  ConvGradientInfo info;
  for (Value v : {x, w, y}) {
    if (!tensorType(v).hasStaticShape())
      return Mismatch("its shape is dynamic");
    if (tensorType(v).getNumElements() == 0)
      return Mismatch("it is empty");
  }
  bool last = op.getChannelsLast();
  ArrayRef<int64_t> input = spatialShape(x, last),
                    window = spatialShape(w, last);
  ArrayRef<int64_t> output = spatialShape(y, last);
  size_t rank = input.size();
  if (rank != 1 && rank != 2)
    return Mismatch("it has " + Twine(rank) + " spatial dimensions");
  info.hasEqualPads = true;
  for (size_t dim = 0; dim < rank; ++dim) {
    size_t to = 2 - rank + dim;
    int64_t stride = op.getStrides()[dim], dilation = op.getDilations()[dim];
    int64_t before = op.getPads()[dim];
    info.strides[to] = stride;
    info.dilations[to] = dilation;
    info.pads[to] = before;
    info.pads[2 + to] = op.getPads()[rank + dim];
    int64_t span = input[dim] + 2 * before - (window[dim] - 1) * dilation - 1;
    info.hasEqualPads &= span >= 0 && span / stride + 1 == output[dim];
  }
  info.groups = op.getGroup();
  info.channelsLast = last;
  info.tf32 = op.getTf32();
  return info;
}

Match<ConvGradientInfo> frit::nn::describeConvGradient(Operation *op) {
  if (auto input = dyn_cast<ConvGradInputOp>(op)) {
    auto info = describe(input, input.getY(), input.getW(), input.getDy());
    if (info) {
      info->a = input.getDy();
      info->b = input.getW();
    }
    return info;
  }
  auto weight = dyn_cast<ConvGradWeightOp>(op);
  if (!weight)
    return Mismatch("it is no gradient of a convolution");
  auto info = describe(weight, weight.getX(), weight.getY(), weight.getDy());
  if (info) {
    info->ofWeight = true;
    info->a = weight.getX();
    info->b = weight.getDy();
  }
  return info;
}

Match<ConvGradientInfo> frit::nn::describeConvGradient(FusionOp fusion) {
  Block &body = fusion.getBody().front();
  auto info = describeConvGradient(&body.front());
  if (!info)
    return info;
  if (!llvm::hasNItems(body.without_terminator(), 1) ||
      !isa<BlockArgument>(info->a) || !isa<BlockArgument>(info->b))
    return Mismatch("another operator shares its kernel");
  return info;
}
