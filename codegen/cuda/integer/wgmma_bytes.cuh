//===- wgmma_bytes.cuh - Products and convolutions of bytes on sm_90a -----===//
//
// y = end(conv(x, w)) of signed or unsigned bytes or 8-bit floats, channels
// last, by the main loop of wgmma_tile.cuh: TMA, WGMMA, a producer warp, tiles
// in turn. The problem is integer_gemm.cuh's struct with other numbers of the
// tile, those of wgmma_gemm.cuh:
//
//   struct P {
//     // Sizes, types, `early`, and the end as in integer_gemm.cuh.
//     static constexpr int tileM, tileN, stages, cluster, split, blocks,
//     raster; static constexpr bool pingPong;
//   };
//
// for the product with m = n * p * q, n = k and B transposed. k is a multiple
// of 32, c of 16, zero points are 0, and padding is 0. kVector is 1, 2, 4 or 8.
// The launch is that of wgmma_gemm.cuh, with passesBoxes in the WgmmaLayout if
// the end has boxes. A step of k has 128 bytes.
//
// Threads store the result from registers. TMA deals the filters out to the
// columns of a tile (integer_end.cuh): of 32 filters, bits 1 and 2 of the
// number change places with bits 3 and 4. Tensor maps, with lines swizzled by
// 128 bytes:
//
//   w   tiled, dims r * s * c, 2, 4, 4, k / 32
//       strides 1, 8, 2, 32 filters; box 128, 2, 4, 4, tileN / cluster / 32
//   x   of a product of matrices or a 1 x 1 convolution with stride 1 and no
//       padding: tiled, dims c, m; box 128, tileM
//       else im2col as in wgmma_conv.cuh; channels 128, pixels tileM
//
// If c is 32 or 64 and there are several taps, a step covers 128 / c taps; x is
// then copied by c channels, swizzled by c bytes.
//
// If the s taps of a row have 32, 64 or 128 bytes and never leave x on the left
// or right, TMA reads a row as a pixel of s * c channels, as in wgmma_conv.cuh:
//
//   x   dims s * c, w - s + 1, h, n, but strides c, w * c, h * w * c
//
// What the end reads for each sum may come through boxes in shared memory: P
// says `static constexpr int boxed`, an element's bytes, 1 or 2, and has
//
//   Elements boxedElements(const unsigned char *at) const;
//
// of kVector elements at `at`. Its only result leaves through boxes if P has
// `Stored`, its type of 1 or 2 bytes, those of `boxed` if P has that, and
// storeTo, like `store` with the place to store to as one more argument. Both
// need kVector 8, split 1, and tileN elements of a multiple of 128 bytes. Maps:
//
//   r, y   tiled, dims k, m; box 128 / (bytes of an element), 16
//
// The end reads scales and biases of columns from shared memory if P has these
// members, which pays if a block has several tiles, or a large one:
//
//     static constexpr int columnsKept;  // k, or tileN if all tiles of a block
//                                        // have the same columns
//     static constexpr int columnBytes;  // their bytes, also of
//     byte_pair.cuh's
//                                        // other end; in the WgmmaLayout, too
//
// Other channels that are no multiple of 128 leave a part of each tap's last
// step empty: there x is 0, and w has any bytes, also of the next tap.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_INTEGER_WGMMA_BYTES_CUH
#define FRIT_CODEGEN_CUDA_INTEGER_WGMMA_BYTES_CUH

#include "frit/byte_store.cuh"

