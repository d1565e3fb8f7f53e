//===- GroupNorm.cpp - Group norms with channels last ---------------------===//
//
//   %r = nn.reshape (first(%x)) : tensor<8x32x24576xbf16>
//   %n = nn.layer_norm %r, 1                   a row is a sample's group
//   %y = nn.reshape %n : tensor<8x192x64x64xbf16>
//   nn.add (nn.mul %y, %scale), %bias          both tensor<192x1x1xbf16>
// ==>
//   first(nn.group_norm %x, %scale, %bias {groups = 32})
//
// where first(x) transposes n×spatial×c to n×c×spatial. This is how exporters
// write group norms, and instance norms, whose groups are single channels.
// Those without an operator for it write an instance norm of the groups, whose
// scale and bias of each group, ones and zeros, become part of the channels'.
// The rows are contiguous only with channels first, which would cost a
// transpose before the norm and one after it, and two more for the gradient.
//
//===----------------------------------------------------------------------===//

#include "compiler/transform/Graph.h"
#include "compiler/transform/layout/LayoutPatterns.h"
#include "dialects/nn/operators/Statistics.h"

using namespace mlir;
using namespace frit;
using namespace frit::nn;

/// Returns the operand of a reshape or of a cast between floats; else null.
static Value movedBy(Operation *op) {
  if (auto reshape = dyn_cast_or_null<ReshapeOp>(op))
    return reshape.getX();
  auto cast = dyn_cast_or_null<CastOp>(op);
  return cast && isFloat(cast.getX()) && isFloat(cast.getY()) ? cast.getX()
                                                              : Value();
}

/// Returns the source of `value`, looking through reshapes and casts.
static Value sourceOf(Value value) {
  while (Value moved = movedBy(value.getDefiningOp()))
    value = moved;
  return value;
}

/// Returns the only reader of `value`, through reshapes and casts; null if it
/// has none or several.
static Operation *soleReader(Value value) {
  while (value.hasOneUse()) {
    Operation *reader = *value.user_begin();
    if (!movedBy(reader))
      return reader;
    value = reader->getResult(0);
  }
  return nullptr;
}

/// Returns the unrounded operand of `op` that has an element per channel, if
/// `op` is an Op of `value` (n×c×…); else null.
template <typename Op>
static Value takeChannels(Operation *op, Value value, int64_t samples,
                          int64_t channels) {
  if (!isa_and_nonnull<Op>(op))
    return {};
  ArrayRef<int64_t> shape = resultType(op).getShape();
  if (shape.size() < 2 || shape[0] != samples || shape[1] != channels)
    return {};
  for (Value operand : op->getOperands()) {
    ArrayRef<int64_t> own = shapeOf(operand);
    while (own.size() >= shape.size() && !own.empty() && own.front() == 1)
      own = own.drop_front();
    if (own.size() == shape.size() - 1 && own.front() == channels &&
        tensorType(operand).getNumElements() == channels &&
        sourceOf(operand) != value)
      return sourceOf(operand);
  }
  return {};
}

namespace {
struct FormGroupNorm : OpRewritePattern<LayerNormOp> {
  using Pays = std::function<bool(RankedTensorType, int64_t)>;
  FormGroupNorm(MLIRContext *context, Pays pays)
      : OpRewritePattern(context, /*benefit=*/2), pays(std::move(pays)) {}

  LogicalResult matchAndRewrite(LayerNormOp op,
                                PatternRewriter &rewriter) const override {
    ArrayRef<int64_t> rows = shapeOf(op.getX());
    Value first =
        channelsLast(op.getX()) ? op.getX() : throughReshapes(op.getX());
    Value x = channelsLast(first);
    if (!x || rows.size() != 3 || axisOf(op.getX(), op.getAxis()) != 2 ||
        !isSplat(op.getScale(), 1) ||
        (op.getBias() && !isSplat(op.getBias(), 0)))
      return failure();
    auto type = tensorType(x);
    int64_t channels = type.getShape().back();
    if (!type.hasStaticShape() || rows[0] != type.getDimSize(0) ||
        rows[1] == 0 || channels % rows[1] || !pays(type, rows[1]))
      return failure();
    // Of each group.
    Value inner = op.getY(), innerScale, innerBias;
    auto take = [&](auto like, Value &factor) {
      Operation *reader = soleReader(inner);
      if (rows[1] != channels)
        factor = takeChannels<decltype(like)>(reader, inner, rows[0], rows[1]);
      if (factor)
        inner = reader->getResult(0);
    };
    take(MulOp(), innerScale);
    take(AddOp(), innerBias);
    Operation *mul = soleReader(inner);
    Value scale = takeChannels<MulOp>(mul, inner, rows[0], channels);
    if (!scale)
      return failure();
    Operation *add = soleReader(mul->getResult(0));
    Value bias = takeChannels<AddOp>(add, mul->getResult(0), rows[0], channels);
    if (!bias)
      return failure();
    rewriter.setInsertionPoint(add);
    NNBuilder b(op.getLoc(), rewriter);
    // The numbers of each group, with a channel's.
    int64_t groups = rows[1];
    auto ofGroup = [&](Value value, Value like) {
      return b.cast(b.reshape(value, {groups, 1}),
                    tensorType(like).getElementType());
    };
    auto grouped = [&](Value value) {
      return b.reshape(value, {groups, channels / groups});
    };
    if (innerBias)
      bias = b.add(grouped(bias),
                   b.cast(b.mul(grouped(scale), ofGroup(innerBias, scale)),
                          tensorType(bias).getElementType()));
    if (innerScale)
      scale = b.mul(grouped(scale), ofGroup(innerScale, scale));
    Value y = GroupNormOp::create(b, x, b.reshape(scale, {channels}),
                                  b.reshape(bias, {channels}), rows[1],
                                  op.getEpsilon());
    y = b.reshape(transposeToFirst(b, y), resultType(add).getShape());
    rewriter.replaceOp(add, b.cast(y, resultType(add).getElementType()));
    return success();
  }

private:
  Pays pays;
};
} // namespace

void frit::populateGroupNorms(
    RewritePatternSet &patterns,
    std::function<bool(RankedTensorType, int64_t)> pays) {
  patterns.add<FormGroupNorm>(patterns.getContext(), std::move(pays));
}
