//===- Normalization.cpp - Gradients of softmax and the norms -------------===//
//
// Computed in f32 (f64 for f64), as the operators are.
//
//===----------------------------------------------------------------------===//

#include "dialects/nn/Casts.h"
#include "dialects/nn/operators/Statistics.h"

using namespace mlir;
using namespace frit::nn;

static TensorExpr sumAlong(TensorExpr x, ArrayRef<int64_t> axes) {
  NNBuilder &b = x.builder();
  return {b, b.reduce(x, Combiner::sum, axes)};
}

static TensorExpr meanAlong(TensorExpr x, ArrayRef<int64_t> axes) {
  int64_t count = 1;
  for (int64_t axis : axes)
    count *= shapeOf(x)[axis];
  return sumAlong(x, axes) / double(count);
}

/// dx = y · (dy - Σ dy · y).
SmallVector<Value> SoftmaxOp::buildVjp(NNBuilder &b, Value gradient) {
  TensorExpr y = widened(b, getY()), dy = widened(b, gradient);
  return {y * (dy - sumAlong(dy * y, axisOf(getX(), getAxis())))};
}

/// dx = dy - softmax(x) · Σ dy.
SmallVector<Value> LogSoftmaxOp::buildVjp(NNBuilder &b, Value gradient) {
  TensorExpr y = widened(b, getY()), dy = widened(b, gradient);
  return {dy - exp(y) * sumAlong(dy, axisOf(getX(), getAxis()))};
}

/// With x̂ = (x - mean) / √(variance + ε) and sums over all but the channels:
/// dscale = Σ dy · x̂ and dbias = Σ dy. With the batch's own statistics over n
/// elements, dx = scale / √(variance + ε) · (dy - dbias / n - x̂ · dscale / n)
/// (Ioffe and Szegedy, section 3); otherwise only the first term. If the
/// statistics are means over ranks, so are the sums there.
SmallVector<Value> BatchNormOp::buildVjp(NNBuilder &b, Value gradient) {
  SmallVector<int64_t> axes, column = channelShape(*this);
  int64_t channels = column[0];
  for (int64_t dim = 0; dim < tensorType(getX()).getRank(); ++dim)
    if (dim != channelDimension(*this))
      axes.push_back(dim);
  auto perChannel = [&](Value v) {
    return TensorExpr(b, b.reshape(widened(b, v), column));
  };
  TensorExpr x = widened(b, getX()), dy = widened(b, gradient);
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
    TensorExpr scales = dScale, biases = dBias;
    bool isOverRanks =
        beforeCasts(getMean()).getDefiningOp<AllReduceOp>() != nullptr;
    if (isOverRanks) {
      Value both = PackOp::create(b, ArrayRef<Value>(parameters),
                                  ArrayRef<int64_t>{0, channels}, 2 * channels);
      Value sums = AllReduceOp::create(b, both);
      auto part = [&](int64_t first) {
        Value flat =
            SliceOp::create(b, sums, first, channels, ArrayRef<int64_t>{1});
        return TensorExpr(b, b.reshape(flat, column));
      };
      scales = part(0);
      biases = part(channels);
    }
    TensorExpr dx = factor * (dy - biases * (1 / count) -
                              normalized * (scales * (1 / count)));
    return {dx, parameters[0], parameters[1], Value(), Value()};
  }
  TensorExpr dMean = -sumAlong(dy, axes) * factor;
  TensorExpr dVariance =
      dScale * perChannel(getScale()) * inverse * inverse * -0.5;
  return {dy * factor, parameters[0], parameters[1], b.reshape(dMean, channels),
          b.reshape(dVariance, channels)};
}

