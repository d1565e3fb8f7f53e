//===- Scatter.cpp - Gradients of scatters --------------------------------===//

#include "dialects/nn/NN.h"

using namespace mlir;
using namespace frit::nn;

namespace {
/// A scatter's gradient: reads back what updates wrote.
class ScatterGradient {
public:
  ScatterGradient(NNBuilder &b, ScatterElementsOp op)
      : b(b), op(op), axis(axisOf(op.getX(), op.getAxis())),
        index(b, b.cast(op.getIndices(), b.getI64Type())),
        size(shapeOf(op.getX())[axis]) {}

  /// Returns the element of `x` that each update goes to; 0 if its index is out
  /// of range.
  TensorExpr gather(TensorExpr x) {
    TensorExpr isIn =
        (index >= -double(size)) & (index < TensorExpr(b, b.integer(size)));
    return where(
        isIn, TensorExpr(b, GatherElementsOp::create(b, x, index, axis)), 0.0);
  }

  /// Scatters `updates` to `x` at the operator's indices.
  TensorExpr scatter(TensorExpr x, TensorExpr updates, StringRef reduction) {
    return {b,
            ScatterElementsOp::create(b, x, index, updates, axis, reduction)};
  }

private:
  NNBuilder &b;
  ScatterElementsOp op;
  int64_t axis;
  TensorExpr index;
  int64_t size;
};
} // namespace

/// Builds the gradients of overwriting. Of several updates of an element, the
/// last gets its gradient.
static SmallVector<Value> overwriteVjp(NNBuilder &b, ScatterGradient &scatter,
                                       ScatterElementsOp op, TensorExpr dy) {
  TensorExpr none(
      b,
      b.zeros(
          tensorType(op.getUpdates()).clone(tensorType(dy).getElementType())));
  int64_t axis = axisOf(op.getX(), op.getAxis());
  // Updates number themselves from 1 along the axis.
  TensorExpr number(b,
                    b.zeros(tensorType(op.getIndices()).clone(b.getI64Type())));
  SmallVector<int64_t> line(shapeOf(number).size(), 1);
  line[axis] = shapeOf(number)[axis];
  number = number + (TensorExpr(b, b.iota(line, axis)) + 1.0);
  TensorExpr unwritten(b, b.zeros(tensorType(op.getX()).clone(b.getI64Type())));
  TensorExpr last = scatter.gather(scatter.scatter(unwritten, number, "none"));
  return {scatter.scatter(dy, none, "none"), Value(),
          where(equal(last, number), scatter.gather(dy), 0.0)};
}

/// Builds the gradients of multiplication: the product of all other factors of
/// an element. That is the product of the factors other than 0, unless another
/// factor is 0.
static SmallVector<Value> multiplyVjp(ScatterGradient &scatter, TensorExpr dy,
                                      TensorExpr x, TensorExpr updates) {
  auto isZero = [](TensorExpr v) { return equal(v, v.number(0)); };
  auto withoutZeros = [&](TensorExpr v) { return where(isZero(v), 1.0, v); };
  auto countZeros = [&](TensorExpr v) {
    return where(isZero(v), v.number(1), v.number(0));
  };
  TensorExpr product =
      scatter.scatter(withoutZeros(x), withoutZeros(updates), "mul");
  TensorExpr zeros = scatter.scatter(countZeros(x), countZeros(updates), "add");
  auto others = [&](TensorExpr v, TensorExpr product, TensorExpr zeros) {
    return where(zeros > countZeros(v), 0.0, product / withoutZeros(v));
  };
  return {dy * others(x, product, zeros), Value(),
          scatter.gather(dy) *
              others(updates, scatter.gather(product), scatter.gather(zeros))};
}

/// Builds the gradients of a maximum or minimum, which all equal elements
/// share.
static SmallVector<Value> extremeVjp(ScatterGradient &scatter, TensorExpr dy,
                                     TensorExpr x, TensorExpr updates,
                                     TensorExpr y) {
  auto hits = [](TensorExpr v, TensorExpr best) {
    return where(equal(v, best), v.number(1), v.number(0));
  };
  TensorExpr mine = hits(x, y), theirs = hits(updates, scatter.gather(y));
  TensorExpr each = dy / scatter.scatter(mine, theirs, "add");
  return {mine * each, Value(), theirs * scatter.gather(each)};
}

SmallVector<Value> ScatterElementsOp::buildVjp(NNBuilder &b, Value gradient) {
  TensorExpr dy = widened(b, gradient), x = widened(b, getX());
  TensorExpr updates = widened(b, getUpdates());
  ScatterGradient scatter(b, *this);
  if (getReduction() == "none")
    return overwriteVjp(b, scatter, *this, dy);
  if (getReduction() == "add")
    return {dy, Value(), scatter.gather(dy)};
  if (getReduction() == "mul")
    return multiplyVjp(scatter, dy, x, updates);
  return extremeVjp(scatter, dy, x, updates, widened(b, getY()));
}
