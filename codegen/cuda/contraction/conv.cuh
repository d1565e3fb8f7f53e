//===- conv.cuh - Convolutions as implicit GEMM ---------------------------===//
//
// y = epilogue(conv(x, w) + bias + R), as artifact::Conv defines it, by an
// implicit GEMM: the product of a matrix of pixels by taps, which is never
// stored, and the filters. The problem is a struct of constants:
//
//   struct P {
//     using T = frit::f16;                          // of x, w, R and y
//     using Bias = frit::f16;                       // of bias
//     static constexpr int n, c, h, w;              // x
//     static constexpr int k, r, s;                 // filters, their size
//     static constexpr int p, q;                    // y's height and width
//     static constexpr int strideH, strideW, dilationH, dilationW;
//     static constexpr int padTop, padLeft, groups;
//     static constexpr bool channelsLast;
//     using Epilogue = frit::Relu;                  // see tile.cuh
//     static constexpr int tileM = 64, tileN = 64;  // each 64 or 128
//   };
//
// Blocks have 256 threads and need no dynamic shared memory. A good grid is
// (ceil(n·p·q / tileM), ceil(k / groups / tileN), groups); any grid is correct.
//
// Channels-last f16 and bf16 use the tensor cores if a group's channels are a
// multiple of 8; x and w must then be aligned to 16 bytes.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_CONTRACTION_CONV_CUH
#define FRIT_CODEGEN_CUDA_CONTRACTION_CONV_CUH

#include "frit/mma.cuh"
#include "frit/reductions.cuh"

