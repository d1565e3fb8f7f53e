//===- rows_end.cuh - Ends of products of a few rows ----------------------===//

#ifndef FRIT_CODEGEN_CUDA_ROWS_ROWS_END_CUH
#define FRIT_CODEGEN_CUDA_ROWS_ROWS_END_CUH

#include "frit/few_rows.cuh"
#include "frit/tile.cuh"

namespace frit {

/// Stores the function of sums. Where a thread has one element of the result,
/// its bias and residual are read when the end is made, after the kernels
/// before this one have finished, and not after the sums.
template <class P, int Rounds = 1> class RowsEnd {
  static constexpr int groups = Rounds * (P::threads / 32 / P::split);
  static constexpr int rows = 16 * P::tiles; // of a matrix B, of a warp
  static constexpr int count = kBlockRows<P> * groups * rows;
  static constexpr bool readsAhead = count <= P::threads;

  const typename P::Bias *bias;
  const typename P::D *residual; ///< null if there are two matrices
  typename P::D *d;
  int64_t firstColumn, endColumn; ///< of these rounds, of the block
  typename P::Bias ownBias = {};
  typename P::D ownResidual = {};

  __device__ int64_t columnOf(int i) const {
    return firstColumn + i % (groups * rows);
  }
  static __device__ int64_t rowOf(int i) {
    return RowsBlock<P>::firstRow() + i / (groups * rows);
  }
  __device__ int64_t elementOf(int i) const {
    return rowOf(i) * P::ldd + columnOf(i);
  }
  __device__ bool isInside(int i) const {
    return i < count &&
           ((P::n % (kRounds<P> / Rounds * groups * rows) == 0 &&
             kRounds<P> % Rounds == 0) ||
            columnOf(i) < endColumn) &&
           (!kHasPartialRows<P> || rowOf(i) < P::m);
  }

public:
  /// `bias` and `r` may be null. The rounds begin with the block's `round`.
  __device__ RowsEnd(const typename P::Bias *bias, const typename P::D *r,
                     typename P::D *d, int round = 0)
      : bias(bias), residual(kMatrices<P> == 1 ? r : nullptr), d(d),
        firstColumn((RowsBlock<P>::columns() * kRounds<P> + round) *
                    (groups / Rounds * rows)),
        endColumn((RowsBlock<P>::columns() + 1) * kRounds<P> *
                  (groups / Rounds * rows)) {
    if (endColumn > P::n)
      endColumn = P::n;
    const int i = threadIdx.x;
    if (!readsAhead || !isInside(i))
      return;
    if (bias)
      ownBias = bias[columnOf(i)];
    if (residual)
      ownResidual = residual[elementOf(i)];
  }

  /// Adds the sums of warps that share k: `sumsOf[warp][row][column]` are of a
  /// row of A and a column of the warp's tiles, of one round after another.
  /// `squareOf(row, warp, part)` is the sum of squares of a row that a warp
  /// has, the number `part` of those that share k.
  template <class Part, class SquareOf>
  __device__ void finish(const Part *sumsOf, const SquareOf &squareOf) const {
    for (int i = threadIdx.x; i < count; i += P::threads) {
      if (!isInside(i))
        continue;
      const int row = i / (groups * rows), in = i % (groups * rows);
      float sums[kMatrices<P>] = {}, square = 0;
#pragma unroll
      for (int p = 0; p < P::split; ++p) {
        const int from = in / rows * P::split + p;
#pragma unroll
        for (int b = 0; b < kMatrices<P>; ++b)
          sums[b] += sumsOf[from][row][b * rows + in % rows];
        if constexpr (kNormalizesRows<P>)
          square += squareOf(row, from, p);
      }
      if constexpr (kNormalizesRows<P>) {
        float inverse = rsqrt(fma(square, 1.0f / P::k, P::epsilon));
#pragma unroll
        for (float &sum : sums)
          sum *= inverse;
      }
      // Values, since a thread's own would go to memory by their addresses.
      float biasOf = kNothing<float>, other = kNothing<float>;
      if (bias)
        biasOf = load(readsAhead ? ownBias : bias[columnOf(i)]);
      if (residual)
        other = load(readsAhead ? ownResidual : residual[elementOf(i)]);
      if constexpr (kMatrices<P> == 2)
        other = roundTo<typename P::D>(sums[1]);
      store(d[elementOf(i)],
            frit::finish<typename P::Epilogue>(sums[0], biasOf, other));
    }
  }
};

} // namespace frit

#endif // FRIT_CODEGEN_CUDA_ROWS_ROWS_END_CUH
