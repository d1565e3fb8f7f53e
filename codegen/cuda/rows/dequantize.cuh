//===- dequantize.cuh - The numbers of codes in tiles ---------------------===//
//
// For products of many rows, whose kernels read 16-bit numbers. P has
// quantized_gemm.cuh's n, k, Scale, code, block, hasOffsets and
//
//   using D = frit::bf16;
//   static constexpr int threads;
//
// A warp has a tile; the grid is ceil(tiles / (threads / 32)).
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_ROWS_DEQUANTIZE_CUH
#define FRIT_CODEGEN_CUDA_ROWS_DEQUANTIZE_CUH

#include "frit/codes.cuh"
#include "frit/copy.cuh"

namespace frit {

template <class P>
__device__ inline void
dequantizeTiles(const void *codes, const typename P::Scale *scales,
                const typename P::Scale *offsets, typename P::D *y) {
  using D = typename P::D;
  constexpr int wordCodes = kWordCodes<P::code>, half = 4 * wordCodes;
  constexpr int chunks = P::k / (2 * half), blocks = P::k / P::block;
  const int lane = threadIdx.x % 32;
  const int64_t at = int64_t(blockIdx.x) * (P::threads / 32) + threadIdx.x / 32;
  if (at >= P::n / 16 * chunks)
    return;
  const int64_t tile = at / chunks;
  const int chunk = at % chunks;
  auto words = loadOnce(reinterpret_cast<const uint32_t *>(
      static_cast<const char *>(codes) + at * 512 + lane * 16));
#pragma unroll
  for (int w = 0; w < 4; ++w) {
    const int64_t row = tile * 16 + lane / 4 + w / 2 * 8;
    const int64_t k = (chunk * 2 + w % 2) * half + lane % 4 * wordCodes;
    const int64_t factor =
        (tile * blocks + k / P::block) * 16 + lane / 4 * 2 + w / 2;
    float scale = float(load(scales[factor])) * kCodeFactor<D, P::code>;
    float offset = P::hasOffsets ? float(load(offsets[factor])) : 0.f;
    float numbers[wordCodes];
#pragma unroll
    for (int i = 0; i < wordCodes / 2; ++i) {
      uint32_t pair = decodePair<D, P::code>(words.at[w], i);
      float bias = codeBias<D, P::code>(i);
      constexpr bool isFour = wordCodes == 8;
      numbers[isFour ? i : 2 * i] =
          fma(load(D{uint16_t(pair)}) - bias, scale, offset);
      numbers[isFour ? i + 4 : 2 * i + 1] =
          fma(load(D{uint16_t(pair >> 16)}) - bias, scale, offset);
    }
    storeVector(y + row * P::k + k, numbers);
  }
}

} // namespace frit

#endif // FRIT_CODEGEN_CUDA_ROWS_DEQUANTIZE_CUH
