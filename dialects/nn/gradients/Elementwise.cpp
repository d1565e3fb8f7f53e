//===- Elementwise.cpp - Gradients of elementwise operators ---------------===//
//
// Gradients that are too long for a formula in the operator's definition.
//
//===----------------------------------------------------------------------===//

#include "dialects/nn/NN.h"

using namespace mlir;
using namespace frit::nn;

//===----------------------------------------------------------------------===//
// Larger and smaller elements
//===----------------------------------------------------------------------===//

/// Returns whether a value is one number, or the same one everywhere.
static bool isNumber(Value value) {
  while (isa_and_nonnull<CastOp, ExpandOp, ReshapeOp>(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  DenseElementsAttr constant;
  return matchPattern(value, m_Constant(&constant)) && constant.isSplat();
}

/// Builds the gradients of a maximum or minimum. Equal operands share the
/// gradient, as in PyTorch's `maximum`. An element that is equal to a number
/// has none: the number is a bound, as in ReLU and in PyTorch's `clamp`.
static SmallVector<Value> extremeVjp(NNBuilder &b, Combiner kind, Value left,
                                     Value right, Value gradient) {
  TensorExpr dy = widened(b, gradient);
  auto gradientOf = [&](Value operand, Value other) -> Value {
    TensorExpr x = widened(b, operand), y = widened(b, other);
    if (isNumber(other))
      return where(kind == Combiner::max ? x > y : x < y, dy, 0.0);
    return where(kind == Combiner::max ? x < y : x > y, 0.0,
                 where(equal(x, y), 0.5 * dy, dy));
  };
  return {gradientOf(left, right), gradientOf(right, left)};
}

SmallVector<Value> MaxOp::buildVjp(NNBuilder &b, Value dy) {
  return extremeVjp(b, Combiner::max, getA(), getB(), dy);
}

SmallVector<Value> MinOp::buildVjp(NNBuilder &b, Value dy) {
  return extremeVjp(b, Combiner::min, getA(), getB(), dy);
}

//===----------------------------------------------------------------------===//
// Powers and roots
//===----------------------------------------------------------------------===//

/// da = dy · b · a^(b - 1) and db = dy · y · log a. Both are 0 where a power
/// of 0 or a base of 0 makes y constant, as in PyTorch.
SmallVector<Value> PowOp::buildVjp(NNBuilder &b, Value gradient) {
  TensorExpr dy = widened(b, gradient), y = widened(b, getY());
  TensorExpr base = widened(b, getA());
  TensorExpr power(b, b.cast(getB(), tensorType(base).getElementType()));
  TensorExpr dBase = where(equal(power, power.number(0)), 0.0,
                           dy * power * pow(base, power - 1.0));
  if (!isa<FloatType>(tensorType(getB()).getElementType()))
    return {dBase, Value()};
  TensorExpr isFlat = equal(base, base.number(0)) & (power >= 0.0);
  return {dBase, where(isFlat, 0.0, dy * y * log(base))};
}

/// Returns whether a value is a sum or mean of squares, as under the root of
/// norms and deviations.
static bool isSumOfSquares(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (auto product = dyn_cast<MulOp>(op)) {
      if (product.getA() == product.getB())
        return true;
      bool isScaled = isNumber(product.getB());
      if (!isScaled && !isNumber(product.getA()))
        return false;
      value = isScaled ? product.getA() : product.getB();
      continue;
    }
    auto reduce = dyn_cast<ReduceOp>(op);
    auto quotient = dyn_cast<DivOp>(op);
    bool isLinear = isa<CastOp, ReshapeOp, AvgPoolOp>(op) ||
                    (reduce && reduce.getKind() == Combiner::sum) ||
                    (quotient && isNumber(quotient.getB()));
    if (!isLinear)
      return false;
    value = op->getOperand(0);
  }
  return false;
}

/// dx = dy / (2 · y). At a norm of 0 that would be infinite and the gradient of
/// the squares NaN; as in PyTorch it is 0 there, one of the norm's
/// subgradients.
SmallVector<Value> SqrtOp::buildVjp(NNBuilder &b, Value gradient) {
  TensorExpr y = widened(b, getY()), dx = widened(b, gradient) * 0.5 / y;
  if (!isSumOfSquares(getX()))
    return {dx};
  return {where(equal(y, y.number(0)), 0.0, dx)};
}

//===----------------------------------------------------------------------===//
// Activations
//===----------------------------------------------------------------------===//

SmallVector<Value> GeluOp::buildVjp(NNBuilder &b, Value dy) {
  return {GeluGradOp::create(b, getX(), dy, getApproximateAttr())};
}
