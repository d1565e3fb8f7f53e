//===- b2b.cuh - Back-to-back convolutions without WGMMA ------------------===//
//
// Computes the same as conv_b2b.cuh, from the same struct of constants, with
// the tiles of mma.cuh: slower, but on every architecture.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_CONVOLUTION_B2B_CUH
#define FRIT_CODEGEN_CUDA_CONVOLUTION_B2B_CUH

#include "frit/conv.cuh"

namespace frit {

/// Constants of the first convolution for conv.cuh, with tiles of 64.
template <class P> struct ConvB2bTiles : P {
  static constexpr int groups = 1, tileM = 64, tileN = 64;
  static constexpr bool channelsLast = true;
};

/// Fallback of convB2b for architectures without WGMMA, in any one-dimensional
/// grid. The intermediate result stays in shared memory.
template <class P>
__device__ inline void
convB2bFloor(const typename P::T *x, const typename P::T *w,
             const typename P::T *v, const typename P::Bias *bias,
             const typename P::LastBias *lastBias, const typename P::D *r,
             typename P::D *y) {
  using T = typename P::T;
  using Index = ConvIndex<ConvB2bTiles<P>>;
  using Offset =
      OffsetIn<largest(Index::kPixels * P::filters, Index::kPixels, 0)>;
  static_assert(kConvUsesMma<ConvB2bTiles<P>> && P::k % 64 == 0);
  __shared__ Pack<T, 8> middle[64][P::k / 8];
  const Index index = {0};
  pdlWait();
  if (threadIdx.x >= kTileThreads)
    return;
  for (int64_t first = int64_t(blockIdx.x) * 64; first < Index::kPixels;
       first += int64_t(gridDim.x) * 64)
    // One call site for both products, since each call site would get its own
    // shared memory.
    for (int col = 0; col < P::k + P::filters; col += 64) {
      const bool isFirst = col < P::k;
      const int corner = isFirst ? col : col - P::k;
      auto copyA = [&](void *to, int m, int k) {
        if (!isFirst) {
          *static_cast<Pack<T, 8> *>(to) = middle[m][k / 8];
          return;
        }
        typename Index::Offset at = -1;
        if (first + m < Index::kPixels && k < Index::kTaps)
          at = index.input(Index::windowOf(first + m), k);
        copyAsync(to, x + (at < 0 ? 0 : at), at < 0 ? 0 : 16);
      };
      auto copyB = [&](void *to, int n, int k) {
        const int filter = corner + n;
        if (isFirst) {
          const bool inside = k < Index::kTaps;
          copyAsync(to, w + (inside ? index.weight(filter, k) : 0),
                    inside ? 16 : 0);
        } else {
          copyAsync(to, v + filter * P::k + k, 16);
        }
      };
      auto emit = [&](int m, int n, float (&pair)[2]) {
        const int filter = corner + n;
        if (isFirst) {
          finishPair<typename P::Epilogue>(pair, bias ? bias + filter : nullptr,
                                           static_cast<const T *>(nullptr),
                                           middle[m][filter / 8].at +
                                               filter % 8);
        } else if (first + m < Index::kPixels) {
          const Offset at = Offset(first + m) * P::filters + filter;
          finishPair<typename P::Last>(pair,
                                       lastBias ? lastBias + filter : nullptr,
                                       r ? r + at : nullptr, y + at);
        }
      };
      multiplyTileMma<T, 64, 64, true, true, kTileThreads>(
          isFirst ? Index::kTaps : P::k, copyA, copyB, emit);
    }
}

} // namespace frit

#endif // FRIT_CODEGEN_CUDA_CONVOLUTION_B2B_CUH
