//===- Attention.cpp - Scaled dot-product attention -----------------------===//

#include "dialects/nn/operators/AttentionParts.h"

#include <limits>

using namespace mlir;
using namespace frit::nn;

#define GET_OP_CLASSES
#include "dialects/nn/Attention.cpp.inc"

bool frit::nn::hasRanges(Value mask) {
  return mask && tensorType(mask).getElementType().isSignlessInteger(32);
}

/// Checks ranges for `rows` queries, or queries and keys.
template <typename Adaptor>
static LogicalResult checkRanges(Adaptor op, ArrayRef<int64_t> shape,
                                 int64_t rows, std::optional<Location> loc) {
  if (op.getCausal())
    return emitOptionalError(loc, "ranges of keys exclude `causal`");
  if (shape.size() != 4 ||
      (shape[0] != 1 && !mayEqual(shape[0], shapeOf(op.getQ())[0])) ||
      shape[1] != 1 || !mayEqual(shape[2], rows) || shape[3] != 2)
    return emitOptionalError(
        loc, "ranges of shape ", shapeText(shape), " do not fit ", rows,
        " rows: ", shapeText({shapeOf(op.getQ())[0], 1, rows, 2}),
        " is needed");
  return success();
}

/// Checks that heads of queries can share those of keys, and that the mask
/// broadcasts or has ranges for the queries.
template <typename Adaptor>
static LogicalResult checkScores(Adaptor op, std::optional<Location> loc) {
  ArrayRef<int64_t> q = shapeOf(op.getQ()), k = shapeOf(op.getK());
  auto differ = [&](StringRef what) {
    return emitOptionalError(loc, what, " differ: ", shapeText(q), " and ",
                             shapeText(k));
  };
  if (!mayEqual(q[0], k[0]))
    return differ("the batches of q and k");
  if (!mayEqual(q[3], k[3]))
    return differ("the sizes of q and k");
  if (!ShapedType::isDynamic(q[1]) && !ShapedType::isDynamic(k[1]) &&
      q[1] != k[1] && (k[1] == 0 || q[1] % k[1]))
    return emitOptionalError(loc, q[1], " heads of queries cannot share ", k[1],
                             " of keys");
  if (Value mask = op.getMask()) {
    ArrayRef<int64_t> shape = shapeOf(mask);
    if (hasRanges(mask))
      return checkRanges(op, shape, q[2], loc);
    int64_t scores[] = {q[0], q[1], q[2], k[2]};
    bool fits = shape.size() <= 4;
    for (size_t i = 0; fits && i < shape.size(); ++i)
      fits = shape[i] == 1 || mayEqual(shape[i], scores[4 - shape.size() + i]);
    if (!fits)
      return emitOptionalError(loc, "a mask of shape ", shapeText(shape),
                               " does not broadcast to scores of shape ",
                               shapeText(scores));
  }
  return success();
}

FailureOr<RankedTensorType> AttentionOp::infer(Adaptor op,
                                               std::optional<Location> loc) {
  ArrayRef<int64_t> q = shapeOf(op.getQ()), k = shapeOf(op.getK());
  ArrayRef<int64_t> v = shapeOf(op.getV());
  if (q.size() != 4 || k.size() != 4 || v.size() != 4)
    return emitOptionalError(loc, "needs tensors of 4 dimensions, not ",
                             shapeText(q), ", ", shapeText(k), " and ",
                             shapeText(v));
  if (failed(checkElementTypes(loc, {op.getQ(), op.getK(), op.getV()})))
    return failure();
  for (int dim = 0; dim < 3; ++dim)
    if (!mayEqual(k[dim], v[dim]))
      return emitOptionalError(loc, "k and v differ: ", shapeText(k), " and ",
                               shapeText(v));
  if (failed(checkScores(op, loc)))
    return failure();
  return makeType(loc, {q[0], q[1], q[2], v[3]},
                  tensorType(op.getQ()).getElementType());
}

FailureOr<RankedTensorType> RangeMaskOp::infer(Adaptor op,
                                               std::optional<Location> loc) {
  ArrayRef<int64_t> ranges = shapeOf(op.getRanges());
  if (ranges.size() != 4 || ranges[1] != 1 || ranges[3] != 2)
    return emitOptionalError(loc,
                             "needs ranges of shape batch×1×queries×2, "
                             "not ",
                             shapeText(ranges));
  return makeType(loc, {ranges[0], 1, ranges[2], int64_t(op.getKeys())},
                  IntegerType::get(op.getRanges().getContext(), 1));
}

SmallVector<Value> RangeMaskOp::decompose(NNBuilder &b) {
  ArrayRef<int64_t> ranges = shapeOf(getRanges());
  Value key = b.cast(b.iota({1, 1, 1, int64_t(getKeys())}, 3),
                     tensorType(getRanges()).getElementType());
  auto end = [&](int64_t column) {
    return SliceOp::create(b, getRanges(), ArrayRef<int64_t>{0, 0, 0, column},
                           ArrayRef<int64_t>{ranges[0], 1, ranges[2], 1},
                           ArrayRef<int64_t>{1, 1, 1, 1});
  };
  Value isBefore = LessOp::create(b, key, end(1));
  return {AndOp::create(b, GreaterEqualOp::create(b, key, end(0)), isBefore)};
}

