//===- byte_rows.cuh - Convolutions of few channels of bytes on sm_90a ----===//
//
// y = end(conv(x, w)) of signed or unsigned bytes, channels last, of 16, 32 or
// 64 channels. An implicit product asks TMA for each pixel once per tap, which
// takes 3 to 4 cycles, however few bytes it has. Here rows of x lie in shared
// memory, and each tap multiplies the same pixels at another start address.
//
// The problem is integer_gemm.cuh's struct with other numbers of the tile:
//
//   struct P {
//     // Sizes, types, `early`, and the end as in integer_gemm.cuh.
//     static constexpr int stages;                  // tiles of x
//     static constexpr int blocks;                  // per SM
//   };
//
// Strides and dilations are 1, zero points are 0, and padding is 0. k is 32, 64
// or 128, s * c a multiple of 32, q at most 128. kVector is 1, 2, 4 or 8. With
// 16 channels, there is no padding on any side.
//
// A tile has two groups of 64 pixels of a row of y, in two rows if they fit
// into 64 pixels. Each block takes tiles in turn, in a grid of any size:
//
//   threads, shared   those of ByteRowsLayout
//
// Tensor maps:
//
//   w   tiled, dims r * s * c, 2, 4, 4, k / 32, strides 1, 8, 2, 32 filters;
//       box 128, 2, 4, 4, k / 32; lines swizzled by 128 bytes
//   x   unless c is 16: tiled, dims c, w, h, n; box c, q + s - 1, 1, 1; lines
//       swizzled by c bytes
//
// 16 channels are copied without a map, by the row. Eight pixels are then a
// core matrix, and the next 16 bytes of a pixel's taps those of the next pixel.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_INTEGER_BYTE_ROWS_CUH
#define FRIT_CODEGEN_CUDA_INTEGER_BYTE_ROWS_CUH

#include "frit/wgmma_bytes.cuh"

#ifdef FRIT_HAS_WGMMA

