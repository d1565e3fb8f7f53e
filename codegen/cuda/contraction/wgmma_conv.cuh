//===- wgmma_conv.cuh - Convolutions on sm_90a ----------------------------===//
//
// y = epilogue(conv(x, w) + bias + R) in channels-last f16 or bf16, groups 1,
// channels a multiple of 8, as an implicit GEMM: the product of a matrix of
// pixels by taps, which TMA forms as it reads x (im2col), and the filters. The
// problem is a struct of constants, conv.cuh's with a few more:
//
//   struct P {
//     using T = frit::f16;                          // of x, w
//     using D = frit::f16, Bias = frit::f16;        // of y and R; of bias
//     static constexpr int n, c, h, w;              // x
//     static constexpr int k, r, s;                 // filters, their size
//     static constexpr int p, q;                    // y's height and width
//     static constexpr int strideH, strideW, dilationH, dilationW;
//     static constexpr int padTop, padLeft;
//     using Epilogue = frit::Relu;                  // see tile.cuh
//     static constexpr int tileM, tileN, stages, cluster, split, blocks;
//     static constexpr bool constantB;              // no kernel writes w
//   };
//
// The last seven constants, the declaration, the launch, D and R are those of
// wgmma_gemm.cuh for the product with m = n * p * q, n = k, batch = 1, ldd = k,
// B transposed. `split` is at most the number of steps: r * s * ceil(c / 64),
// or fewer in the cases below. Tensor maps, swizzled by 128 bytes:
//
//   x   im2col, dims c, w, h, n; element strides 1, strideW, strideH, 1;
//       lower corner -padLeft, -padTop (w before h);
//       upper corner (q - 1) * strideW - padLeft + 1 - w,
//                    (p - 1) * strideH - padTop + 1 - h;
//       channels 64, pixels tileM
//   w   tiled, dims c, r * s, k; box 64, 1, tileN / cluster
//
// If c is 16 or 32, and r * s * c a multiple of 64, a step covers 64 / c taps:
//
//   x   with c channels, swizzled by 2 * c bytes
//   w   dims r * s * c, 1, k
//
// If s taps make up a step and rows of taps never leave x on the left or right
// (padLeft 0, strideW and dilationW 1, q + s - 1 at most w), TMA reads each row
// of taps as if it were a pixel; these pixels overlap:
//
//   x   dims 64, w - s + 1, h, n, but strides c, w * c, h * w * c; width of
//       lower corner 0, of upper corner q + s - 1 - w
//   w   as before
//
//   y   tiled, dims k, n * p * q, 1; box 128 / sizeof(D), 16, 1
//   R   as y
//
// Corners are in [-128, 127]. A 1 × 1 convolution with stride 1 and no padding
// is a plain product.
//
// It can compute the moments of y's columns (column_moments.cuh).
//
// The sum of two convolutions with the same output pixels and filters, conv(x,
// w) + conv(x2, w2), is computed like one convolution with the taps of both. A
// struct that derives from P describes the second, with its own c, h, w, r, s,
// strides, dilations and pads. Neither may have several taps per step. Its maps
// follow those of the first.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_CONTRACTION_WGMMA_CONV_CUH
#define FRIT_CODEGEN_CUDA_CONTRACTION_WGMMA_CONV_CUH

#include "frit/wgmma_tile.cuh"

#ifdef FRIT_HAS_WGMMA

