//===- Elementwise.cpp - Gradients of elementwise operators ---------------===//
//
// Gradients that are too long for a formula in the operator's definition.
//
//===----------------------------------------------------------------------===//

#include "dialects/nn/NN.h"

using namespace mlir;
using namespace frit::nn;

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

SmallVector<Value> GeluOp::buildVjp(NNBuilder &b, Value dy) {
  return {GeluGradOp::create(b, getX(), dy, getApproximateAttr())};
}
