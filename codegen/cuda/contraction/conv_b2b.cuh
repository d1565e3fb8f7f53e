//===- conv_b2b.cuh - Back-to-back convolutions on sm_90a -----------------===//
//
// y = last(epilogue(conv(x, w) + bias) · v + lastBias + R) in channels-last f16
// or bf16: a convolution and the pointwise one that follows. The intermediate
// result never leaves the SM: the first product's accumulators, rounded to T,
// are the second one's operand in registers.
//
// A block walks down the rows of y, 64 pixels of a row at a time. Both filters
// stay in shared memory, and so do the rows of x that a row of y needs: each
// tap multiplies the same pixels at another start address. So x is read once,
// while an implicit GEMM reads it once per tap.
//
// The problem is a struct of constants: conv.cuh's for the first convolution,
// with a few more:
//
//   struct P {
//     using T = frit::f16;                          // of x, w, v
//     using D = frit::f16;                          // of y and R
//     using Bias = frit::f16, LastBias = frit::f16;
//     static constexpr int n, c, h, w;              // x; c at most 64
//     static constexpr int k, r, s;                 // k is 64 or 128
//     static constexpr int p, q;                    // y's height and width
//     static constexpr int strideH, strideW, dilationH, dilationW;  // 1
//     static constexpr int padTop, padLeft;
//     static constexpr int filters;                 // of v
//     using Epilogue = frit::Relu, Last = frit::Relu;  // see tile.cuh
//     static constexpr int warpgroups;              // that alternate: 2, 3
//     static constexpr int stages;                  // rows of x, above r
//     static constexpr int slots;                   // 1, 2, 4, ...
//     static constexpr int columns;                 // 64 or 128
//     static constexpr bool constantB;              // no kernel writes w, v
//   };
//
// `columns` columns of v are multiplied at a time; `filters` is a multiple of
// that. Kernels are launched with
//
//   threads = 128 * warpgroups + 32
//   pixels  = min(q, 64) + s - 1, at most 256
//   row     = pixels * 128, rounded up to a multiple of 1024
//   shared  = stages * row + (k * r * s + k / 64 * filters +
//             64 * warpgroups * slots) * 128 + 512
//   tiles   = n * p * ceil(q / 64)
//   grid.x  = at most tiles; a block per SM is enough
//
// `shared` is at most maxSharedBytes(1). Tensor maps, swizzled by 128 bytes:
//
//   x   tiled, dims c, w, h, n; box 64, pixels, 1, 1
//   w   tiled, dims c, r * s, k; box 64, 1, k
//   v   tiled, dims k, filters, 1; box 64, 64, 1
//   y   tiled, dims filters, q, n * p; box 128 / sizeof(D), 16, 1
//   R   as y
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_CONTRACTION_CONV_B2B_CUH
#define FRIT_CODEGEN_CUDA_CONTRACTION_CONV_B2B_CUH

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

