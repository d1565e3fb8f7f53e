//===- Attention.cpp - Scaled dot-product attention -----------------------===//

#include "dialects/nn/operators/Gradient.h"

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
  return makeType(loc, {ranges[0], 1, ranges[2], op.getKeys()},
                  IntegerType::get(op.getRanges().getContext(), 1));
}

SmallVector<Value> RangeMaskOp::decompose(NNBuilder &b) {
  ArrayRef<int64_t> ranges = shapeOf(getRanges());
  Value key = b.cast(b.iota({1, 1, 1, getKeys()}, 3),
                     tensorType(getRanges()).getElementType());
  auto end = [&](int64_t column) {
    return SliceOp::create(b, getRanges(), ArrayRef<int64_t>{0, 0, 0, column},
                           ArrayRef<int64_t>{ranges[0], 1, ranges[2], 1},
                           ArrayRef<int64_t>{1, 1, 1, 1});
  };
  return {AndOp::create(b, GreaterEqualOp::create(b, key, end(0)),
                        LessOp::create(b, key, end(1)))};
}

/// Builds the causal mask: true where query i sees key j, j <= i.
static Value isPast(NNBuilder &b, int64_t queries, int64_t keys) {
  Value query = b.iota({queries, 1}, 0), key = b.iota({1, keys}, 1);
  return LessEqualOp::create(b, key, query);
}

namespace {
/// Builds the parts of the operator, its statistics and its gradient. The heads
/// of a group become additional rows of queries.
template <typename Op> class AttentionParts {
public:
  AttentionParts(Op op, NNBuilder &b);

  /// Builds the masked scores, f32 (f64 for f64).
  Value buildScores();
  /// Builds the softmax of the scores.
  Value buildWeights();
  /// Builds the maxima of the scores along the keys.
  Value findMost(Value scores) { return b.reduce(scores, Combiner::max, 3); }
  Value never(Value like) {
    return b.scalarLike(like, -std::numeric_limits<double>::infinity());
  }

  /// Reshape a tensor to a row per query: heads apart, and in groups.
  Value inHeads(Value x) { return reshape(x, {heads, queries}); }
  Value inGroups(Value x) { return reshape(x, {groups, sharing * queries}); }

  Value multiply(Value x, Value y, bool swapX, bool swapY) {
    return MatmulOp::create(b, x, y, swapX, swapY, op.getTf32());
  }

  /// Returns whether to scale q before the product. With 16 bits the scores are
  /// stored in 16 bits and would overflow otherwise. In other cases the scale
  /// is fused into the softmax.
  bool scalesEarly() const { return element != work && scale != 1; }
  /// Multiplies `x` by the scale if `applies`.
  Value scaled(Value x, bool applies) {
    return applies && scale != 1 ? b.mul(x, b.scalarLike(x, scale)) : x;
  }

  Type element, work;

private:
  Value widenMask(Value mask);
  Value reshape(Value x, std::array<int64_t, 2> rows) {
    return b.reshape(x, {batch, rows[0], rows[1], shapeOf(x).back()});
  }

  Op op;
  NNBuilder &b;
  int64_t batch, heads, queries, groups, keys, sharing;
  double scale;
};
} // namespace

template <typename Op>
AttentionParts<Op>::AttentionParts(Op op, NNBuilder &b)
    : element(tensorType(op.getQ()).getElementType()), work(workType(element)),
      op(op), b(b), scale(op.getScale().convertToDouble()) {
  ArrayRef<int64_t> q = shapeOf(op.getQ()), k = shapeOf(op.getK());
  batch = q[0];
  heads = q[1];
  queries = q[2];
  groups = k[1];
  keys = k[2];
  sharing = groups ? heads / groups : 1;
}

template <typename Op> Value AttentionParts<Op>::buildScores() {
  Value q = inGroups(scaled(op.getQ(), scalesEarly()));
  Value scores = multiply(q, op.getK(), false, true);
  scores = scaled(b.cast(inHeads(scores), work), !scalesEarly());

  Value mask = op.getMask();
  if (hasRanges(mask))
    mask = RangeMaskOp::create(b, mask, keys);
  if (mask && tensorType(mask).getElementType().isInteger(1))
    scores = WhereOp::create(b, mask, scores, never(scores));
  else if (mask)
    scores = b.add(scores, widenMask(mask));
  if (op.getCausal())
    scores =
        WhereOp::create(b, isPast(b, queries, keys), scores, never(scores));
  return scores;
}

/// Converts a mask to the type of the scores, and the lowest f16 to the lowest
/// f32, beside which scores vanish.
template <typename Op> Value AttentionParts<Op>::widenMask(Value mask) {
  Value wide = b.cast(mask, work);
  if (!tensorType(mask).getElementType().isF16())
    return wide;
  auto lowestOf = [&](Value like) {
    auto type = cast<FloatType>(tensorType(like).getElementType());
    return b.scalarLike(
        like, APFloat::getLargest(type.getFloatSemantics(), /*Negative=*/true)
                  .convertToDouble());
  };
  Value isLowest = EqualOp::create(b, mask, lowestOf(mask));
  return WhereOp::create(b, isLowest, lowestOf(wide), wide);
}

