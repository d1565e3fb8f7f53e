//===- GradientInfo.cpp - Describe gradients for libraries ----------------===//

#include "dialects/nn/GradientInfo.h"

#include "dialects/nn/lowering/SlidingWindow.h"
#include "dialects/nn/operators/Statistics.h"

using namespace mlir;
using namespace frit::nn;

/// Fills in the fields common to both operators; `x`, `w` and `y` have the
/// shapes of the convolution's tensors.
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

/// Describes an operand with a number per query.
static FailureOr<AttentionOperand> describeNumbers(Value value) {
  auto view = describeRead(value);
  if (failed(view))
    return failure();
  AttentionOperand operand;
  operand.argument = view->argument;
  operand.offset = view->offset;
  llvm::copy(view->strides, operand.strides);
  operand.strides[3] = 1;
  return operand;
}

Match<AttentionGradientInfo>
frit::nn::describeAttentionGradient(FusionOp fusion) {
  AttentionGradientInfo info;
  Block &body = fusion.getBody().front();
  for (Operation &op : body.without_terminator())
    if (auto gradient = dyn_cast<AttentionGradOp>(op))
      info.op = gradient;
    else if (!isa<ReshapeOp, TransposeOp, SliceOp, ExpandOp, ColumnSumsOp>(op))
      return Mismatch(op.getName().getStringRef() +
                      " is neither the gradient nor a view");
  if (!info.op)
    return Mismatch("it has no gradient of attention");
  Operation *yield = body.getTerminator();
  if (yield->getNumOperands() > 2 || yield->getOperand(0) != info.op.getDqkv())
    return Mismatch("its result is not the gradient");
  if (yield->getNumOperands() == 2) {
    auto sums = yield->getOperand(1).getDefiningOp<ColumnSumsOp>();
    auto rows = sums ? sums.getX().getDefiningOp<ReshapeOp>() : ReshapeOp();
    ArrayRef<int64_t> shape = shapeOf(info.op.getDqkv());
    if (!rows || rows.getX() != info.op.getDqkv() || shape.size() != 4 ||
        shapeOf(rows.getY()).back() != shape[2] * shape[3])
      return Mismatch("the sums are not those of the gradient's columns");
    info.sumHeight = sums.getHeight();
  }
  AttentionGradOp op = info.op;
  std::pair<Value, AttentionOperand *> operands[] = {{op.getQ(), &info.q},
                                                     {op.getK(), &info.k},
                                                     {op.getV(), &info.v},
                                                     {op.getDy(), &info.dy}};
  for (auto [value, operand] : operands) {
    auto described = describeOperand(value);
    if (failed(described))
      return Mismatch("an operand is not a strided view of an input");
    *operand = *described;
  }
  if (Value mask = op.getMask()) {
    auto described = describeOperand(mask);
    if (failed(described))
      return Mismatch("the mask is not a strided view of an input");
    info.mask = *described;
  }
  auto stats = describeNumbers(op.getStats());
  if (failed(stats))
    return Mismatch("the statistics are not a strided view of an input");
  info.stats = *stats;
  auto y =
      hasDelta(op) ? describeNumbers(op.getY()) : describeOperand(op.getY());
  if (failed(y))
    return Mismatch("an operand is not a strided view of an input");
  (hasDelta(op) ? info.delta : info.y) = *y;
  ArrayRef<int64_t> q = shapeOf(op.getQ()), k = shapeOf(op.getK());
  info.batch = q[0];
  info.heads = q[1];
  info.groups = k[1];
  info.queries = q[2];
  info.keys = k[2];
  info.size = q[3];
  bool isPacked = shapeOf(op.getDqkv()).size() == 4;
  int64_t offset = 0;
  auto place = [&](AttentionOperand &operand, int64_t heads, int64_t rows) {
    int64_t width = isPacked ? info.heads + 2 * info.groups : heads;
    operand.offset = offset;
    llvm::copy(ArrayRef<int64_t>{rows * width * info.size, info.size,
                                 width * info.size, 1},
               operand.strides);
    offset += (isPacked ? heads : info.batch * rows * heads) * info.size;
  };
  place(info.dq, info.heads, info.queries);
  place(info.dk, info.groups, info.keys);
  place(info.dv, info.groups, info.keys);
  return info;
}