/// With r the inverse of a group's standard deviation, z its normalized
/// elements, n their number, and g = dy · scale:
/// dx = r · (g - Σ g / n - z · Σ g · z / n) with sums over a group, and
/// dscale = Σ dy · z and dbias = Σ dy over all but the channels. Both kinds of
/// sums are those of two per sample and channel, Σ dy and Σ dy · (x - mean).
SmallVector<Value> GroupNormOp::buildVjp(NNBuilder &b, Value gradient) {
  TensorExpr x = widened(b, getX()), dy = widened(b, gradient);
  ArrayRef<int64_t> shape = shapeOf(x);
  int64_t groups = getGroups(), channels = shape.back();
  int64_t each[] = {shape[0], groups, channels / groups};
  double count = double(tensorType(x).getNumElements()) / shape[0] / groups;
  auto perGroup = [&](Value v) { return TensorExpr(b, b.reshape(v, each)); };
  auto perChannel = [&](Value v) {
    return TensorExpr(b, channelsOfGroups(b, v, x));
  };
  TensorExpr mean(b, GroupMeanOp::create(b, getX(), groups));
  TensorExpr variance(b, GroupVarianceOp::create(b, getX(), mean, groups));
  TensorExpr inverse = rsqrt(variance + getEpsilon().convertToDouble());
  TensorExpr scale(
      b, b.reshape(widened(b, getScale()), {groups, channels / groups}));
  TensorExpr centred = x - perChannel(mean);
  SmallVector<int64_t> pixels =
      llvm::to_vector(llvm::seq<int64_t>(1, shape.size() - 1));
  TensorExpr sums = perGroup(sumAlong(dy, pixels));
  TensorExpr products = perGroup(sumAlong(dy * centred, pixels)) * inverse;
  TensorExpr offset = inverse * sumAlong(scale * sums, 2) * (1 / count);
  TensorExpr slope =
      inverse * inverse * sumAlong(scale * products, 2) * (1 / count);
  TensorExpr dx = perChannel(scale * inverse) * dy -
                  centred * perChannel(slope) - perChannel(offset);
  return {dx, b.reshape(sumAlong(products, 0), channels),
          b.reshape(sumAlong(sums, 0), channels)};
}

/// Returns the dimensions of `x` from `axis` on.
static SmallVector<int64_t> normalizedAxes(Value x, int64_t axis) {
  return llvm::to_vector(
      llvm::seq<int64_t>(axisOf(x, axis), tensorType(x).getRank()));
}

/// With z the normalized rows, r the inverse of their standard deviation and
/// g = dy · scale:  dx = r · (g - mean(g) - z · mean(g · z)),  dscale = Σ dy ·
/// z and dbias = Σ dy over the rows. The mean is subtracted from x first, as
/// the operator does.
SmallVector<Value> LayerNormOp::buildVjp(NNBuilder &b, Value gradient) {
  SmallVector<int64_t> axes = normalizedAxes(getX(), getAxis());
  TensorExpr x = widened(b, getX()), dy = widened(b, gradient);
  TensorExpr centred = x - meanAlong(x, axes);
  TensorExpr r = rsqrt(meanAlong(centred * centred, axes) +
                       getEpsilon().convertToDouble());
  TensorExpr z = centred * r, g = dy * widened(b, getScale());
  TensorExpr dx = r * (g - meanAlong(g, axes) - z * meanAlong(g * z, axes));
  SmallVector<Value> gradients = {dx, dy * z};
  if (getBias())
    gradients.push_back(dy);
  return gradients;
}

/// As a layer norm's without the mean: dx = r · (g - z · mean(g · z)).
SmallVector<Value> RmsNormOp::buildVjp(NNBuilder &b, Value gradient) {
  SmallVector<int64_t> axes = normalizedAxes(getX(), getAxis());
  TensorExpr x = widened(b, getX()), dy = widened(b, gradient);
  TensorExpr r = rsqrt(meanAlong(x * x, axes) + getEpsilon().convertToDouble());
  TensorExpr z = x * r, g = dy * widened(b, getScale());
  return {r * (g - z * meanAlong(g * z, axes)), dy * z};
}
