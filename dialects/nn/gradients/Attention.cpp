//===- Attention.cpp - Gradients of attention -----------------------------===//

#include "dialects/nn/operators/AttentionParts.h"

#include <limits>

using namespace mlir;
using namespace frit::nn;

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
