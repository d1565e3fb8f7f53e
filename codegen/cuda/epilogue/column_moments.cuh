//===- column_moments.cuh - Moments of a product's columns ----------------===//

#ifndef FRIT_CODEGEN_CUDA_EPILOGUE_COLUMN_MOMENTS_CUH
#define FRIT_CODEGEN_CUDA_EPILOGUE_COLUMN_MOMENTS_CUH

#include "frit/end_stages.cuh"
#include "frit/moments.cuh"

namespace frit {

/// Stores moments of column `col` of an m × n matrix, in part `part`.
template <int64_t M, int64_t N>
__device__ inline void storeColumn(float *moments, int64_t part, int64_t col,
                                   Moments column) {
  moments[part * N + col] = column.mean;
  moments[(M / kMomentHeight + part) * N + col] = column.squares;
}

/// Moments of every 64 rows of D's columns, as stored: [2][m / 64][n]. m is a
/// multiple of 64.
struct ColumnMoments : NoReduce {
  static constexpr bool kReadsBoxes = true;

  /// Reduces the `index`-th complete box of a warp, of Warps in the block, and
  /// merges its moments with those of the warpgroup's other warps. `read` gives
  /// a lane's two columns of a row, `sync` waits for the warpgroup, and `place`
  /// gives the box's place in D. Two boxes' moments are in shared memory, at
  /// `told`, so that one barrier per box keeps their readers and writers apart.
  template <class P, int Warps, class Read, class Sync, class Place>
  __device__ static void reduceBox(float *to, float *told, int index,
                                   const Read &read, const Sync &sync,
                                   const Place &place) {
    static_assert(P::m % kMomentHeight == 0);
    constexpr int columns = 64, perWarp = columns * 2;
    const int lane = threadIdx.x % 32, thread = threadIdx.x % 128;
    const int warpgroup = threadIdx.x / 128;
    RowSums sums[2];
#pragma unroll
    for (int i = 0; i < 16; ++i) {
      float pair[2];
      read(pair, i);
      for (int c = 0; c < 2; ++c)
        sums[c].add(pair[c], i == 0);
    }
    float *group = told + (index % 2 * Warps + warpgroup * 4) * perWarp;
    Moments left = sums[0].moments(16), right = sums[1].moments(16);
    float four[4] = {left.mean, left.squares, right.mean, right.squares};
    storeVector(group + thread / 32 * perWarp + lane * 4, four);
    sync(warpgroup);
    if (thread >= columns)
      return;
    float parts[4][2], mean = 0, squares = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      loadVector(parts[i], group + i * perWarp + thread * 2);
      mean += 0.25f * parts[i][0];
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      float delta = parts[i][0] - mean;
      squares += fma(16 * delta, delta, parts[i][1]);
    }
    const auto from = place();
    const int part = from.m / kMomentHeight, col = from.n + thread;
    if (part < P::m / kMomentHeight && col < P::n)
      storeColumn<P::m, P::n>(to, part, col, {mean, squares});
  }

  template <class P>
  __device__ static void reduceTile(float *to, const typename P::D *d,
                                    const typename P::D *, int64_t row,
                                    int64_t col) {
    static_assert(P::m % kMomentHeight == 0);
    __syncthreads();
    for (int i = threadIdx.x; i < P::tileN; i += P::threads) {
      if (row >= P::m || col + i >= P::n)
        return;
      RowSums sums;
      for (int j = 0; j < kMomentHeight; ++j)
        sums.add(load(d[(row + j) * P::n + col + i]), j == 0);
      storeColumn<P::m, P::n>(to, row / kMomentHeight, col + i,
                              sums.moments(kMomentHeight));
    }
  }
};

} // namespace frit

#endif // FRIT_CODEGEN_CUDA_EPILOGUE_COLUMN_MOMENTS_CUH