template <typename Op> Value AttentionParts<Op>::buildWeights() {
  Value scores = buildScores();
  Value weights = SoftmaxOp::create(b, scores, -1);
  if (op.getMask() && !op.getUnguarded()) {
    Value most = findMost(scores);
    weights = WhereOp::create(b, EqualOp::create(b, most, never(most)),
                              b.scalarLike(weights, 0), weights);
  }
  return weights;
}

SmallVector<Value> AttentionOp::decompose(NNBuilder &b) {
  AttentionParts<AttentionOp> parts(*this, b);
  Value weights = b.cast(parts.buildWeights(), parts.element);
  Value y = parts.multiply(parts.inGroups(weights), getV(), false, false);
  return {parts.inHeads(y)};
}

/// With P the weights, which are computed again from q, k and mask:
/// dV = Pᵀ · dy, dP = dy · Vᵀ, dS = P ∘ (dP - Σ dP ∘ P) is the gradient of the
/// scores and the mask, dQ = scale · dS · K and dK = scale · dSᵀ · Q. See Dao
/// et al., "FlashAttention", arXiv:2205.14135, appendix B.2.
static SmallVector<Value> buildGradients(AttentionOp op, NNBuilder &b,
                                         Value gradient) {
  AttentionParts<AttentionOp> parts(op, b);
  Value weights = parts.buildWeights(), dy = parts.inGroups(gradient);
  Value rows = parts.inGroups(b.cast(weights, parts.element));
  Value dv = parts.multiply(rows, dy, true, false);
  TensorExpr p(b, weights);
  TensorExpr dp =
      widened(b, parts.inHeads(parts.multiply(dy, op.getV(), false, true)));
  TensorExpr ds = p * (dp - TensorExpr(b, b.reduce(dp * p, Combiner::sum, 3)));
  // Scale at the same place as the operator.
  bool early = parts.scalesEarly();
  Value dScores =
      parts.inGroups(b.cast(parts.scaled(ds, !early), parts.element));
  Value dq =
      parts.multiply(dScores, parts.scaled(op.getK(), early), false, false);
  Value q = parts.inGroups(parts.scaled(op.getQ(), early));
  Value dk = parts.multiply(dScores, q, true, false);
  SmallVector<Value> gradients = {parts.inHeads(dq), dk, dv};
  if (Value mask = op.getMask())
    gradients.push_back(isa<FloatType>(tensorType(mask).getElementType())
                            ? ds.value()
                            : Value());
  return gradients;
}

/// Returns whether a value is computed from weights that train.
static bool dependsOnParameters(Value value) {
  SmallVector<Value> work = {value};
  llvm::DenseSet<Value> seen;
  while (!work.empty()) {
    Value next = work.pop_back_val();
    if (!seen.insert(next).second)
      continue;
    if (Operation *def = next.getDefiningOp()) {
      llvm::append_range(work, def->getOperands());
      continue;
    }
    auto argument = cast<BlockArgument>(next);
    auto function =
        dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp());
    if (function &&
        function.getArgAttr(argument.getArgNumber(), "nn.parameter"))
      return true;
  }
  return false;
}

/// Returns the ranges of a mask, if they are constant.
static DenseElementsAttr constantRanges(Value mask) {
  auto constant = hasRanges(mask) ? mask.getDefiningOp<ConstantOp>() : nullptr;
  return constant ? dyn_cast<DenseElementsAttr>(constant.getValue())
                  : DenseElementsAttr();
}

/// Returns whether kernels of the gradient take the mask: it has constant
/// ranges, or a number for each key that does not train.
static bool isMaskOfGradient(AttentionOp op) {
  if (hasRanges(op.getMask()))
    return bool(constantRanges(op.getMask()));
  ArrayRef<int64_t> shape = shapeOf(op.getMask());
  return !shape.empty() && shape.back() == shapeOf(op.getK())[2] &&
         !dependsOnParameters(op.getMask());
}

/// Returns a bool mask as addends: 0 where a key counts, else -inf.
static Value addedMask(NNBuilder &b, Value mask, Value like) {
  return WhereOp::create(
      b, mask, b.scalarLike(like, 0),
      b.scalarLike(like, -std::numeric_limits<double>::infinity()));
}

/// Returns the ranges of keys for each query, followed by the ranges of queries
/// for each key. As neither end of the ranges decreases, the queries before a
/// key's range are those whose range ends before the key, and the last of them
/// is the last query whose range begins before it or at it.
static DenseElementsAttr withQueryRanges(DenseElementsAttr ranges,
                                         int64_t keys) {
  ArrayRef<int64_t> shape = ranges.getType().getShape();
  const int64_t batches = shape[0], queries = shape[2];
  auto given = llvm::to_vector(ranges.getValues<int32_t>());
  SmallVector<int32_t> all;
  for (int64_t batch = 0; batch < batches; ++batch) {
    ArrayRef<int32_t> own =
        ArrayRef(given).slice(batch * queries * 2, queries * 2);
    llvm::append_range(all, own);
    int64_t first = 0, last = 0;
    for (int64_t key = 0; key < keys; ++key) {
      while (first < queries && own[2 * first + 1] <= key)
        ++first;
      while (last < queries && own[2 * last] <= key)
        ++last;
      all.push_back(first);
      all.push_back(last);
    }
  }
  auto type = RankedTensorType::get({batches, 1, queries + keys, 2},
                                    ranges.getElementType());
  return DenseElementsAttr::get(type, ArrayRef(all));
}