namespace frit {

/// The index calculations of a convolution, for one group.
template <class P> struct ConvIndex {
  static constexpr int kChannels = P::c / P::groups;
  static constexpr int kFilters = P::k / P::groups;
  static constexpr int kTaps = kChannels * P::r * P::s;
  static constexpr int64_t kPixels = int64_t(P::n) * P::p * P::q;

  using Offset = OffsetIn<largest(int64_t(P::n) * P::c * P::h * P::w,
                                  int64_t(P::k) * kTaps, kPixels *P::k)>;
  /// An index of pixels, up to a tile past the last.
  using Pixel = OffsetIn<kPixels + 128>;

  int group;

  /// The window of a pixel of y in x: the image and the position of the first
  /// tap.
  struct Window {
    int image, row, col;
  };
  __device__ static Window windowOf(Pixel pixel) {
    Pixel line = pixel / P::q;
    return {int(line / P::p), int(line % P::p) * P::strideH - P::padTop,
            int(pixel % P::q) * P::strideW - P::padLeft};
  }

  /// Returns the element of x under a tap, or -1 in the padding. Taps are
  /// numbered as in w: channels vary fastest if channels-last, else slowest.
  __device__ Offset input(const Window &at, int tap) const {
    int channel = P::channelsLast ? tap % kChannels : tap / (P::r * P::s);
    int cell = P::channelsLast ? tap / kChannels : tap % (P::r * P::s);
    int row = at.row + cell / P::s * P::dilationH;
    int col = at.col + cell % P::s * P::dilationW;
    if (row < 0 || row >= P::h || col < 0 || col >= P::w)
      return -1;
    channel += group * kChannels;
    return P::channelsLast
               ? ((Offset(at.image) * P::h + row) * P::w + col) * P::c + channel
               : ((Offset(at.image) * P::c + channel) * P::h + row) * P::w +
                     col;
  }

  __device__ Offset weight(int filter, int tap) const {
    return (Offset(group) * kFilters + filter) * kTaps + tap;
  }

  __device__ Offset output(Pixel pixel, int filter) const {
    constexpr int area = P::p * P::q;
    filter += group * kFilters;
    return P::channelsLast
               ? Offset(pixel) * P::k + filter
               : (Offset(pixel / area) * P::k + filter) * area + pixel % area;
  }
};

/// Whether a convolution may use the tensor cores.
template <class P>
inline constexpr bool kConvUsesMma =
    hasMma<typename P::T>() && P::channelsLast &&
    ConvIndex<P>::kChannels % 8 == 0 &&
    (kSame<typename P::T, f16> || kSame<typename P::T, bf16>);

/// Computes the tile of y at (`firstPixel`, `firstFilter`) of a group on the
/// CUDA cores.
template <class P>
__device__ inline void
convTile(const typename P::T *x, const typename P::T *w,
         const typename P::Bias *bias, const typename P::T *r, typename P::T *y,
         int group, typename ConvIndex<P>::Pixel firstPixel, int firstFilter) {
  using Index = ConvIndex<P>;
  using Acc = SumOf<typename P::T>;
  const Index index = {group};
  auto loadPixel = [&](int m, int tap) {
    typename Index::Pixel pixel = firstPixel + m;
    if (pixel >= Index::kPixels || tap >= Index::kTaps)
      return Acc(0);
    auto at = index.input(Index::windowOf(pixel), tap);
    return at < 0 ? Acc(0) : Acc(load(x[at]));
  };
  auto loadFilter = [&](int n, int tap) {
    int filter = firstFilter + n;
    if (filter >= Index::kFilters || tap >= Index::kTaps)
      return Acc(0);
    return Acc(load(w[index.weight(filter, tap)]));
  };
  auto emit = [&](int m, int n, Acc sum) {
    typename Index::Pixel pixel = firstPixel + m;
    int filter = firstFilter + n;
    if (pixel >= Index::kPixels || filter >= Index::kFilters)
      return;
    auto at = index.output(pixel, filter);
    finishElement<typename P::Epilogue>(
        sum, bias ? bias + group * Index::kFilters + filter : nullptr,
        r ? r + at : nullptr, y + at);
  };
  // Elements contiguous in memory are channels of a pixel, or else pixels of a
  // channel. They run along the tile's rows, which neighbouring threads write.
  if constexpr (P::channelsLast)
    multiplyTile<Acc, P::tileM, P::tileN, true, true>(Index::kTaps, loadPixel,
                                                      loadFilter, emit);
  else
    multiplyTile<Acc, P::tileN, P::tileM, true, false>(
        Index::kTaps, loadFilter, loadPixel,
        [&](int n, int m, Acc sum) { emit(m, n, sum); });
}

/// Computes the same tile on the tensor cores. A piece of 8 taps is 8 channels
/// of one position of the window, so it is contiguous and entirely inside or
/// outside.
template <class P>
__device__ inline void
convTileMma(const typename P::T *x, const typename P::T *w,
            const typename P::Bias *bias, const typename P::T *r,
            typename P::T *y, int group,
            typename ConvIndex<P>::Pixel firstPixel, int firstFilter) {
  using Index = ConvIndex<P>;
  const Index index = {group};
  auto copyPixel = [&](void *to, int m, int tap) {
    typename Index::Pixel pixel = firstPixel + m;
    typename Index::Offset at = -1;
    if (pixel < Index::kPixels && tap < Index::kTaps)
      at = index.input(Index::windowOf(pixel), tap);
    copyAsync(to, x + (at < 0 ? 0 : at), at < 0 ? 0 : 16);
  };
  auto copyFilter = [&](void *to, int n, int tap) {
    int filter = firstFilter + n;
    bool inside = filter < Index::kFilters && tap < Index::kTaps;
    copyAsync(to, w + (inside ? index.weight(filter, tap) : 0),
              inside ? 16 : 0);
  };
  auto emit = [&](int m, int n, float (&pair)[2]) {
    typename Index::Pixel pixel = firstPixel + m;
    int filter = firstFilter + n;
    if (pixel >= Index::kPixels || filter >= Index::kFilters)
      return;
    auto at = index.output(pixel, filter);
    const auto *biasAt =
        bias ? bias + group * Index::kFilters + filter : nullptr;
    const auto *residualAt = r ? r + at : nullptr;
    if constexpr (Index::kFilters % 2 == 0) {
      finishPair<typename P::Epilogue>(pair, biasAt, residualAt, y + at);
    } else {
      finishElement<typename P::Epilogue>(pair[0], biasAt, residualAt, y + at);
      if (filter + 1 < Index::kFilters)
        finishElement<typename P::Epilogue>(
            pair[1], bias ? biasAt + 1 : nullptr, r ? residualAt + 1 : nullptr,
            y + at + 1);
    }
  };
  multiplyTileMma<typename P::T, P::tileM, P::tileN, true, true, kThreadsOf<P>>(
      Index::kTaps, copyPixel, copyFilter, emit);
}

/// Computes a tile of one group on tensor or CUDA cores.
template <class P>
__device__ inline void
convTileOf(const typename P::T *x, const typename P::T *w,
           const typename P::Bias *bias, const typename P::T *r,
           typename P::T *y, int group, int64_t firstPixel, int firstFilter) {
  if constexpr (kConvUsesMma<P>)
    convTileMma<P>(x, w, bias, r, y, group, firstPixel, firstFilter);
  else
    convTile<P>(x, w, bias, r, y, group, firstPixel, firstFilter);
}

/// Computes the whole convolution; pass null for an absent bias or residual.
template <class P>
__device__ inline void conv(const typename P::T *x, const typename P::T *w,
                            const typename P::Bias *bias,
                            const typename P::T *r, typename P::T *y) {
  using Index = ConvIndex<P>;
  for (int group = blockIdx.z; group < P::groups; group += gridDim.z)
    for (int filter = blockIdx.y * P::tileN; filter < Index::kFilters;
         filter += gridDim.y * P::tileN)
      // 64 bits, since a step of the grid may go far past the last pixel.
      for (int64_t pixel = int64_t(blockIdx.x) * P::tileM;
           pixel < Index::kPixels; pixel += int64_t(gridDim.x) * P::tileM)
        convTileOf<P>(x, w, bias, r, y, group, pixel, filter);
}

/// The matrix of pixels and filters that Q computes.
template <class Q> struct ConvMatrix : Q {
  static constexpr int64_t m = ConvIndex<Q>::kPixels, n = Q::k, ldd = n;
};

/// Fallback of wgmma_conv.cuh's kernels for architectures without WGMMA.
template <class P>
__device__ inline void convFloor(const typename P::T *x, const typename P::T *w,
                                 const typename P::Bias *bias,
                                 const typename P::T *r, typename P::T *y,
                                 EndOperands end = {}) {
  using Q = FloorTiles<P>;
  using Index = ConvIndex<P>;
  constexpr int64_t cols = (Index::kFilters + Q::tileN - 1) / Q::tileN;
  constexpr int64_t rows = (Index::kPixels + Q::tileM - 1) / Q::tileM;
  pdlWait();
  static_assert(kConvUsesMma<Q>);
  if (threadIdx.x >= Q::threads)
    return;
  for (int64_t i = blockIdx.x; i < rows * cols * P::groups; i += gridDim.x) {
    const int64_t row = i / cols % rows * Q::tileM;
    const int col = int(i % cols) * Q::tileN;
    convTileOf<Q>(x, w, bias, r, y, int(i / (rows * cols)), row, col);
    ReduceOf<P>::template reduceTile<ConvMatrix<Q>>(end.reduced, y, nullptr,
                                                    row, col);
  }
}

/// Problem Q with results as they are accumulated.
template <class Q> struct PlainResult : Q {
  using Epilogue = Identity;
};

/// Computes the sum of two convolutions; Q derives from P. The first result is
/// rounded to y's type, since it passes through y; the thread that wrote an
/// element reads it again.
template <class P, class Q>
__device__ inline void
convSumFloor(const typename P::T *x, const typename P::T *w,
             const typename P::T *x2, const typename P::T *w2,
             const typename P::Bias *bias, const typename P::T *r,
             typename P::T *y) {
  convFloor<PlainResult<Q>>(x2, w2, nullptr, r, y);
  __syncthreads();
  convFloor<P>(x, w, bias, y, y);
}

} // namespace frit

#endif // FRIT_CODEGEN_CUDA_CONTRACTION_CONV_CUH
