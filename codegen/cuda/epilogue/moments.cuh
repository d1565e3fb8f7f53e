//===- moments.cuh - Mean and squared deviations of rows ------------------===//

#ifndef FRIT_CODEGEN_CUDA_EPILOGUE_MOMENTS_CUH
#define FRIT_CODEGEN_CUDA_EPILOGUE_MOMENTS_CUH

#include "frit/tile.cuh"

namespace frit {

/// Elements of a row per pair of moments, and rows of a column.
inline constexpr int kMomentWidth = 64, kMomentHeight = 64;

/// Mean and sum of squared deviations of a row.
struct Moments {
  float mean, squares;
};
/// Merges the moments of a row's parts of Width elements each. Each of four
/// neighbouring lanes reads every fourth part, and all four get the result.
/// Chan, Golub and LeVeque, "Updating Formulae and a Pairwise Algorithm for
/// Computing Sample Variances", 1979.
template <int Parts, int Width>
__device__ inline Moments mergeMoments(const float *row) {
  static_assert(Parts == 1 || Parts % 4 == 0);
  float part[2];
  if constexpr (Parts == 1) {
    loadVector(part, row);
    return {part[0], part[1]};
  }
  constexpr int own = Parts / 4;
  const int lane = threadIdx.x % 4;
  float mean = 0, squares = 0;
#pragma unroll
  for (int i = 0; i < own; ++i) {
    loadVector(part, row + (i * 4 + lane) * 2);
    float delta = part[0] - mean;
    mean = fma(delta, 1.0f / (i + 1), mean);
    squares += fma(delta * delta, float(Width) * i / (i + 1), part[1]);
  }
  float count = Width * own;
#pragma unroll
  for (int step = 1; step < 4; step *= 2, count *= 2) {
    float otherMean = __shfl_xor_sync(0xffffffff, mean, step);
    float otherSquares = __shfl_xor_sync(0xffffffff, squares, step);
    float delta = otherMean - mean;
    mean = 0.5f * (mean + otherMean);
    squares = fma(delta * delta, 0.5f * count, squares + otherSquares);
  }
  return {mean, squares};
}

/// Kernel that merges the moments of Rows rows; the grid is ceil(Rows * 4 /
/// threads).
template <int64_t Rows, int Parts, int Width>
__device__ inline void mergeRows(const float *moments, float *merged) {
  int64_t row = (int64_t(blockIdx.x) * blockDim.x + threadIdx.x) / 4;
  int64_t read = row < Rows ? row : Rows - 1;
  Moments both = mergeMoments<Parts, Width>(moments + read * Parts * 2);
  if (row < Rows && threadIdx.x % 4 == 0) {
    float pair[2] = {both.mean, both.squares};
    storeVector(merged + row * 2, pair);
  }
}

/// Sums of some of a row's elements and of their squares, relative to the first
/// element. Without that shift, differences of large squares would lose
/// precision.
struct RowSums {
  float first = 0, sum = 0, squares = 0;

  __device__ void add(float x, bool isFirst) {
    if (isFirst) {
      first = x;
      return;
    }
    x -= first;
    sum += x;
    squares = fma(x, x, squares);
  }

  /// Returns the moments of the `count` elements that were added.
  __device__ Moments moments(int count) const {
    float mean = sum * (1.0f / count);
    return {first + mean, fma(-sum, mean, squares)};
  }
};

} // namespace frit

#endif // FRIT_CODEGEN_CUDA_EPILOGUE_MOMENTS_CUH
