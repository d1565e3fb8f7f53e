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
// Other channels that are no multiple of 128 leave a part of each tap's last
// step empty: there x is 0, and w has any bytes, also of the next tap.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_INTEGER_WGMMA_BYTES_CUH
#define FRIT_CODEGEN_CUDA_INTEGER_WGMMA_BYTES_CUH

#include "frit/integer_gemm.cuh"
#include "frit/wgmma_tile.cuh"

namespace frit {

#ifdef FRIT_HAS_WGMMA

/// Steps of k in a stage: the bytes of a line.
inline constexpr int kByteDepth = kLineBytes;

/// Bytes of an element that the end reads through boxes, and of one that it
/// stores through them; 0 if it does not.
template <class P, int Bytes>
inline constexpr int kByteBoxed =
    P::kVector == 8 && P::split == 1 && Bytes <= 2 &&
            P::tileN * Bytes % kLineBytes == 0
        ? Bytes
        : 0;
template <class P> inline constexpr int kByteBoxRead = 0;
template <class P>
  requires requires { P::boxed; }
inline constexpr int kByteBoxRead<P> = kByteBoxed<P, P::boxed>;
template <class P> inline constexpr int kByteBoxStored = 0;
template <class P>
  requires requires { typename P::Stored; }
inline constexpr int kByteBoxStored<P> =
    kByteBoxRead<P> == 0 || kByteBoxRead<P> == int(sizeof(typename P::Stored))
        ? kByteBoxed<P, int(sizeof(typename P::Stored))>
        : 0;

/// The product that computes a convolution P.
template <class P> struct ByteProduct {
  using Bytes = P;
  static constexpr bool hasBoxes = kByteBoxRead<P> || kByteBoxStored<P>;
  using D = unsigned char;
  static constexpr int64_t m = int64_t(P::n) * P::p * P::q, n = P::k;
  static constexpr int64_t batch = 1, ldd = P::k, strideD = 0;
  static constexpr bool transposeA = false, transposeB = true;
  static constexpr int tileM = P::tileM, tileN = P::tileN, stages = P::stages;
  static constexpr int cluster = P::cluster, split = P::split;
  static constexpr int blocks = P::blocks, raster = P::raster;
  static constexpr bool pingPong = P::pingPong;
  static constexpr bool constantB = P::early;
};

template <class P>
  requires kMultipliesBytes<P>
struct WgmmaElements<P> {
  using Bytes = typename P::Bytes;
  using Sum = typename ByteSumOf<Bytes>::Type;

  template <bool AlongA, bool AlongB>
  __device__ static void multiply(Sum (&sums)[P::tileN / 2], uint64_t a,
                                  uint64_t b, bool accumulate) {
    static_assert(AlongA && AlongB);
    if constexpr (kHasFloats<Bytes>)
      WgmmaBytes<P::tileN>::template multiplyFloats<Bytes::floatX,
                                                    Bytes::floatW>(sums, a, b,
                                                                   accumulate);
    else
      WgmmaBytes<P::tileN>::template multiplyBytes<Bytes::signedX,
                                                   Bytes::signedW>(sums, a, b,
                                                                   accumulate);
  }
};

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
    if constexpr (P::cluster > 1)
      loadBoxInto((1 << P::cluster) - 1, to + rank * part * kByteDepth, mapW,
                  barrier, at, 0, 0, 0, (tile.n + rank * part) / 32);
    else
      loadBox(to, mapW, barrier, at, 0, 0, 0, tile.n / 32);
  }
};

