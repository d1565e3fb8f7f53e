//===- norm.cuh - Layer norms in the kernels of products ------------------===//
//
// A product's kernel can compute the moments of its result's rows: mean and sum
// of squared deviations of every 64 elements. Later products merge them to
// multiply or add normalised rows (compiler/transform/FoldNorms). P then has
//
//   static constexpr frit::Norm norm;     // the operand to normalise, if any
//   static constexpr int parts;           // moments per row: 1, or 4 i
//   static constexpr int partWidth;       // elements per moment
//   static constexpr float epsilon;       // added to the variance
//   static constexpr bool resultMoments;  // of D's rows; n % 64 == 0
//   static constexpr bool columnMoments;  // of 64 rows each; m % 64 == 0
//   static constexpr bool columnSums;     // of 16 rows; m % 16, n % 2 == 0
//   static constexpr bool rowDots;        // of 64 elements; n % 64 == 0
//   static constexpr frit::Second second; // what is stored beside D, if any
//
// and an element of D is the epilogue of
//
//   product   (sum - mean * column) * inverse + bias + R
//   residual  sum + bias + (R - mean) * inverse * column
//
// Dot products of D's rows and R's are of D as stored; R is then not added.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_CONTRACTION_NORM_CUH
#define FRIT_CODEGEN_CUDA_CONTRACTION_NORM_CUH

#include "frit/tile.cuh"