namespace frit {

/// The product that computes a convolution.
template <class P> struct WgmmaConvProduct {
  using A = typename P::T;
  using B = typename P::T;
  using D = typename P::D;
  using Bias = typename P::Bias;
  using Epilogue = typename P::Epilogue;
  static constexpr int64_t m = int64_t(P::n) * P::p * P::q, n = P::k;
  static constexpr int64_t batch = 1, ldd = P::k, strideD = 0;
  static constexpr bool transposeA = false, transposeB = true;
  static constexpr int tileM = P::tileM, tileN = P::tileN, stages = P::stages;
  static constexpr int cluster = P::cluster, split = P::split;
  static constexpr int blocks = P::blocks, raster = P::raster;
  static constexpr bool pingPong = P::pingPong;
  static constexpr bool constantB = P::constantB;
  using Reduce = ReduceOf<P>;
};

/// Whether a step is a row of taps that TMA reads as one pixel.
template <class P>
inline constexpr bool kWgmmaReadsRows =
    P::s > 1 && P::s *P::c == kWgmmaDepth &&P::padLeft == 0 &&
    P::strideW == 1 && P::dilationW == 1 && P::q + P::s - 1 <= P::w;

/// Taps per step: several if they have few channels and fill it exactly.
template <class P>
inline constexpr int kWgmmaStepTaps =
    (P::c == 16 || P::c == 32) && P::r * P::s * P::c % kWgmmaDepth == 0
        ? kWgmmaDepth / P::c
        : 1;

/// Operands of a convolution, in steps of 64: channels of one tap, or all
/// channels of several taps.
template <class P> struct WgmmaTaps {
  static constexpr int taps = kWgmmaStepTaps<P>;
  static constexpr int parts = wgmmaCeil(P::c, kWgmmaDepth);
  static constexpr int steps = P::r * P::s / taps * parts;
  /// TMA copies of x per step, each of some of the taps.
  static constexpr int copies = kWgmmaReadsRows<P> ? 1 : taps;
  static constexpr int lineBytesA = 128 / copies;
  const TensorMap *mapX, *mapW;

  __device__ void loadA(unsigned char *to, Barrier &barrier,
                        const WgmmaTile &tile, int step) const {
    int first = step / parts * taps, line = tile.m / P::q;
#pragma unroll
    for (int i = 0; i < copies; ++i) {
      int tap = first + i;
      loadPixels(to + i * P::tileM * lineBytesA, mapX, barrier,
                 step % parts * kWgmmaDepth,
                 tile.m % P::q * P::strideW - P::padLeft,
                 line % P::p * P::strideH - P::padTop, line / P::p,
                 tap % P::s * P::dilationW, tap / P::s * P::dilationH);
    }
  }

  __device__ void loadB(unsigned char *to, Barrier &barrier,
                        const WgmmaTile &tile, int step, int rank) const {
    // Filters with few channels are stored as one tap with all of them.
    const int channel = (taps > 1 ? step : step % parts) * kWgmmaDepth;
    const int tap = taps > 1 ? 0 : step / parts;
    constexpr int part = P::tileN / P::cluster;
    const int first = P::cluster > 1 ? rowsOfBlock<P>(rank) * part : 0;
    if constexpr (P::cluster > 1)
      loadBoxInto(sharersOfBlock<P>(rank), to + first * 128, mapW, barrier,
                  channel, tap, tile.n + first);
    else
      loadBox(to, mapW, barrier, channel, tap, tile.n);
  }
};

/// Computes the whole convolution; pass null for an absent bias, residual or
/// map.
template <class P>
__device__ inline void
wgmmaConv(const TensorMap *mapX, const TensorMap *mapW, const TensorMap *mapY,
          const TensorMap *mapR, const typename P::Bias *bias,
          const typename P::D *r, typename P::D *y, EndOperands end = {}) {
  WgmmaTaps<P> operands = {mapX, mapW};
  if (threadIdx.x == 0)
    prefetchMap(mapW);
  if (threadIdx.x == 32)
    prefetchMap(mapX);
  wgmmaProduct<WgmmaConvProduct<P>>(operands, mapY, mapR, bias, r, y, end);
}

/// Computes the sum of two convolutions and an optional bias.
template <class P, class Q>
__device__ inline void wgmmaConvSum(
    const TensorMap *mapX, const TensorMap *mapW, const TensorMap *mapX2,
    const TensorMap *mapW2, const TensorMap *mapY, const TensorMap *mapR,
    const typename P::Bias *bias, const typename P::D *r, typename P::D *y) {
  static_assert(kWgmmaStepTaps<P> == 1 && kWgmmaStepTaps<Q> == 1);
  OperandsOfBoth<WgmmaTaps<P>, WgmmaTaps<Q>> operands = {{mapX, mapW},
                                                         {mapX2, mapW2}};
  if (threadIdx.x == 0)
    prefetchMap(mapW);
  if (threadIdx.x == 32)
    prefetchMap(mapX);
  wgmmaProduct<WgmmaConvProduct<P>>(operands, mapY, mapR, bias, r, y);
}

} // namespace frit

#else

// Without WGMMA, convFloor computes the same problems.
#include "frit/conv.cuh"

#endif

#endif // FRIT_CODEGEN_CUDA_CONTRACTION_WGMMA_CONV_CUH
