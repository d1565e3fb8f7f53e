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

/// With x̂ = (x - mean) / √(variance + ε) and sums over all but the channels:
/// dscale = Σ dy · x̂ and dbias = Σ dy. With the batch's own statistics over n
/// elements, dx = scale / √(variance + ε) · (dy - dbias / n - x̂ · dscale / n)
/// (Ioffe and Szegedy, section 3); otherwise only the first term.
SmallVector<Value> BatchNormOp::buildVjp(NNBuilder &b, Value gradient) {
  SmallVector<int64_t> axes, column = channelShape(*this);
  int64_t channels = column[0];
  for (int64_t dim = 0; dim < tensorType(getX()).getRank(); ++dim)
    if (dim != channelDimension(*this))
      axes.push_back(dim);
  auto perChannel = [&](Value v) {
    return TensorExpr(b, b.reshape(widen(b, v), column));
  };
  TensorExpr x = widen(b, getX()), dy = widen(b, gradient);
  TensorExpr inverse =
      rsqrt(perChannel(getVariance()) + getEpsilon().convertToDouble());
  TensorExpr normalized = (x - perChannel(getMean())) * inverse;
  TensorExpr dScale = sumAlong(dy * normalized, axes);
  TensorExpr dBias = sumAlong(dy, axes);
  TensorExpr factor = perChannel(getScale()) * inverse;
  Value parameters[] = {b.reshape(dScale, channels),
                        b.reshape(dBias, channels)};
  if (getBatchStatistics()) {
    double count = double(tensorType(x).getNumElements()) / channels;
    TensorExpr dx = factor * (dy - dBias * (1 / count) -
                              normalized * (dScale * (1 / count)));
    return {dx, parameters[0], parameters[1], Value(), Value()};
  }
  TensorExpr dMean = -sumAlong(dy, axes) * factor;
  TensorExpr dVariance =
      dScale * perChannel(getScale()) * inverse * inverse * -0.5;
  return {dy * factor, parameters[0], parameters[1], b.reshape(dMean, channels),
          b.reshape(dVariance, channels)};
}