namespace frit {

/// Rows of a column per pair of moments.
inline constexpr int kMomentHeight = 64;
/// Rows of a column per sum.
inline constexpr int kSumHeight = 16;

enum class Norm { none, product, residual };

/// What a kernel stores for each element of D besides D: the number that the
/// epilogue is applied to, or the slope of the epilogue there.
enum class Second { none, sum, slope };

/// Elements of a row per pair of moments, or per dot product.
inline constexpr int kMomentWidth = 64;

/// Additional operands of a kernel with norms; null if P does not use them.
struct NormOperands {
  const float *moments = nullptr; ///< [m][parts][2]
  const float *column = nullptr;  ///< [n]
  /// [m][n / 64][2]; moments of columns [2][m / 64][n]; sums [m / 16][n]; dot
  /// products [m][n / 64].
  float *resultMoments = nullptr;
  /// What P stores beside D, with D's type and layout.
  void *second = nullptr;
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

/// Returns whether P takes the moments of columns.
template <class P> __device__ constexpr bool takesColumnMoments() {
  if constexpr (requires { P::columnMoments; })
    return P::columnMoments;
  else
    return false;
}

/// Returns whether P sums the columns of D.
template <class P> __device__ constexpr bool sumsColumns() {
  if constexpr (requires { P::columnSums; })
    return P::columnSums;
  else
    return false;
}

/// Returns whether P takes dot products of D's rows and R's.
template <class P> __device__ constexpr bool takesRowDots() {
  if constexpr (requires { P::rowDots; })
    return P::rowDots;
  else
    return false;
}

template <class P> __device__ constexpr Second secondOf() {
  if constexpr (requires { P::second; })
    return P::second;
  else
    return Second::none;
}
template <class P>
inline constexpr bool kStoresSecond = secondOf<P>() != Second::none;

/// Computes an element of D from the epilogue's argument, and what is stored
/// beside it.
template <class P>
__device__ inline float endWithSecond(float sum, float &second) {
  if constexpr (secondOf<P>() == Second::slope) {
    return typename P::Epilogue()(sum, second);
  } else {
    second = sum;
    return typename P::Epilogue()(sum);
  }
}

/// Mean and sum of squared deviations of a row.
struct RowMoments {
  float mean, squares;
};
/// Mean and inverse deviation that normalise a row.
struct RowNorm {
  float mean, inverse;
};

/// Merges the moments of a row's parts of Width elements each. Each of four
/// neighbouring lanes reads every fourth part, and all four get the result.
/// Chan, Golub and LeVeque, "Updating Formulae and a Pairwise Algorithm for
/// Computing Sample Variances", 1979.
template <int Parts, int Width>
__device__ inline RowMoments mergeMoments(const float *row) {
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

/// Returns the merged moments of row `row`, clamped to the last row.
template <class P>
__device__ inline RowMoments momentsOf(const float *moments, int64_t row) {
  row = row < P::m ? row : P::m - 1;
  return mergeMoments<P::parts, P::partWidth>(moments + row * P::parts * 2);
}

template <class P> __device__ inline RowNorm normOfRow(RowMoments row) {
  constexpr float count = P::parts * P::partWidth;
  return {row.mean, rsqrt(fma(row.squares, 1.0f / count, P::epsilon))};
}

/// Kernel that merges the moments of Rows rows; the grid is ceil(Rows * 4 /
/// threads).
template <int64_t Rows, int Parts, int Width>
__device__ inline void mergeRows(const float *moments, float *merged) {
  int64_t row = (int64_t(blockIdx.x) * blockDim.x + threadIdx.x) / 4;
  int64_t read = row < Rows ? row : Rows - 1;
  RowMoments both = mergeMoments<Parts, Width>(moments + read * Parts * 2);
  if (row < Rows && threadIdx.x % 4 == 0) {
    float pair[2] = {both.mean, both.squares};
    storeVector(merged + row * 2, pair);
  }
}

/// Returns the epilogue's argument for an element of D; absent bias and
/// residual are kNothing.
template <class P>
__device__ inline float normed(float sum, float bias, float residual,
                               float column, RowNorm row) {
  if constexpr (normOf<P>() == Norm::product)
    return fma(fma(-row.mean, column, sum), row.inverse, bias) + residual;
  else
    return fma(fma(residual, row.inverse, -row.mean * row.inverse), column,
               sum + bias);
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
  __device__ RowMoments moments(int count) const {
    float mean = sum * (1.0f / count);
    return {first + mean, fma(-sum, mean, squares)};
  }
};

/// Stores the moments of 64 elements. Each of four neighbouring lanes has
/// summed 16 of them; the first lane writes.
__device__ inline void storeMoments(float *to, const RowSums &row,
                                    bool stores) {
  constexpr float count = 16;
  float mean = row.sum * (1 / count);
  float squares = fma(-row.sum, mean, row.squares);
  mean += row.first;
#pragma unroll
  for (int step = 1; step < 4; step *= 2) {
    float otherMean = __shfl_xor_sync(0xffffffff, mean, step);
    float otherSquares = __shfl_xor_sync(0xffffffff, squares, step);
    float delta = otherMean - mean;
    squares = fma(delta * delta, 0.5f * count * step, squares + otherSquares);
    mean = 0.5f * (mean + otherMean);
  }
  if (stores && threadIdx.x % 4 == 0) {
    float pair[2] = {mean, squares};
    storeVector(to, pair);
  }
}

/// Stores a dot product of 64 elements. Each of four neighbouring lanes has
/// added 16 of its terms; the first lane writes.
__device__ inline void storeRowDot(float *to, float dot, bool stores) {
#pragma unroll
  for (int step = 1; step < 4; step *= 2)
    dot += __shfl_xor_sync(0xffffffff, dot, step);
  if (stores && threadIdx.x % 4 == 0)
    *to = dot;
}

/// Stores moments of column `col` of an m × n matrix, in part `part`.
template <int64_t M, int64_t N>
__device__ inline void storeColumn(float *moments, int64_t part, int64_t col,
                                   RowMoments column) {
  moments[part * N + col] = column.mean;
  moments[(M / kMomentHeight + part) * N + col] = column.squares;
}

/// Computes the moments of kMomentHeight rows by `cols` columns of D at (row,
/// col), which the block's first `Threads` threads have stored.
template <int64_t M, int64_t N, int Threads, class D>
__device__ inline void takeColumnMoments(float *moments, const D *d,
                                         int64_t row, int64_t col, int cols) {
  static_assert(M % kMomentHeight == 0);
  __syncthreads();
  for (int i = threadIdx.x; i < cols; i += Threads) {
    if (row >= M || col + i >= N)
      return;
    RowSums sums;
    for (int j = 0; j < kMomentHeight; ++j)
      sums.add(load(d[(row + j) * N + col + i]), j == 0);
    storeColumn<M, N>(moments, row / kMomentHeight, col + i,
                      sums.moments(kMomentHeight));
  }
}

/// Sums the columns of `rows` rows by `cols` columns of D at (row, col), which
/// the block's first `Threads` threads have stored.
template <int64_t M, int64_t N, int Threads, class D>
__device__ inline void sumColumns(float *sums, const D *d, int64_t row,
                                  int rows, int64_t col, int cols) {
  static_assert(M % kSumHeight == 0);
  __syncthreads();
  for (int i = threadIdx.x; i < rows / kSumHeight * cols; i += Threads) {
    const int64_t from = row + i / cols * kSumHeight, at = col + i % cols;
    if (from >= M || at >= N)
      continue;
    float sum = 0;
    for (int j = 0; j < kSumHeight; ++j)
      sum += load(d[(from + j) * N + at]);
    sums[from / kSumHeight * N + at] = sum;
  }
}

} // namespace frit

#endif // FRIT_CODEGEN_CUDA_CONTRACTION_NORM_CUH
