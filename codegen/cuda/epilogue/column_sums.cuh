//===- column_sums.cuh - Sums of a product's columns ----------------------===//

#ifndef FRIT_CODEGEN_CUDA_EPILOGUE_COLUMN_SUMS_CUH
#define FRIT_CODEGEN_CUDA_EPILOGUE_COLUMN_SUMS_CUH

#include "frit/end_stages.cuh"

namespace frit {

/// Rows of a column per sum.
inline constexpr int kSumHeight = 16;

/// Sums of every 16 rows of D's columns, as stored: [m / 16][n]. m is a
/// multiple of 16, n of 2.
struct ColumnSums : NoReduce {
  struct Columns : NoReduce::Columns {
    /// The sums of the box's columns 2 l and 2 l + 1 for lane l, at the end.
    float sums[2];
    float waiting[3][2];

    /// Eight lanes have different rows of the same columns; of two groups each
    /// lane keeps one and gives the other away, then of two pairs of groups,
    /// then of two fours. Tensor cores would do it in fewer instructions, but
    /// are busy with the other warpgroup's tile.
    template <class Pair>
    __device__ void addGroup(const Pair (&rows)[2], int group) {
      float lower[2];
      rows[0].open(sums);
      rows[1].open(lower);
      sums[0] += lower[0];
      sums[1] += lower[1];
#pragma unroll
      for (int level = 0; level < 3; ++level) {
        if (!(group >> level & 1)) {
          waiting[level][0] = sums[0];
          waiting[level][1] = sums[1];
          return;
        }
        const int distance = 4 << level;
        const bool later = threadIdx.x & distance;
#pragma unroll
        for (int c = 0; c < 2; ++c) {
          float kept = later ? sums[c] : waiting[level][c];
          float given = later ? waiting[level][c] : sums[c];
          sums[c] = kept + __shfl_xor_sync(0xffffffff, given, distance);
        }
      }
    }
    template <class P, class Tile>
    __device__ void store(float *to, const Tile &from) const {
      const int col = from.n + threadIdx.x % 32 * 2;
      if (from.m < P::m && col < P::n)
        storeVector(to + int64_t(from.m / kSumHeight) * P::n + col, sums);
    }
  };

  template <class P>
  __device__ static void reduceTile(float *to, const typename P::D *d,
                                    const typename P::D *, int64_t row,
                                    int64_t col) {
    static_assert(P::m % kSumHeight == 0);
    __syncthreads();
    for (int i = threadIdx.x; i < P::tileM / kSumHeight * P::tileN;
         i += P::threads) {
      const int64_t from = row + i / P::tileN * kSumHeight,
                    at = col + i % P::tileN;
      if (from >= P::m || at >= P::n)
        continue;
      float sum = 0;
      for (int j = 0; j < kSumHeight; ++j)
        sum += load(d[(from + j) * P::n + at]);
      to[from / kSumHeight * P::n + at] = sum;
    }
  }
};

} // namespace frit

#endif // FRIT_CODEGEN_CUDA_EPILOGUE_COLUMN_SUMS_CUH