/// Stores one warp's part of a block's tiles: 16 rows of each 64 that its
/// warpgroup multiplies. What the end reads comes into boxes by TMA, for later
/// tiles, too, and what it stores leaves in them; or else threads load before
/// the warpgroup multiplies, and store.
template <class P> struct ByteStore {
  using Product = ByteProduct<P>;
  using Plan = WgmmaPlan<Product>;
  using Sum = typename WgmmaElements<Product>::Sum;
  static constexpr int kCount = Plan::kUnitN / 8;
  static constexpr bool kReads = kByteBoxRead<P> > 0,
                        kStores = kByteBoxStored<P> > 0;
  // Of boxes, 32 bytes of a thread are read ahead.
  using End =
      SumEnd<SumPlaces<Plan::kRowBlocks, 64, kCount, 4, kReads ? 32 : 128>, P>;
  struct IsMine {
    __device__ bool operator()(int, int, int) const { return true; }
  };
  /// Bytes of an element, columns of a box, steps of the end that boxes of the
  /// same columns serve, and boxes of a tile.
  static constexpr int kBytes = kReads    ? kByteBoxRead<P>
                                : kStores ? kByteBoxStored<P>
                                          : 1;
  static constexpr int kBoxN = kLineBytes / kBytes;
  static constexpr int kBoxSteps = kBoxN / 32 * End::kParts * End::kRows;
  static constexpr int kBoxes = P::tileN / kBoxN * Plan::kRowBlocks;
  /// Boxes by which loads stay behind, so that they need not wait for the store
  /// of the box just left.
  static constexpr int kBehind =
      kStores && Plan::kSlots >= 2 * Plan::kRowBlocks ? Plan::kRowBlocks : 0;

  const P &problem;
  const TensorMap *mapR, *mapY;
  unsigned char *slots;
  Barrier *filled;
  float *told;
  End sumEnd = {problem};
  /// The current tile's number, the step to the next one, and the warp's row.
  int index = 0, step = 0, row = 0;
  /// Boxes of earlier tiles.
  int boxes = 0;

  __device__ void follow(int number, int between, int from) {
    index = number;
    step = between;
    row = from;
  }
  __device__ unsigned char *boxAt(int box) const {
    return slots + (boxes + box) % Plan::kSlots * kBoxBytes;
  }
  /// Starts loading a box, counted from the current tile's first one, by one
  /// lane. Those of the same columns follow each other.
  __device__ void fetch(int box) {
    const int number = index + box / kBoxes * step, i = box % kBoxes;
    if (number >= Plan::kTiles)
      return;
    const WgmmaTile tile = Plan::tileAt(number, blockIdx.x % Plan::kCluster);
    Barrier &barrier = filled[(boxes + box) % Plan::kSlots];
    barrier.arriveExpecting(kBoxBytes);
    loadBox(boxAt(box), mapR, barrier, tile.n + i / Plan::kRowBlocks * kBoxN,
            tile.m + i % Plan::kRowBlocks * 64 + row);
  }

  __device__ void begin(const WgmmaTile &tile) {
    if constexpr (kReads) {
      if (boxes == 0 && threadIdx.x % 32 == 0)
#pragma unroll
        for (int box = 0; box < Plan::kSlots - kBehind; ++box)
          fetch(box);
      sumEnd.begin(tile.m, tile.n, int(Product::m));
    } else {
      sumEnd.begin(tile.m, tile.n, int(Product::m), IsMine());
    }
  }

  /// Returns the first of the boxes of a step of the end.
  __device__ static constexpr int boxOf(int step) {
    return step / kBoxSteps * Plan::kRowBlocks;
  }
  /// Returns the place of the thread's elements of a step.
  __device__ unsigned char *placeOf(int step) const {
    const int row = step % 2 * 8 + threadIdx.x % 32 / 4;
    const int byte = (sumEnd.colOf(step) - sumEnd.firstCol) * kBytes % 128;
    const WgmmaBox box = {boxAt(boxOf(step) + step % End::kRows / 2)};
    return box.pieceOf(row, byte / 16) + byte % 16;
  }
  __device__ void read(int step) {
    if constexpr (kReads)
      sumEnd.ahead[step % End::kAhead] = problem.boxedElements(placeOf(step));
    else
      sumEnd.load(step, IsMine());
  }
  __device__ void enter(int step) {
    if constexpr (kReads) {
#pragma unroll
      for (int i = 0; i < Plan::kRowBlocks; ++i) {
        const int box = boxes + boxOf(step) + i;
        filled[box % Plan::kSlots].wait(box / Plan::kSlots % 2);
      }
#pragma unroll
      for (int i = 0; i < End::kAhead; ++i)
        read(step + i);
    } else {
      if (threadIdx.x % 32 == 0)
        waitStores<Plan::kSlots / Plan::kRowBlocks - 1>();
      __syncwarp();
    }
  }
  /// Stores boxes that are complete, and loads later ones into those that all
  /// lanes have read.
  __device__ void leave(int step) {
    if constexpr (kStores)
      fenceAsync();
    __syncwarp();
    if (threadIdx.x % 32 != 0)
      return;
    if constexpr (kStores) {
#pragma unroll
      for (int i = 0; i < Plan::kRowBlocks; ++i)
        storeBox(mapY, boxAt(boxOf(step) + i),
                 sumEnd.firstCol + step / kBoxSteps * kBoxN,
                 sumEnd.firstRow + i * 64);
      commitStores();
    }
    if constexpr (kReads) {
      if constexpr (kStores)
        waitStores<kBehind ? 1 : 0>();
#pragma unroll
      for (int i = 0; i < Plan::kRowBlocks; ++i)
        fetch(boxOf(step) + i + Plan::kSlots - kBehind);
    }
  }

  __device__ void end(const Sum (&sums)[Plan::kRowBlocks][P::tileN / 2],
                      int part = 0) {
    auto sumAt = [&](int i, int j, int c) {
      return sums[i][(part * kCount + j) * 4 + c];
    };
    if constexpr (kReads || kStores) {
      // Without boxes to read, loads go on from one box to the next.
      sumEnd.template end<kBoxSteps, kReads>(
          sumAt, IsMine(), [&](int step) { enter(step); },
          [&](int step) { read(step); },
          [&](int step, int row, int col, const auto &mine, const auto &columns,
              const auto &elements) {
            if constexpr (kStores)
              problem.storeTo(
                  mine, columns, elements, row, col, true,
                  reinterpret_cast<typename P::Stored *>(placeOf(step)));
            else
              problem.store(mine, columns, elements, row, col,
                            col < P::k && row < sumEnd.rows);
          },
          [&](int step) { leave(step); });
      boxes += kBoxes;
    } else {
      sumEnd.end(sumAt, IsMine());
    }
  }
  __device__ static void drain() {
    if (kStores && threadIdx.x % 32 == 0)
      waitStores<0>();
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
  wgmmaTiles<ByteProduct<P>, ByteStore<P>>(operands, end, mapR, mapY);
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