/// State that all roles of a block share.
template <class P> struct ConvB2bBlock {
  using T = typename P::T;
  using Second = ConvB2bSecond<P>;
  using Store = WgmmaStore<Second>;
  /// A warpgroup's accumulators of the first product, and the same as an
  /// operand of the second.
  using Sums = float[P::k / 2];
  using Operand = uint32_t[P::k / 16][4];
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
  // The thread that loads
  //===--------------------------------------------------------------------===//

  /// Load the taps together with the first rows of x that use them.
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

  //===--------------------------------------------------------------------===//
  // A warpgroup
  //===--------------------------------------------------------------------===//

  /// Waits for the products that accumulate into `sums`.
  template <int Size>
  __device__ static void finishProducts(float (&sums)[Size]) {
    waitProducts<0>();
#pragma unroll
    for (int i = 0; i < Size; ++i)
      keepBelow(sums[i]);
  }

  /// Computes the first product. The swizzle depends on addresses, so an
  /// operand may begin at any pixel of a row.
  __device__ void multiplyPixels(Sums &sums, const ConvB2bTile &tile) {
    for (int row = 0; row < P::r; ++row) {
      const int at = tile.firstRow + row, stage = at % P::stages;
      full[stage].wait(at / P::stages % 2);
      uint64_t a = describeOperand<true>(shared + stage * kStageBytes);
      uint64_t b =
          describeOperand<true>(shared + kFiltersAt + row * P::s * kTapBytes);
      fenceProducts();
#pragma unroll
      for (int tap = 0; tap < P::s; ++tap)
#pragma unroll
        for (int i = 0; i < 4; ++i)
          Wgmma<P::k>::template multiply<T, true, true>(
              sums, a + tap * (128 / 16) + i * kNextSteps<true>,
              b + tap * (kTapBytes / 16) + i * kNextSteps<true>,
              row > 0 || tap > 0 || i > 0);
      commitProducts();
    }
    finishProducts(sums);
  }

  /// Releases the rows of a tile that no later tile needs, and lets the next
  /// warpgroup start; earlier warpgroups have finished reading.
  __device__ void release(const ConvB2bTile &tile, int group) {
    if (threadIdx.x % 32 != 0)
      return;
    order[(group + 1) % P::warpgroups].arrive();
    for (int row = 0; row < (tile.isLast ? P::r : 1); ++row)
      empty[(tile.firstRow + row) % P::stages].arrive();
  }

  /// Finishes the first product: packs two neighbours of a row into a word.
  template <class Columns>
  __device__ static void endPixels(Operand &operand, const Sums &sums,
                                   const Columns &biases, bool isBiased) {
    using Epilogue = typename P::Epilogue;
#pragma unroll
    for (int group = 0; group < P::k / 8; ++group) {
      constexpr float none = kNothing<float>;
      float offsets[2] = {none, none};
      if (isBiased)
        biases.give(offsets, group);
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        float pair[2];
#pragma unroll
        for (int i = 0; i < 2; ++i)
          pair[i] =
              finish<Epilogue>(sums[group * 4 + h * 2 + i], offsets[i], none);
        Two<T> two;
        two.close(pair);
        operand[group / 2][group % 2 * 2 + h] = two.both;
      }
    }
  }

  /// Computes tileN columns of the second product, from `first` on.
  __device__ void multiplyMiddle(float (&sums)[Second::tileN / 2],
                                 const Operand &operand, int first) {
    fenceProducts();
#pragma unroll
    for (int i = 0; i < P::k / 16; ++i) {
      uint64_t b = describeOperand<true>(shared + kLastAt +
                                         (i / 4 * P::filters + first) * 128);
      Wgmma<Second::tileN>::template multiply<T, true>(
          sums, operand[i], b + i % 4 * kNextSteps<true>, i > 0);
    }
    commitProducts();
    finishProducts(sums);
  }

  /// Computes and stores all columns of a tile, box by box.
  __device__ void endTile(Store &store, const Operand &operand) {
    constexpr int kBoxN = WgmmaPlan<Second>::kBoxN;
    constexpr RowNorm noNorms[1][2] = {};
#pragma unroll
    for (int first = 0; first < P::filters; first += Second::tileN) {
      typename Store::Sums sums;
      multiplyMiddle(sums[0], operand, first);
      if (store.live > 0)
#pragma unroll
        for (int i = 0; i < Second::tileN / kBoxN; ++i)
          store.endBoxes(sums, noNorms, 0, first / kBoxN + i, -first / 8);
    }
    store.boxes += store.count();
  }
};

/// Computes both convolutions; pass null for an absent bias or residual.
template <class P>
__device__ inline void
convB2b(const TensorMap *mapX, const TensorMap *mapW, const TensorMap *mapV,
        const TensorMap *mapY, const TensorMap *mapR,
        const typename P::Bias *bias, const typename P::LastBias *lastBias,
        const typename P::D *r, typename P::D *y) {
  using Block = ConvB2bBlock<P>;
  const int warp = __shfl_sync(0xffffffff, int(threadIdx.x) / 32, 0);
  if (threadIdx.x == 0)
    prefetchMap(mapW);
  if (threadIdx.x == 32)
    prefetchMap(mapX);
  Block block;
  block.initBarriers();
  pdlTrigger();
  if (warp == Block::kWarps) {
    if (threadIdx.x % 32 == 0)
      block.produce(mapX, mapW, mapV);
    return;
  }
  pdlWait();
  const int group = warp / 4;
  int ownTiles = 0;
  WgmmaColumns<ConvB2bFirst<P>, typename P::Bias> biases;
  if (bias)
    biases.read(bias, 0);
  typename Block::Store store = {mapY,
                                 mapR,
                                 lastBias,
                                 r,
                                 y,
                                 block.shared + Block::kBoxesAt +
                                     warp * Block::kWarpBytes,
                                 block.filled + warp * P::slots,
                                 {}};
  block.lastFull->wait(0);
  for (int index = block.firstTile + group; index < block.lastTile;
       index += P::warpgroups) {
    const ConvB2bTile tile = block.tileAt(index);
    store.begin({tile.col + warp % 4 * 16, 0, tile.image * P::p + tile.row});
    typename Block::Sums sums;
    typename Block::Operand operand;
    // Warpgroups alternate, also because a barrier cannot tell phases apart
    // that are two or more behind.
    block.order[group].wait(((group == 0) + ownTiles++) % 2);
    block.multiplyPixels(sums, tile);
    block.release(tile, group);
    block.endPixels(operand, sums, biases, bias);
    block.endTile(store, operand);
  }
  // Shared memory must outlive the stores that read it.
  if (threadIdx.x % 32 == 0)
    waitStores<0>();
  __syncwarp();
}

} // namespace frit

#else

// Without WGMMA, convB2bFloor computes the same problems.
#include "frit/b2b.cuh"

#endif

#endif // FRIT_CODEGEN_CUDA_CONTRACTION_CONV_B2B_CUH
