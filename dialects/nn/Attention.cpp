//===- Attention.cpp - Scaled dot-product attention -----------------------===//

#include "dialects/nn/NN.h"

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
  auto type = RankedTensorType::get({}, b.getI64Type());
  auto number = [&](int64_t value) -> Value {
    return ConstantOp::create(
        b, DenseElementsAttr::get(type, b.getI64IntegerAttr(value)),
        StringAttr());
  };
  Value zero = number(0), one = number(1);
  Value query = IotaOp::create(b, zero, one, ArrayRef<int64_t>{queries, 1}, 0);
  Value key = IotaOp::create(b, zero, one, ArrayRef<int64_t>{1, keys}, 1);
  return LessEqualOp::create(b, key, query);
}

SmallVector<Value> AttentionOp::decompose(NNBuilder &b) {
  Type element = tensorType(getQ()).getElementType(), work = workType(element);
  SmallVector<int64_t> q(shapeOf(getQ())), k(shapeOf(getK()));
  int64_t groups = k[1], sharing = groups ? q[1] / groups : 1;
  double scale = getScale().convertToDouble();

  // Scale q before the product if it has 16 bits: the scores are stored in 16
  // bits and would overflow otherwise. In other cases the scale is fused into
  // the softmax.
  bool early = element != work && scale != 1;
  Value x = early ? b.mul(getQ(), b.scalarLike(getQ(), scale)) : getQ();
  // The heads of a group become additional rows of queries.
  Value scores = MatmulOp::create(
      b, b.reshape(x, {q[0], groups, sharing * q[2], q[3]}), getK(),
      /*transpose_a=*/false, /*transpose_b=*/true, getTf32());
  scores = b.cast(b.reshape(scores, {q[0], q[1], q[2], k[2]}), work);
  if (!early && scale != 1)
    scores = b.mul(scores, b.scalarLike(scores, scale));

  Value never = b.scalarLike(scores, -std::numeric_limits<double>::infinity());
  Value mask = getMask();
  if (mask && tensorType(mask).getElementType().isInteger(1))
    scores = WhereOp::create(b, mask, scores, never);
  else if (mask)
    scores = b.add(scores, b.cast(mask, work));
  if (getCausal())
    scores = WhereOp::create(b, isPast(b, q[2], k[2]), scores, never);

  Value weights = SoftmaxOp::create(b, scores, -1);
  if (mask) {
    Value most = b.reduce(scores, Combiner::max, 3);
    weights = WhereOp::create(b, EqualOp::create(b, most, never),
                              b.scalarLike(weights, 0), weights);
  }
  weights = b.cast(weights, element);
  Value y = MatmulOp::create(
      b, b.reshape(weights, {q[0], groups, sharing * q[2], k[2]}), getV(),
      /*transpose_a=*/false, /*transpose_b=*/false, getTf32());
  return {b.reshape(y, getY().getType().getShape())};
}