/// Returns the mask as kernels of the gradient take it.
static Value maskOfGradient(NNBuilder &b, AttentionOp op) {
  Value mask = op.getMask();
  if (DenseElementsAttr ranges = constantRanges(mask))
    return ConstantOp::create(
        b, cast<ElementsAttr>(withQueryRanges(ranges, shapeOf(op.getK())[2])),
        StringAttr());
  return mask && tensorType(mask).getElementType().isInteger(1)
             ? addedMask(b, mask, op.getQ())
             : mask;
}

/// Keeps the gradient of 16-bit attentions whole if values are as long as keys,
/// because libraries compute it in one call. Decomposes any other, including
/// that of a mask, which is erased if nothing reads it.
SmallVector<Value> AttentionOp::buildVjp(NNBuilder &b, Value dy) {
  ArrayRef<int64_t> q = shapeOf(getQ()), k = shapeOf(getK()),
                    v = shapeOf(getV());
  Type element = tensorType(getQ()).getElementType();
  bool isEmpty = llvm::any_of(getOperands(), [](Value x) {
    return tensorType(x).getNumElements() == 0;
  });
  if (isEmpty || element.getIntOrFloatBitWidth() != 16 || k[3] != v[3] ||
      (getMask() && !isMaskOfGradient(*this)))
    return buildGradients(*this, b, dy);
  Value stats;
  {
    // Insert after the operator: its kernel computes both.
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointAfter(*this);
    stats = AttentionStatsOp::create(b, getQ(), getK(), getMask(), getScale(),
                                     getCausal(), getTf32(), getUnguarded());
  }
  Value all = AttentionGradOp::create(b, getQ(), getK(), getV(), getY(),
                                      b.cast(dy, element), stats,
                                      maskOfGradient(b, *this), getScale(),
                                      getCausal(), getTf32(), getUnguarded());
  SmallVector<Value> gradients;
  int64_t first = 0;
  for (Value x : {getQ(), getK(), getV()}) {
    ArrayRef<int64_t> shape = shapeOf(x);
    const int64_t rows[] = {shape[0], shape[2], shape[1], shape[3]};
    Value part;
    if (q[2] == k[2]) {
      part = SliceOp::create(b, all, ArrayRef<int64_t>{0, 0, first, 0}, rows,
                             ArrayRef<int64_t>{1, 1, 1, 1});
      first += shape[1];
    } else {
      int64_t count = shape[0] * shape[2] * shape[1];
      part = SliceOp::create(b, all, ArrayRef<int64_t>{first, 0},
                             ArrayRef<int64_t>{count, shape[3]},
                             ArrayRef<int64_t>{1, 1});
      part = b.reshape(part, rows);
      first += count;
    }
    gradients.push_back(
        TransposeOp::create(b, part, ArrayRef<int64_t>{0, 2, 1, 3}));
  }
  if (getMask())
    gradients.push_back(buildGradients(*this, b, dy)[3]);
  return gradients;
}

//===----------------------------------------------------------------------===//
// attention_stats, attention_grad
//===----------------------------------------------------------------------===//

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

SmallVector<Value> AttentionGradOp::decompose(NNBuilder &b) {
  // Other kernels add a mask instead.
  if (Value ranges = getMask(); hasRanges(ranges)) {
    int64_t queries = shapeOf(getQ())[2], keys = shapeOf(getK())[2];
    Value ofQueries =
        SliceOp::create(b, ranges, ArrayRef<int64_t>{0, 0, 0, 0},
                        ArrayRef<int64_t>{shapeOf(ranges)[0], 1, queries, 2},
                        ArrayRef<int64_t>{1, 1, 1, 1});
    Value mask = addedMask(b, RangeMaskOp::create(b, ofQueries, keys), getQ());
    return {AttentionGradOp::create(b, getQ(), getK(), getV(), getY(), getDy(),
                                    getStats(), mask, getScale(), getCausal(),
                                    getTf32(), getUnguarded())};
  }
  auto attention =
      AttentionOp::create(b, getQ(), getK(), getV(), getMask(), getScale(),
                          getCausal(), getTf32(), getUnguarded());
  SmallVector<Value> gradients = buildGradients(attention, b, getDy()), parts;
  bool isPacked = shapeOf(getDqkv()).size() == 4;
  for (Value x : ArrayRef(gradients).take_front(3)) {
    Value rows = TransposeOp::create(b, x, ArrayRef<int64_t>{0, 2, 1, 3});
    ArrayRef<int64_t> shape = shapeOf(rows);
    parts.push_back(
        isPacked ? rows
                 : b.reshape(rows, {shape[0] * shape[1] * shape[2], shape[3]}));
  }
  attention.erase();
  return {ConcatOp::create(b, parts, isPacked ? 2 : 0)};
}
