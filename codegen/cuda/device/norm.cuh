//===- norm.cuh - Layer norms in the kernels of products ------------------===//
//
// A product's kernel can take the moments of its result's rows, mean and sum of
// squared deviations of every 64 elements, and products after it can multiply
// normalised rows, or add them, by merging those
// (compiler/transform/FoldNorms). P then has
//
//   static constexpr frit::Norm norm;     // what is normalised, if anything
//   static constexpr int parts;           // moments per row, a multiple of 4
//   static constexpr float epsilon;       // added to the variance
//   static constexpr bool resultMoments;  // takes those of D; n % 64 == 0
//
// with which an element of D is the epilogue of
//
//   product   (sum - mean * column) * inverse + bias + R
//   residual  sum + bias + (R - mean) * inverse * column
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_DEVICE_NORM_CUH
#define FRIT_DEVICE_NORM_CUH

#include "frit/tile.cuh"

namespace frit {

enum class Norm { none, product, residual };

/// Elements of a row that a pair of moments is of.
inline constexpr int kMomentWidth = 64;

/// What a kernel reads and writes besides; null where P has nothing of it.
struct NormOperands {
  const float *moments = nullptr; ///< [m][parts][2]
  const float *column = nullptr;  ///< [n]
  float *resultMoments = nullptr; ///< [m][n / 64][2]
};

template <class P> __device__ constexpr Norm normOf() {
  if constexpr (requires { P::norm; })
    return P::norm;
  else
    return Norm::none;
}
template <class P>
inline constexpr bool kNormalises = normOf<P>() != Norm::none;

template <class P> __device__ constexpr bool takesMoments() {
  if constexpr (requires { P::resultMoments; })
    return P::resultMoments;
  else
    return false;
}

/// What a row is normalised with.
struct RowNorm {
  float mean, inverse;
};

/// Merges the moments of a row's parts, of which each of four neighbouring
/// lanes reads every fourth, and gives all four the result. Chan, Golub and
/// LeVeque, "Updating Formulae and a Pairwise Algorithm for Computing Sample
/// Variances", 1979.
template <class P> __device__ inline RowNorm mergeMoments(const float *row) {
  static_assert(P::parts % 4 == 0);
  constexpr int own = P::parts / 4;
  const int lane = threadIdx.x % 4;
  float mean = 0, squares = 0;
#pragma unroll
  for (int i = 0; i < own; ++i) {
    float part[2];
    loadVector(part, row + (i * 4 + lane) * 2);
    float delta = part[0] - mean;
    mean = fma(delta, 1.0f / (i + 1), mean);
    squares += fma(delta * delta, float(kMomentWidth) * i / (i + 1), part[1]);
  }
  float count = kMomentWidth * own;
#pragma unroll
  for (int step = 1; step < 4; step *= 2, count *= 2) {
    float otherMean = __shfl_xor_sync(0xffffffff, mean, step);
    float otherSquares = __shfl_xor_sync(0xffffffff, squares, step);
    float delta = otherMean - mean;
    mean = 0.5f * (mean + otherMean);
    squares = fma(delta * delta, 0.5f * count, squares + otherSquares);
  }
  return {mean,
          rsqrt(fma(squares, 1.0f / (kMomentWidth * P::parts), P::epsilon))};
}

/// What the epilogue of an element of D is of; bias and residual are kNothing
/// where they are absent.
template <class P>
__device__ inline float normed(float sum, float bias, float residual,
                               float column, RowNorm row) {
  if constexpr (normOf<P>() == Norm::product)
    return fma(fma(-row.mean, column, sum), row.inverse, bias) + residual;
  else
    return fma((residual - row.mean) * row.inverse, column, sum + bias);
}

/// Mean and squared deviations of the 64 elements that four neighbouring lanes
/// have 16 each of, stored by the first.
__device__ inline void storeMoments(float *to, const float (&values)[16],
                                    bool stores) {
  float sum = 0, squares = 0;
#pragma unroll
  for (int i = 0; i < 16; ++i)
    sum += values[i];
  sum += __shfl_xor_sync(0xffffffff, sum, 1);
  sum += __shfl_xor_sync(0xffffffff, sum, 2);
  const float mean = sum * (1.0f / kMomentWidth);
#pragma unroll
  for (int i = 0; i < 16; ++i)
    squares = fma(values[i] - mean, values[i] - mean, squares);
  squares += __shfl_xor_sync(0xffffffff, squares, 1);
  squares += __shfl_xor_sync(0xffffffff, squares, 2);
  if (stores && threadIdx.x % 4 == 0) {
    float pair[2] = {mean, squares};
    storeVector(to, pair);
  }
}

} // namespace frit

#endif // FRIT_DEVICE_NORM_CUH
