//===- lane_values.cuh - Values that neighbouring lanes have --------------===//
//
// Maxima and sums over lanes, for the rows of scaled_rows.cuh.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_ROWS_LANE_VALUES_CUH
#define FRIT_CODEGEN_CUDA_ROWS_LANE_VALUES_CUH

#include "frit/base.cuh"

namespace frit {

/// Returns the largest number of `Lanes` neighbouring lanes, a power of two.
template <int Lanes> __device__ inline uint32_t largestOfLanes(uint32_t value) {
#if !defined(FRIT_EMULATE) && __CUDA_ARCH__ >= 800
  constexpr bool reduces = Lanes == 32;
  if constexpr (reduces)
    value = __reduce_max_sync(~0u, value);
#else
  constexpr bool reduces = false;
#endif
  if constexpr (!reduces)
#pragma unroll
    for (int offset = Lanes / 2; offset > 0; offset /= 2) {
      uint32_t other = __shfl_xor_sync(~0u, value, offset);
      value = value > other ? value : other;
    }
  return value;
}

/// Returns the sum over `Lanes` neighbouring lanes of one of `Count` values:
/// number `lane / (Lanes / Count)`. All are added as by a butterfly of each,
/// with fewer shuffles.
template <int Lanes, int Count>
__device__ inline float sumOverLanes(float (&values)[Count]) {
  static_assert(Count <= Lanes);
  int offset = Lanes / 2;
#pragma unroll
  for (int half = Count / 2; half > 0; half /= 2, offset /= 2) {
    const bool isUpper = threadIdx.x & offset;
#pragma unroll
    for (int i = 0; i < half; ++i) {
      const float given = isUpper ? values[i] : values[i + half];
      const float kept = isUpper ? values[i + half] : values[i];
      values[i] = kept + __shfl_xor_sync(~0u, given, offset);
    }
  }
#pragma unroll
  for (; offset > 0; offset /= 2)
    values[0] += __shfl_xor_sync(~0u, values[0], offset);
  return values[0];
}

} // namespace frit

#endif // FRIT_CODEGEN_CUDA_ROWS_LANE_VALUES_CUH
