//===- AttentionParts.h - Operators that attention is made of -------------===//

#ifndef FRIT_DIALECTS_NN_OPERATORS_ATTENTIONPARTS_H
#define FRIT_DIALECTS_NN_OPERATORS_ATTENTIONPARTS_H

#include "dialects/nn/training/Gradient.h"

#include <array>
#include <limits>

namespace frit::nn {

/// Builds the parts of the operator, its statistics and its gradient. The heads
/// of a group become additional rows of queries.
template <typename Op> class AttentionParts {
public:
  AttentionParts(Op op, NNBuilder &b);

  /// Builds the masked scores, f32 (f64 for f64).
  mlir::Value buildScores();
  /// Builds the softmax of the scores.
  mlir::Value buildWeights();
  /// Builds the maxima of the scores along the keys.
  mlir::Value findMost(mlir::Value scores) {
    return b.reduce(scores, Combiner::max, 3);
  }
  mlir::Value never(mlir::Value like) {
    return b.scalarLike(like, -std::numeric_limits<double>::infinity());
  }

  /// Reshape a tensor to a row per query: heads apart, and in groups.
  mlir::Value inHeads(mlir::Value x) { return reshape(x, {heads, queries}); }
  mlir::Value inGroups(mlir::Value x) {
    return reshape(x, {groups, sharing * queries});
  }

  mlir::Value multiply(mlir::Value x, mlir::Value y, bool swapX, bool swapY) {
    return MatmulOp::create(b, x, y, swapX, swapY, op.getTf32());
  }

  /// Returns whether to scale q before the product. With 16 bits the scores are
  /// stored in 16 bits and would overflow otherwise. In other cases the scale
  /// is fused into the softmax.
  bool scalesEarly() const { return element != work && scale != 1; }
  /// Multiplies `x` by the scale if `applies`.
  mlir::Value scaled(mlir::Value x, bool applies) {
    return applies && scale != 1 ? b.mul(x, b.scalarLike(x, scale)) : x;
  }

  mlir::Type element, work;

private:
  /// Builds the causal mask: true where query i sees key j, j <= i.
  mlir::Value isPast() {
    mlir::Value query = b.iota({queries, 1}, 0), key = b.iota({1, keys}, 1);
    return LessEqualOp::create(b, key, query);
  }
  mlir::Value widenMask(mlir::Value mask);
  mlir::Value reshape(mlir::Value x, std::array<int64_t, 2> rows) {
    return b.reshape(x, {batch, rows[0], rows[1], shapeOf(x).back()});
  }

  Op op;
  NNBuilder &b;
  int64_t batch, heads, queries, groups, keys, sharing;
  double scale;
};

template <typename Op>
AttentionParts<Op>::AttentionParts(Op op, NNBuilder &b)
    : element(tensorType(op.getQ()).getElementType()), work(workType(element)),
      op(op), b(b), scale(op.getScale().convertToDouble()) {
  llvm::ArrayRef<int64_t> q = shapeOf(op.getQ()), k = shapeOf(op.getK());
  batch = q[0];
  heads = q[1];
  queries = q[2];
  groups = k[1];
  keys = k[2];
  sharing = groups ? heads / groups : 1;
}

template <typename Op> mlir::Value AttentionParts<Op>::buildScores() {
  mlir::Value q = inGroups(scaled(op.getQ(), scalesEarly()));
  mlir::Value scores = multiply(q, op.getK(), false, true);
  scores = scaled(b.cast(inHeads(scores), work), !scalesEarly());

  mlir::Value mask = op.getMask();
  if (hasRanges(mask))
    mask = RangeMaskOp::create(b, mask, keys);
  if (mask && tensorType(mask).getElementType().isInteger(1))
    scores = WhereOp::create(b, mask, scores, never(scores));
  else if (mask)
    scores = b.add(scores, widenMask(mask));
  if (op.getCausal())
    scores = WhereOp::create(b, isPast(), scores, never(scores));
  return scores;
}

/// Converts a mask to the type of the scores, and the lowest f16 to the lowest
/// f32, beside which scores vanish.
template <typename Op>
mlir::Value AttentionParts<Op>::widenMask(mlir::Value mask) {
  mlir::Value wide = b.cast(mask, work);
  if (!tensorType(mask).getElementType().isF16())
    return wide;
  auto lowestOf = [&](mlir::Value like) {
    auto type = llvm::cast<mlir::FloatType>(tensorType(like).getElementType());
    return b.scalarLike(like, llvm::APFloat::getLargest(
                                  type.getFloatSemantics(), /*Negative=*/true)
                                  .convertToDouble());
  };
  mlir::Value isLowest = EqualOp::create(b, mask, lowestOf(mask));
  return WhereOp::create(b, isLowest, lowestOf(wide), wide);
}

template <typename Op> mlir::Value AttentionParts<Op>::buildWeights() {
  mlir::Value scores = buildScores();
  mlir::Value weights = SoftmaxOp::create(b, scores, -1);
  if (op.getMask() && !op.getUnguarded()) {
    mlir::Value most = findMost(scores);
    weights = WhereOp::create(b, EqualOp::create(b, most, never(most)),
                              b.scalarLike(weights, 0), weights);
  }
  return weights;
}

} // namespace frit::nn

#endif // FRIT_DIALECTS_NN_OPERATORS_ATTENTIONPARTS_H
