//===- Attention.cpp - Scaled dot-product attention -----------------------===//

#include "dialects/nn/Gradient.h"

#include <limits>

using namespace mlir;
using namespace frit::nn;

#define GET_OP_CLASSES
#include "dialects/nn/Attention.cpp.inc"

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
  auto differ = [&](StringRef what, ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
    return emitOptionalError(loc, what, " differ: ", shapeText(a), " and ",
                             shapeText(b));
  };
  if (!mayEqual(q[0], k[0]))
    return differ("the batches of q and k", q, k);
  if (!mayEqual(q[3], k[3]))
    return differ("the sizes of q and k", q, k);
  for (int dim = 0; dim < 3; ++dim)
    if (!mayEqual(k[dim], v[dim]))
      return differ("k and v", k, v);
  if (!ShapedType::isDynamic(q[1]) && !ShapedType::isDynamic(k[1]) &&
      q[1] != k[1] && (k[1] == 0 || q[1] % k[1]))
    return emitOptionalError(loc, q[1], " heads of queries cannot share ", k[1],
                             " of keys");
  if (Value mask = op.getMask()) {
    int64_t scores[] = {q[0], q[1], q[2], k[2]};
    ArrayRef<int64_t> shape = shapeOf(mask);
    bool fits = shape.size() <= 4;
    for (size_t i = 0; fits && i < shape.size(); ++i)
      fits = shape[i] == 1 || mayEqual(shape[i], scores[4 - shape.size() + i]);
    if (!fits)
      return emitOptionalError(loc, "a mask of shape ", shapeText(shape),
                               " does not broadcast to scores of shape ",
                               shapeText(scores));
  }
  return makeType(loc, {q[0], q[1], q[2], v[3]},
                  tensorType(op.getQ()).getElementType());
}

/// The causal mask: true where query i sees key j, j <= i.
static Value isPast(NNBuilder &b, int64_t queries, int64_t keys) {
  Value query = b.iota({queries, 1}, 0), key = b.iota({1, keys}, 1);
  return LessEqualOp::create(b, key, query);
}

namespace {
/// What the operator and its gradient are made of. The heads of a group become
/// additional rows of queries.
class AttentionParts {
public:
  AttentionParts(AttentionOp op, NNBuilder &b);

  /// The softmax of the scores, f32 (f64 for f64).
  Value buildWeights();

  /// A tensor with a row per query: heads apart, and in groups.
  Value inHeads(Value x) { return reshape(x, {heads, queries}); }
  Value inGroups(Value x) { return reshape(x, {groups, sharing * queries}); }

  Value multiply(Value x, Value y, bool swapX, bool swapY) {
    return MatmulOp::create(b, x, y, swapX, swapY, op.getTf32());
  }

  /// Whether q is scaled before the product. With 16 bits the scores are
  /// stored in 16 bits and would overflow otherwise. In other cases the scale
  /// is fused into the softmax.
  bool scalesEarly() const { return element != work && scale != 1; }
  /// `x` times the scale if `applies`.
  Value scaled(Value x, bool applies) {
    return applies && scale != 1 ? b.mul(x, b.scalarLike(x, scale)) : x;
  }

  Type element, work;

private:
  Value reshape(Value x, std::array<int64_t, 2> rows) {
    return b.reshape(x, {batch, rows[0], rows[1], shapeOf(x).back()});
  }

  AttentionOp op;
  NNBuilder &b;
  int64_t batch, heads, queries, groups, keys, sharing;
  double scale;
};
} // namespace

AttentionParts::AttentionParts(AttentionOp op, NNBuilder &b)
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

Value AttentionParts::buildWeights() {
  Value q = inGroups(scaled(op.getQ(), scalesEarly()));
  Value scores = multiply(q, op.getK(), false, true);
  scores = scaled(b.cast(inHeads(scores), work), !scalesEarly());

  Value never = b.scalarLike(scores, -std::numeric_limits<double>::infinity());
  Value mask = op.getMask();
  if (mask && tensorType(mask).getElementType().isInteger(1))
    scores = WhereOp::create(b, mask, scores, never);
  else if (mask)
    scores = b.add(scores, b.cast(mask, work));
  if (op.getCausal())
    scores = WhereOp::create(b, isPast(b, queries, keys), scores, never);

  Value weights = SoftmaxOp::create(b, scores, -1);
  if (mask) {
    Value most = b.reduce(scores, Combiner::max, 3);
    weights = WhereOp::create(b, EqualOp::create(b, most, never),
                              b.scalarLike(weights, 0), weights);
  }
  return weights;
}

