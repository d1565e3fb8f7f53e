//===- row_moments.cuh - Moments of a product's rows ----------------------===//

#ifndef FRIT_CODEGEN_CUDA_EPILOGUE_ROW_MOMENTS_CUH
#define FRIT_CODEGEN_CUDA_EPILOGUE_ROW_MOMENTS_CUH

#include "frit/end_stages.cuh"
#include "frit/moments.cuh"

namespace frit {

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

/// Moments of every 64 elements of D's rows: [m][n / 64][2]. n is a multiple of
/// 64.
struct RowMoments : NoReduce {
  static constexpr bool kReadsSums = true;

  struct Row : NoReduce::Row {
    RowSums sums;

    __device__ void addSum(float sum, bool isFirst) { sums.add(sum, isFirst); }
    __device__ void store(float *to, int64_t part, bool isInside) const {
      storeMoments(to + part * 2, sums, isInside);
    }
  };

  template <class P>
  __device__ static void reduceTile(float *to, const typename P::D *d,
                                    const typename P::D *, int row, int col) {
    static_assert(P::n % kMomentWidth == 0 && P::tileN == kMomentWidth);
    __syncthreads();
    for (int i = threadIdx.x / 4; i < P::tileM; i += P::threads / 4) {
      int64_t at = row + i < P::m ? row + i : P::m - 1;
      RowSums sums;
      for (int j = 0; j < 16; ++j)
        sums.add(load(d[at * P::ldd + col + threadIdx.x % 4 * 16 + j]), j == 0);
      storeMoments(to + (at * P::n + col) / kMomentWidth * 2, sums,
                   row + i < P::m);
    }
  }
};

} // namespace frit

#endif // FRIT_CODEGEN_CUDA_EPILOGUE_ROW_MOMENTS_CUH