namespace frit {

/// The shared memory of a block, its barriers, its tiles, and the thread that
/// loads: the filters once, then the rows of x of each tile. `full` completes a
/// phase when they have arrived, `empty` when both warpgroups have multiplied
/// them.
template <class P> struct ByteRowsBlock {
  static constexpr ByteRowsLayout kLayout = {P::c, P::k, P::r,      P::s,
                                             P::w, P::q, P::stages, P::blocks};
  static constexpr int kStrips = kLayout.strips();
  static constexpr int kTileRows = kLayout.tileRows(), kRows = kLayout.rows();
  static constexpr int kImageTiles = wgmmaCeil(P::p, kTileRows);
  static constexpr int kTiles = P::n * kImageTiles;
  static constexpr int kRowBytes = kLayout.rowBytes();

  static_assert(P::strideH == 1 && P::strideW == 1);
  static_assert(P::dilationH == 1 && P::dilationW == 1);
  static_assert(P::c == 16 || P::c == 32 || P::c == 64);
  static_assert(P::k == 32 || P::k == 64 || P::k == 128);
  static_assert(P::s * P::c % 32 == 0);
  static_assert(P::q <= 128 && kLayout.fits());
  static_assert(!kLayout.isBare() ||
                (P::padTop == 0 && P::padLeft == 0 && P::p + P::r - 1 <= P::h &&
                 P::q + P::s - 1 <= P::w));

  unsigned char *shared;
  Barrier *full, *empty, *filters;

  __device__ explicit ByteRowsBlock(long barriersAt = kLayout.barriersAt()) {
    shared = tensorShared();
    full = reinterpret_cast<Barrier *>(shared + barriersAt);
    empty = full + P::stages;
    filters = empty + P::stages;
  }

  __device__ void initBarriers() {
    if (threadIdx.x == 0) {
      for (int i = 0; i < P::stages; ++i) {
        full[i].init(1);
        empty[i].init(4 * ByteRowsLayout::groups);
      }
      filters->init(1);
      fenceBarrierInit();
    }
    __syncthreads();
  }

  __device__ unsigned char *stageAt(int stage) const {
    return shared + stage * kLayout.stageBytes();
  }

  __device__ void loadFilters(const TensorMap *mapW) {
    filters->arriveExpecting(kLayout.filterBytes());
    for (int i = 0; i < kLayout.lines(); ++i)
      loadBox(shared + kLayout.filtersAt() + i * P::k * kLineBytes, mapW,
              *filters, i * kLineBytes, 0, 0, 0, 0);
  }

  /// Loads the rows of x of a tile.
  __device__ void loadRows(unsigned char *to, Barrier &barrier, int image,
                           int row, const TensorMap *mapX,
                           const unsigned char *x) {
    if constexpr (kLayout.isBare()) {
      const int left = P::h - row, rows = left < kRows ? left : kRows;
      barrier.arriveExpecting(rows * kRowBytes);
      copyInto(/*blocks=*/1, to, x + (int64_t(image) * P::h + row) * kRowBytes,
               rows * kRowBytes, barrier);
    } else {
      barrier.arriveExpecting(kRows * kLayout.lineBytes());
      for (int i = 0; i < kRows; ++i)
        loadBox(to + i * kRowBytes, mapX, barrier, 0, -P::padLeft,
                row + i - P::padTop, image);
    }
  }

  /// Producer thread.
  __device__ void produce(const TensorMap *mapX, const TensorMap *mapW,
                          const unsigned char *x) {
    if constexpr (P::early)
      loadFilters(mapW);
    pdlWait();
    if constexpr (!P::early)
      loadFilters(mapW);
    PipelineState<P::stages> place;
    for (int tile = blockIdx.x; tile < kTiles; tile += gridDim.x) {
      empty[place.stage].wait(place.parity ^ 1);
      loadRows(stageAt(place.stage), full[place.stage], tile / kImageTiles,
               tile % kImageTiles * kTileRows, mapX, x);
      place.advance();
    }
  }
};

/// A consumer warpgroup, which computes its group of pixels of every tile.
template <class P> struct ByteRowsWarpgroup {
  using Block = ByteRowsBlock<P>;
  using Places = SumPlaces<1, 64, P::k / 8, 4, 128>;
  /// A thread has the same columns in every tile. It keeps them, if registers
  /// have room for them beside the sums.
  static constexpr int kParts =
      Places::kCountN / Places::kGroup * (Places::kNeighbours / P::kVector);
  static constexpr bool kKeepsColumns =
      P::k <= 64 && kParts * sizeof(typename P::Columns) <= 192;
  using Source = typename Either<kKeepsColumns, ColumnsInRegisters<P, kParts>,
                                 ColumnsFromMemory<P>>::Type;
  using End = SumEnd<Places, P, Source>;
  struct IsMine {
    __device__ bool operator()(int, int, int) const { return true; }
  };
  using Sums = int[P::k / 2];

  const Block &block;
  int group;

  /// Multiplies a group of pixels by all taps. The swizzle depends on
  /// addresses, so an operand may begin at any pixel.
  __device__ void multiply(Sums &sums, const unsigned char *x) const {
    constexpr int kTaps = P::s * P::c, kSteps = P::r * kTaps / 32;
    uint64_t a = describeOperand<true, P::c>(x);
    uint64_t b =
        describeOperand<true>(block.shared + Block::kLayout.filtersAt());
    fenceProducts();
#pragma unroll
    for (int i = 0; i < kSteps; ++i)
      WgmmaBytes<P::k>::template multiplyBytes<P::signedX, P::signedW>(
          sums, a + (i * 32 / kTaps * Block::kRowBytes + i * 32 % kTaps) / 16,
          b + i / 4 * (P::k * kLineBytes / 16) + i % 4 * 2, i > 0);
    commitProducts();
    waitProducts<0>();
#pragma unroll
    for (int i = 0; i < P::k / 2; ++i)
      keepBelow(sums[i]);
  }

  __device__ void run(const P &problem) const {
    const int strip = group % Block::kStrips, tileRow = group / Block::kStrips;
    const int warpRow = threadIdx.x / 32 % 4 * 16;
    PipelineState<P::stages> place;
    Source source = {};
    if constexpr (kKeepsColumns)
#pragma unroll
      for (int i = 0; i < kParts; ++i)
        source.parts[i] = problem.columns(End{problem}.colOf(i * End::kRows));
    block.filters->wait(0);
    for (int tile = blockIdx.x; tile < Block::kTiles; tile += gridDim.x) {
      const int row = tile % Block::kImageTiles * Block::kTileRows + tileRow;
      // The first pixel of the row of y, and the one after its last.
      const int first = (tile / Block::kImageTiles * P::p + row) * P::q;
      const int end = row < P::p ? first + P::q : first;
      End sumEnd = {problem, source};
      sumEnd.begin(first + strip * ByteRowsLayout::pixels + warpRow, 0, end,
                   IsMine());
      block.full[place.stage].wait(place.parity);
      Sums sums;
      multiply(sums, block.stageAt(place.stage) + tileRow * Block::kRowBytes +
                         strip * ByteRowsLayout::pixels * P::c);
      if (threadIdx.x % 32 == 0)
        block.empty[place.stage].arrive();
      place.advance();
      sumEnd.end([&](int, int j, int c) { return sums[j * 4 + c]; }, IsMine());
    }
  }
};

/// Computes the whole convolution. `mapX` is not read if c is 16.
template <class P>
__device__ inline void byteRows(const P &end, const void *x,
                                const TensorMap *mapW,
                                const TensorMap *mapX = nullptr) {
  using Block = ByteRowsBlock<P>;
  const int warp = __shfl_sync(0xffffffff, int(threadIdx.x) / 32, 0);
  if (threadIdx.x == 0)
    prefetchMap(mapW);
  Block block;
  block.initBarriers();
  pdlTrigger();
  if (warp == 4 * ByteRowsLayout::groups) {
    if (threadIdx.x % 32 == 0)
      block.produce(mapX, mapW, static_cast<const unsigned char *>(x));
    return;
  }
  pdlWait();
  ByteRowsWarpgroup<P>{block, warp / 4}.run(end);
}

} // namespace frit

#endif

#endif // FRIT_CODEGEN_CUDA_INTEGER_BYTE_ROWS_CUH
