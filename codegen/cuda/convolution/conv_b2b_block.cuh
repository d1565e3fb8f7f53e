//===- conv_b2b_block.cuh - A block of conv_b2b.cuh -----------------------===//
//
// The shared memory of a block, its barriers, its tiles, and the thread that
// loads: both filters once, then the rows of x in a ring of `stages`.
//
// Barriers: `full` completes a phase when a row of x has arrived, `empty` when
// a later tile's warpgroup has released it; `lastFull` when v has arrived;
// `order` lets a warpgroup multiply once the one before it has; `filled` is
// that of WgmmaStore.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_CONVOLUTION_CONV_B2B_BLOCK_CUH
#define FRIT_CODEGEN_CUDA_CONVOLUTION_CONV_B2B_BLOCK_CUH

#include "frit/wgmma_tile.cuh"

#ifdef FRIT_HAS_WGMMA

namespace frit {

//===----------------------------------------------------------------------===//
// Parameters for the parts of other kernels
//===----------------------------------------------------------------------===//

/// The columns of the first product.
template <class P> struct ConvB2bFirst {
  static constexpr int64_t n = P::k;
};
template <class P> struct WgmmaPlan<ConvB2bFirst<P>> {
  static constexpr int kUnitN = P::k;
};

/// The second product: a batch of the rows of y, tileN columns at a time.
template <class P> struct ConvB2bSecond {
  using D = typename P::D;
  using Bias = typename P::LastBias;
  using Epilogue = typename P::Last;
  static constexpr int64_t m = P::q, n = P::filters,
                           batch = int64_t(P::n) * P::p;
  static constexpr int64_t ldd = n, strideD = m * n;
  static constexpr int tileN = P::columns;
};
template <class P> struct WgmmaPlan<ConvB2bSecond<P>> {
  static constexpr bool kBoxes = true;
  static constexpr int kBoxN = kLineBytes / int(sizeof(typename P::D));
  static constexpr int kUnitN = P::filters, kRowBlocks = 1;
  static constexpr int kSlots = P::slots;
};

/// Pixels of a row of y, and the position of the rows of x that they need in
/// the sequence that the block loads.
struct ConvB2bTile {
  int image, row, col;
  int firstRow;
  /// Whether the block's next tile shares none of these rows.
  bool isLast;
};

//===----------------------------------------------------------------------===//
// A block
//===----------------------------------------------------------------------===//

/// Shared memory, barriers and tiles of a block, and its producer thread.
template <class P> struct ConvB2bBlock {
  using T = typename P::T;
  static constexpr ConvB2bLayout kLayout = {
      P::k, P::r, P::s, P::q, P::filters, P::warpgroups, P::stages, P::slots};
  static constexpr int kWarps = kLayout.warps();
  /// Tiles along a row of y. A block walks down one column of tiles after the
  /// other.
  static constexpr int kStrips = wgmmaCeil(P::q, 64);
  static constexpr int kTiles = P::n * kStrips * P::p;
  static constexpr int kRowBytes = kLayout.rowBytes();
  static constexpr int kStageBytes = kLayout.stageBytes();
  static constexpr int kTapBytes = kLayout.tapBytes();
  static constexpr int kLastBytes = kLayout.lastBytes();
  static constexpr int kFiltersAt = kLayout.filtersAt();
  static constexpr int kLastAt = kLayout.lastAt();
  static constexpr int kBoxesAt = kLayout.boxesAt();
  static constexpr int kWarpBytes = kLayout.warpBytes();
  static constexpr int kBarriersAt = kLayout.barriersAt();
  static constexpr int kBarriers =
      2 * P::stages + kWarps * P::slots + P::warpgroups + 1;

  static_assert(P::strideH == 1 && P::strideW == 1);
  static_assert(P::dilationH == 1 && P::dilationW == 1);
  static_assert(P::c <= 64 && P::k % 64 == 0 && P::filters % P::columns == 0);
  static_assert(P::stages > P::r && kLayout.pixels() <= 256);
  static_assert(kBarriers * 8 <= kBarrierBytes && kLayout.fits());

  unsigned char *shared;
  Barrier *full, *empty, *filled, *order, *lastFull;
  int firstTile, lastTile;

  __device__ ConvB2bBlock() {
    shared = tensorShared();
    full = reinterpret_cast<Barrier *>(shared + kBarriersAt);
    empty = full + P::stages;
    filled = empty + P::stages;
    order = filled + kWarps * P::slots;
    lastFull = order + P::warpgroups;
    firstTile = int(int64_t(blockIdx.x) * kTiles / gridDim.x);
    lastTile = int(int64_t(blockIdx.x + 1) * kTiles / gridDim.x);
  }

  __device__ void initBarriers() {
    if (threadIdx.x == 0) {
      for (int i = 0; i < P::stages; ++i) {
        full[i].init(1);
        empty[i].init(4);
      }
      for (int i = 0; i < kWarps * P::slots; ++i)
        filled[i].init(1);
      for (int i = 0; i < P::warpgroups; ++i)
        order[i].init(4);
      lastFull->init(1);
      fenceBarrierInit();
    }
    __syncthreads();
  }

  __device__ ConvB2bTile tileAt(int index) const {
    const int strip = index / P::p, row = index % P::p;
    // Every strip loads its own rows at its begin and end.
    const int before = strip - firstTile / P::p;
    return {strip / kStrips, row, strip % kStrips * 64,
            index - firstTile + before * (P::r - 1),
            row + 1 == P::p || index + 1 == lastTile};
  }

  //===--------------------------------------------------------------------===//
  // Producer thread
  //===--------------------------------------------------------------------===//

  /// Loads a row of taps on the barrier of the first row of x that they
  /// multiply.
  __device__ void loadTaps(const TensorMap *mapW, int row) {
    full[row].arriveExpecting(kRowBytes + P::s * kTapBytes);
    for (int tap = row * P::s; tap < (row + 1) * P::s; ++tap)
      loadBox(shared + kFiltersAt + tap * kTapBytes, mapW, full[row], 0, tap,
              0);
  }
  __device__ void loadLast(const TensorMap *mapV) {
    lastFull->arriveExpecting(kLastBytes);
    unsigned char *to = shared + kLastAt;
    for (int k = 0; k < P::k; k += 64)
      for (int n = 0; n < P::filters; n += 64, to += 64 * 128)
        loadBox(to, mapV, *lastFull, k, n, 0);
  }
  __device__ void loadFilters(const TensorMap *mapW, const TensorMap *mapV) {
    for (int row = 0; row < P::r; ++row)
      loadTaps(mapW, row);
    loadLast(mapV);
  }

  __device__ void produce(const TensorMap *mapX, const TensorMap *mapW,
                          const TensorMap *mapV) {
    if constexpr (P::constantB)
      loadFilters(mapW, mapV);
    pdlWait();
    if constexpr (!P::constantB)
      loadFilters(mapW, mapV);
    PipelineState<P::stages> place;
    int withTaps = P::r;
    for (int index = firstTile; index < lastTile;) {
      const ConvB2bTile tile = tileAt(index);
      const int left = lastTile - index, below = P::p - tile.row;
      const int rows = left < below ? left : below;
      for (int row = 0; row < rows + P::r - 1; ++row) {
        Barrier &barrier = full[place.stage];
        if (withTaps > 0) {
          --withTaps;
        } else {
          empty[place.stage].wait(place.parity ^ 1);
          barrier.arriveExpecting(kRowBytes);
        }
        loadBox(shared + place.stage * kStageBytes, mapX, barrier, 0,
                tile.col - P::padLeft, tile.row + row - P::padTop, tile.image);
        place.advance();
      }
      index += rows;
    }
  }
};

} // namespace frit

#endif

#endif // FRIT_CODEGEN_CUDA_CONVOLUTION_CONV_B2B_BLOCK_CUH