SmallVector<Value> AttentionOp::decompose(NNBuilder &b) {
  AttentionParts<AttentionOp> parts(*this, b);
  Value weights = b.cast(parts.buildWeights(), parts.element);
  Value y = parts.multiply(parts.inGroups(weights), getV(), false, false);
  return {parts.inHeads(y)};
}

//===----------------------------------------------------------------------===//
// attention_stats, attention_grad
//===----------------------------------------------------------------------===//

/// The least finite score in statistics if there is a mask, as kFloor in
/// attention_rows.cuh.
static constexpr double kLeastMaskedScore = -32768 * 0.6931471805599453;

bool frit::nn::isStatsOf(AttentionStatsOp stats, AttentionOp attention) {
  return stats.getQ() == attention.getQ() && stats.getK() == attention.getK() &&
         stats.getMask() == attention.getMask() &&
         stats.getScale() == attention.getScale() &&
         stats.getCausal() == attention.getCausal() &&
         stats.getTf32() == attention.getTf32() &&
         stats.getUnguarded() == attention.getUnguarded();
}

bool frit::nn::hasDelta(AttentionGradOp gradient) {
  return shapeOf(gradient.getY()) == shapeOf(gradient.getStats());
}

FailureOr<RankedTensorType>
AttentionStatsOp::infer(Adaptor op, std::optional<Location> loc) {
  ArrayRef<int64_t> q = shapeOf(op.getQ()), k = shapeOf(op.getK());
  if (q.size() != 4 || k.size() != 4)
    return emitOptionalError(loc, "needs tensors of 4 dimensions, not ",
                             shapeText(q), " and ", shapeText(k));
  if (failed(checkElementTypes(loc, {op.getQ(), op.getK()})) ||
      failed(checkScores(op, loc)))
    return failure();
  return makeType(loc, q.take_front(3),
                  workType(tensorType(op.getQ()).getElementType()));
}

SmallVector<Value> AttentionStatsOp::decompose(NNBuilder &b) {
  AttentionParts<AttentionStatsOp> parts(*this, b);
  Value scores = parts.buildScores(), most = parts.findMost(scores);
  Value isHidden = EqualOp::create(b, most, parts.never(most));
  TensorExpr base(b, WhereOp::create(b, isHidden, b.scalarLike(most, 0), most));
  TensorExpr powers(b, ExpOp::create(b, TensorExpr(b, scores) - base));
  Value sums = b.reduce(powers, Combiner::sum, 3);
  // A sum of lower scores could not be told from one of its terms.
  if (getMask() && !hasRanges(getMask()))
    base = TensorExpr(
        b, MaxOp::create(b, base, b.scalarLike(base, kLeastMaskedScore)));
  Value stats = base + TensorExpr(b, LogOp::create(b, sums));
  double hidden = getUnguarded() ? std::numeric_limits<double>::quiet_NaN()
                                 : std::numeric_limits<double>::infinity();
  stats = WhereOp::create(b, isHidden, b.scalarLike(stats, hidden), stats);
  return {b.reshape(stats, shapeOf(getStats()))};
}

FailureOr<RankedTensorType>
AttentionGradOp::infer(Adaptor op, std::optional<Location> loc) {
  ArrayRef<int64_t> q = shapeOf(op.getQ()), k = shapeOf(op.getK());
  const bool hasDelta = shapeOf(op.getY()) == shapeOf(op.getStats());
  if (failed(checkElementTypes(
          loc, {op.getQ(), op.getK(), op.getV(), op.getDy()})) ||
      failed(checkElementTypes(
          loc, {op.getY(), hasDelta ? op.getStats() : op.getQ()})))
    return failure();
  if (q.size() == 4 && k.size() == 4 && hasRanges(op.getMask()) &&
      failed(checkRanges(op, shapeOf(op.getMask()), q[2] + k[2], loc)))
    return failure();
  bool fits = q.size() == 4 && k.size() == 4 && shapeOf(op.getV()) == k &&
              (hasDelta || shapeOf(op.getY()) == q) &&
              shapeOf(op.getDy()) == q &&
              shapeOf(op.getStats()) == q.take_front(3) &&
              tensorType(op.getQ()).hasStaticShape() &&
              tensorType(op.getK()).hasStaticShape() && q[0] == k[0] &&
              q[3] == k[3] && k[1] > 0 && q[1] % k[1] == 0;
  if (!fits)
    return emitOptionalError(
        loc, "q, k, v, y, dy and stats have shapes ", shapeText(q), ", ",
        shapeText(k), ", ", shapeText(shapeOf(op.getV())), ", ",
        shapeText(shapeOf(op.getY())), ", ", shapeText(shapeOf(op.getDy())),
        " and ", shapeText(shapeOf(op.getStats())),
        ", not those of one attention");
  Type element = tensorType(op.getQ()).getElementType();
  if (q[2] == k[2])
    return makeType(loc, {q[0], q[2], q[1] + 2 * k[1], q[3]}, element);
  return makeType(loc, {q[0] * (q[1] * q[2] + 2 * k[1] * k[2]), q[3]}, element);
}
