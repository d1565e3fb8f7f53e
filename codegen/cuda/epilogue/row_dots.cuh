//===- row_dots.cuh - Dot products of a product's rows --------------------===//

#ifndef FRIT_CODEGEN_CUDA_EPILOGUE_ROW_DOTS_CUH
#define FRIT_CODEGEN_CUDA_EPILOGUE_ROW_DOTS_CUH

#include "frit/end_stages.cuh"
#include "frit/moments.cuh"

namespace frit {

/// Stores a dot product of 64 elements. Each of four neighbouring lanes has
/// added 16 of its terms; the first lane writes.
__device__ inline void storeRowDot(float *to, float dot, bool stores) {
#pragma unroll
  for (int step = 1; step < 4; step *= 2)
    dot += __shfl_xor_sync(0xffffffff, dot, step);
  if (stores && threadIdx.x % 4 == 0)
    *to = dot;
}

/// Dot products of every 64 elements of D's rows, as stored, and of the factor
/// in R's place: [m][n / 64]. n is a multiple of 64.
struct RowDots : NoReduce {
  static constexpr bool kReadsFactor = true;

  struct Row : NoReduce::Row {
    float dot = 0;

    template <class Pair>
    __device__ void addPair(const Pair &stored, const float (&factor)[2]) {
      float pair[2];
      stored.open(pair);
#pragma unroll
      for (int c = 0; c < 2; ++c)
        dot = fma(pair[c], factor[c], dot);
    }
    __device__ void store(float *to, int64_t part, bool isInside) const {
      storeRowDot(to + part, dot, isInside);
    }
  };

  template <class P>
  __device__ static void reduceTile(float *to, const typename P::D *d,
                                    const typename P::D *r, int row, int col) {
    static_assert(P::n % kMomentWidth == 0 && P::tileN == kMomentWidth);
    __syncthreads();
    for (int i = threadIdx.x / 4; i < P::tileM; i += P::threads / 4) {
      int64_t at = row + i < P::m ? row + i : P::m - 1;
      int64_t from = at * P::ldd + col + threadIdx.x % 4 * 16;
      float dot = 0;
      for (int j = 0; j < 16; ++j)
        dot = fma(load(d[from + j]), load(r[from + j]), dot);
      storeRowDot(to + (at * P::n + col) / kMomentWidth, dot, row + i < P::m);
    }
  }
};

} // namespace frit

#endif // FRIT_CODEGEN_CUDA_EPILOGUE_ROW_DOTS_CUH
