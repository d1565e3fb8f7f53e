//===- ConvBatchNorm.cpp - Gradient of a normalized convolution -----------===//
//
// With positions i of M, g = dy and z = W x the convolution's result, all
// channels of a position as vectors, the gradient of batch norm is
//
//   dz_i = f · (g_i - ḡ) - s · (z_i - z̄)      f = scale / deviation
//                                             s = f · dscale / (deviation · M)
//
// for each channel, with means ḡ and z̄ over the positions. As z is linear in x,
// every sum that the gradients need is one of products with x, whose channels
// are fewer:
//
//   C = Σ (g_i - ḡ) x_iᵀ        P = Σ (x_i - x̄) x_iᵀ
//   dscale = Σ g_i · (z_i - z̄) / deviation = rows' sums of W ∘ C / deviation
//   dW = Σ dz_i x_iᵀ = f ∘ C - s ∘ (W P)
//   dx_i = Wᵀ dz_i = Wᵀ f (g_i - ḡ) - Wᵀ s W (x_i - x̄)
//
// where f, s and 1 / deviation scale rows. So neither z nor dz is read or
// stored; dx is a sum of two pointwise convolutions.
//
//===----------------------------------------------------------------------===//

#include "dialects/nn/operators/Statistics.h"

using namespace mlir;
using namespace frit::nn;

/// Returns the sum of each channel as one row.
static TensorExpr sumPositions(NNBuilder &b, Value x) {
  auto axes = llvm::to_vector(llvm::seq<int64_t>(shapeOf(x).size() - 1));
  Value sum = b.reduce(widened(b, x), Combiner::sum, axes);
  return {b, b.reshape(sum, {1, shapeOf(x).back()})};
}

/// Returns Σ (x_i - x̄) y_iᵀ over the positions i, summed in `parts`, without
/// rounding to 16 bits on the way.
static TensorExpr sumProducts(NNBuilder &b, Value x, TensorExpr sumX, Value y,
                              TensorExpr sumY, int64_t parts) {
  int64_t rows = shapeOf(x).back(), columns = shapeOf(y).back();
  int64_t count = tensorType(x).getNumElements() / rows;
  auto divide = [&](Value v) {
    return b.reshape(v, {parts, count / parts, shapeOf(v).back()});
  };
  Value products = MatmulOp::create(b, divide(x), divide(y),
                                    /*transpose_a=*/true,
                                    /*transpose_b=*/false, /*tf32=*/false);
  TensorExpr sum(b, b.reduce(widened(b, products), Combiner::sum, 0));
  return TensorExpr(b, b.reshape(sum, {rows, columns})) -
         TensorExpr(b, b.reshape(sumX, {rows, 1})) * sumY / double(count);
}

SmallVector<Value> ConvBatchNormOp::buildVjp(NNBuilder &b, Value gradient) {
  Value x = getX();
  Type element = tensorType(x).getElementType();
  int64_t channels = shapeOf(getW()).front(), inner = shapeOf(x).back();
  int64_t count = tensorType(x).getNumElements() / inner;
  // Equal to those of the forward pass, so they are computed once.
  Value z = convolvePoints(b, x, getW(), Value());
  Value mean = BatchMeanOp::create(b, z, /*channels_last=*/true);
  Value variance = BatchVarianceOp::create(b, z, mean, /*channels_last=*/true);

  auto perRow = [&](Value v) {
    return TensorExpr(b, b.reshape(widened(b, v), {channels, 1}));
  };
  auto multiply = [&](Value left, Value right, bool transpose) {
    return MatmulOp::create(b, left, right, transpose, /*transpose_b=*/false,
                            /*tf32=*/false);
  };
  Value filters = b.reshape(getW(), {channels, inner});
  TensorExpr w = widened(b, filters);
  TensorExpr dBias = sumPositions(b, gradient), sumX = sumPositions(b, x);
  TensorExpr c = sumProducts(b, gradient, dBias, x, sumX, getParts());
  TensorExpr p = sumProducts(b, x, sumX, x, sumX, getParts());

  TensorExpr inverse = rsqrt(perRow(variance) + getEpsilon().convertToDouble());
  TensorExpr dScale(b, b.reduce(w * c, Combiner::sum, 1));
  dScale = dScale * inverse;
  TensorExpr factor = perRow(getScale()) * inverse;
  TensorExpr slope = factor * inverse * dScale;
  // Covariances instead of sums, so that 16 bits hold them.
  Value covariance = b.cast(p / double(count), element);
  TensorExpr dw =
      factor * c - slope * widened(b, multiply(filters, covariance, false));

  // Both filters of dx, rounded as they are stored, also correct the means.
  Value ofG = TransposeOp::create(b, b.cast(factor * w, element),
                                  ArrayRef<int64_t>{1, 0});
  Value ofX =
      multiply(b.cast(slope * w / -double(count), element), filters, true);
  auto sumBy = [&](Value by, TensorExpr row) {
    return TensorExpr(b, b.reduce(widened(b, by) * row, Combiner::sum, 1));
  };
  Value offset = (sumBy(ofG, dBias) + sumBy(ofX, sumX)) / -double(count);
  auto convolve = [&](Value x, Value by, Value bias) {
    SmallVector<int64_t> shape(shapeOf(x).size(), 1);
    shape.front() = inner;
    shape.back() = shapeOf(by).back();
    return convolvePoints(b, x, b.reshape(by, shape), bias);
  };
  Value dx = b.add(convolve(gradient, ofG, b.reshape(offset, {inner})),
                   convolve(x, ofX, Value()));
  return {dx, b.reshape(b.cast(dw, element), shapeOf(getW())),
          b.reshape(dScale, {channels}), b.reshape(dBias, {channels})};
}