namespace frit {

#ifdef FRIT_HAS_WGMMA

/// Steps of k in a stage: the bytes of a line.
inline constexpr int kByteDepth = kLineBytes;

/// Whether P is a product of matrices: the pixels of y are those of x.
template <class P>
inline constexpr bool kIsByteProduct =
    P::r * P::s == 1 && P::strideH == 1 && P::strideW == 1 && P::padTop == 0 &&
    P::padLeft == 0 && P::p == P::h && P::q == P::w;

/// Whether TMA reads each row of taps as if it were a pixel.
template <class P>
inline constexpr bool kReadsByteRows =
    P::s > 1 &&
    (P::s * P::c == 32 || P::s * P::c == 64 || P::s * P::c == 128) &&
    P::padLeft == 0 && P::strideW == 1 && P::dilationW == 1 &&
    P::q + P::s - 1 <= P::w;

/// Operands of a product, in steps of 128 bytes: channels of one tap, or all
/// channels of several taps.
template <class P> struct ByteOperands {
  /// Channels, and columns and number of taps, as TMA reads them.
  static constexpr bool kReadsRows = kReadsByteRows<P>;
  static constexpr int c = kReadsRows ? P::s * P::c : P::c;
  static constexpr int s = kReadsRows ? 1 : P::s, all = P::r * s;
  static constexpr bool kSharesSteps = P::r * P::s > 1 && (c == 32 || c == 64);
  static constexpr int taps = kSharesSteps ? kByteDepth / c : 1;
  static constexpr int parts = wgmmaCeil(c, kByteDepth);
  static constexpr int steps = wgmmaCeil(all, taps) * parts;
  static constexpr int lineBytesA = kByteDepth / taps;
  static_assert(P::c % 16 == 0 && P::k % 32 == 0);
  const TensorMap *mapX, *mapW;

  __device__ void loadA(unsigned char *to, Barrier &barrier,
                        const WgmmaTile &tile, int step) const {
    if constexpr (kIsByteProduct<P>) {
      loadBox(to, mapX, barrier, step * kByteDepth, tile.m);
    } else {
      const int first = step / parts * taps, line = tile.m / P::q;
#pragma unroll
      for (int i = 0; i < taps; ++i) {
        const int tap = first + i;
        // After the last tap there are channels that x does not have: zeros.
        const bool isOver = all % taps && tap >= all;
        loadPixels(to + i * P::tileM * lineBytesA, mapX, barrier,
                   isOver ? c : step % parts * kByteDepth,
                   tile.m % P::q * P::strideW - P::padLeft,
                   line % P::p * P::strideH - P::padTop, line / P::p,
                   isOver ? 0 : tap % s * P::dilationW,
                   isOver ? 0 : tap / s * P::dilationH);
      }
    }
  }

  /// Loads w. Blocks that share it each multicast a part of it to all of them.
  __device__ void loadB(unsigned char *to, Barrier &barrier,
                        const WgmmaTile &tile, int step, int rank) const {
    const int at = taps > 1 ? step * kByteDepth
                            : step / parts * c + step % parts * kByteDepth;
    constexpr int part = P::tileN / P::cluster;
    static_assert(part % 32 == 0);
    const int first = P::cluster > 1 ? rowsOfBlock<P>(rank) * part : 0;
    if constexpr (P::cluster > 1)
      loadBoxInto(sharersOfBlock<P>(rank), to + first * kByteDepth, mapW,
                  barrier, at, 0, 0, 0, (tile.n + first) / 32);
    else
      loadBox(to, mapW, barrier, at, 0, 0, 0, tile.n / 32);
  }
};

/// Computes the whole product. `mapR` and `mapY` are the maps of what P's end
/// reads and stores through boxes.
template <class P>
__device__ inline void
wgmmaBytes(const P &end, const TensorMap *mapX, const TensorMap *mapW,
           const TensorMap *mapR = nullptr, const TensorMap *mapY = nullptr) {
  ByteOperands<P> operands = {mapX, mapW};
  if (threadIdx.x == 0)
    prefetchMap(mapW);
  if (threadIdx.x == 32)
    prefetchMap(mapX);
  wgmmaTiles<ByteProduct<P>, ByteStore<P>>(operands, end, Alone{}, mapR, mapY);
}

#else

/// P with the tiles of four warps.
template <class P> struct ByteFloor : P {
  static constexpr int tileM = 64, tileN = 64, warpM = 32, warpN = 32;
  static constexpr int depth = 64, stages = 2, split = 1, cluster = 1;
  static constexpr bool wgmma = false;
};

/// Computes the whole product without WGMMA, in any grid of blocks of 128
/// threads or more.
template <class P>
__device__ inline void byteFloor(const P &end, const void *x, const void *w,
                                 const void *xZero = nullptr,
                                 const void *wZero = nullptr) {
  using Q = ByteFloor<P>;
  using Operands = IntegerOperands<Q>;
  __shared__ __align__(
      128) unsigned char stages[Q::stages * IntegerPlan<Q>::kStageBytes];
  if (threadIdx.x >= IntegerPlan<Q>::kThreads)
    return;
  for (int tile = blockIdx.x; tile < Operands::kTilesM * Operands::kTilesN;
       tile += gridDim.x) {
    integerTile(Q{end}, x, w, xZero, wZero, stages, tile);
    // The next tile's copies overwrite the stages.
    __syncthreads();
  }
}

#endif

} // namespace frit

#endif // FRIT_CODEGEN_CUDA_INTEGER_WGMMA_BYTES_CUH