SmallVector<Value> AttentionOp::decompose(NNBuilder &b) {
  AttentionParts parts(*this, b);
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
  AttentionParts parts(op, b);
  Value weights = parts.buildWeights(), dy = parts.inGroups(gradient);
  Value rows = parts.inGroups(b.cast(weights, parts.element));
  Value dv = parts.multiply(rows, dy, true, false);
  TensorExpr p(b, weights);
  TensorExpr dp =
      widened(b, parts.inHeads(parts.multiply(dy, op.getV(), false, true)));
  TensorExpr ds = p * (dp - TensorExpr(b, b.reduce(dp * p, Combiner::sum, 3)));
  // The scale goes where it went in the operator.
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

/// Libraries compute the gradient of 16-bit attentions in one call, if there
/// are as many keys as queries; every other one is what it means.
SmallVector<Value> AttentionOp::buildVjp(NNBuilder &b, Value dy) {
  ArrayRef<int64_t> q = shapeOf(getQ()), k = shapeOf(getK()),
                    v = shapeOf(getV());
  bool isEmpty = llvm::any_of(getOperands(), [](Value x) {
    return tensorType(x).getNumElements() == 0;
  });
  if (isEmpty || tensorType(getQ()).getElementTypeBitWidth() != 16 ||
      q[2] != k[2] || k[3] != v[3])
    return buildGradients(*this, b, dy);
  dy = b.cast(dy, tensorType(getQ()).getElementType());
  Value all =
      AttentionGradOp::create(b, getQ(), getK(), getV(), getY(), dy, getMask(),
                              getScale(), getCausal(), getTf32());
  SmallVector<Value> gradients;
  int64_t first = 0;
  for (Value x : {getQ(), getK(), getV()}) {
    ArrayRef<int64_t> shape = shapeOf(x);
    Value part = SliceOp::create(
        b, all, ArrayRef<int64_t>{0, 0, first, 0},
        ArrayRef<int64_t>{shape[0], shape[2], shape[1], shape[3]},
        ArrayRef<int64_t>{1, 1, 1, 1});
    gradients.push_back(
        TransposeOp::create(b, part, ArrayRef<int64_t>{0, 2, 1, 3}));
    first += shape[1];
  }
  // A mask that trains is rare: its gradient is made of the scores'.
  if (getMask())
    gradients.push_back(buildGradients(*this, b, dy)[3]);
  return gradients;
}

//===----------------------------------------------------------------------===//
// attention_grad
//===----------------------------------------------------------------------===//

FailureOr<RankedTensorType>
AttentionGradOp::infer(Adaptor op, std::optional<Location> loc) {
  ArrayRef<int64_t> q = shapeOf(op.getQ()), k = shapeOf(op.getK());
  if (failed(checkElementTypes(
          loc, {op.getQ(), op.getK(), op.getV(), op.getY(), op.getDy()})))
    return failure();
  bool fits = q.size() == 4 && k.size() == 4 && shapeOf(op.getV()) == k &&
              shapeOf(op.getY()) == q && shapeOf(op.getDy()) == q &&
              mayEqual(q[0], k[0]) && mayEqual(q[2], k[2]) &&
              mayEqual(q[3], k[3]) && k[1] > 0 && q[1] % k[1] == 0;
  if (!fits)
    return emitOptionalError(
        loc, "q, k, v, y and dy have shapes ", shapeText(q), ", ", shapeText(k),
        ", ", shapeText(shapeOf(op.getV())), ", ",
        shapeText(shapeOf(op.getY())), " and ", shapeText(shapeOf(op.getDy())),
        ", not those of one attention");
  return makeType(loc, {q[0], q[2], q[1] + 2 * k[1], q[3]},
                  tensorType(op.getQ()).getElementType());
}

SmallVector<Value> AttentionGradOp::decompose(NNBuilder &b) {
  auto attention = AttentionOp::create(b, getQ(), getK(), getV(), getMask(),
                                       getScale(), getCausal(), getTf32());
  SmallVector<Value> gradients = buildGradients(attention, b, getDy()), parts;
  for (Value x : ArrayRef(gradients).take_front(3))
    parts.push_back(TransposeOp::create(b, x, ArrayRef<int64_t>{0, 2, 1, 3}));
  attention.erase();
  return {ConcatOp::create(b, parts, 2)};
}
