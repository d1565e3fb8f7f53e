//===- Normalization.cpp - Gradients of softmax and the norms -------------===//
//
// Computed in f32 (f64 for f64), as the operators are.
//
//===----------------------------------------------------------------------===//

#include "dialects/nn/NN.h"

using namespace mlir;
using namespace frit::nn;

static int64_t axisOf(Value x, int64_t axis) {
  return axis < 0 ? axis + tensorType(x).getRank() : axis;
}

/// Returns `x` in the type that the operators compute in.
static TensorExpr widen(NNBuilder &b, Value x) {
  return {b, b.cast(x, workType(tensorType(x).getElementType()))};
}

static TensorExpr sumAlong(TensorExpr x, ArrayRef<int64_t> axes) {
  NNBuilder &b = x.builder();
  return {b, b.reduce(x, Combiner::sum, axes)};
}

/// dx = y · (dy - Σ dy · y).
SmallVector<Value> SoftmaxOp::buildVjp(NNBuilder &b, Value gradient) {
  TensorExpr y = widen(b, getY()), dy = widen(b, gradient);
  return {y * (dy - sumAlong(dy * y, axisOf(getX(), getAxis())))};
}

/// dx = dy - softmax(x) · Σ dy.
SmallVector<Value> LogSoftmaxOp::buildVjp(NNBuilder &b, Value gradient) {
  TensorExpr y = widen(b, getY()), dy = widen(b, gradient);
  return {dy - exp(y) * sumAlong(dy, axisOf(getX(), getAxis()))};
}
