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

#ifndef FRIT_CODEGEN_CUDA_CONVOLUTION_CONV_B2B_CUH
#define FRIT_CODEGEN_CUDA_CONVOLUTION_CONV_B2B_CUH

#include "frit/conv_b2b_block.cuh"

#ifdef FRIT_HAS_WGMMA

namespace frit {

/// A consumer warpgroup, which computes every tile of its turn.
template <class P> struct ConvB2bWarpgroup {
  using T = typename P::T;
  using Second = ConvB2bSecond<P>;
  using Store = WgmmaStore<Second>;
  /// The accumulators of the first product, and the same as an operand of the
  /// second.
  using Sums = float[P::k / 2];
  using Operand = uint32_t[P::k / 16][4];
  using Block = ConvB2bBlock<P>;

  const Block &block;
  int group;

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
      block.full[stage].wait(at / P::stages % 2);
      uint64_t a =
          describeOperand<true>(block.shared + stage * Block::kStageBytes);
      uint64_t b = describeOperand<true>(block.shared + Block::kFiltersAt +
                                         row * P::s * Block::kTapBytes);
      fenceProducts();
#pragma unroll
      for (int tap = 0; tap < P::s; ++tap)
#pragma unroll
        for (int i = 0; i < 4; ++i)
          Wgmma<P::k>::template multiply<T, true, true>(
              sums, a + tap * (128 / 16) + i * kNextSteps<true>,
              b + tap * (Block::kTapBytes / 16) + i * kNextSteps<true>,
              row > 0 || tap > 0 || i > 0);
      commitProducts();
    }
    finishProducts(sums);
  }

  /// Releases the rows of a tile that no later tile needs, and lets the next
  /// warpgroup start; earlier warpgroups have finished reading.
  __device__ void release(const ConvB2bTile &tile) {
    if (threadIdx.x % 32 == 0) {
      block.order[(group + 1) % P::warpgroups].arrive();
      for (int row = 0; row < (tile.isLast ? P::r : 1); ++row)
        block.empty[(tile.firstRow + row) % P::stages].arrive();
    }
    __syncwarp();
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
      uint64_t b = describeOperand<true>(block.shared + Block::kLastAt +
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
      RegisterFragment<float, 1, Second::tileN / 8> sums;
      multiplyMiddle(sums.blocks[0], operand, first);
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
  using Warpgroup = ConvB2bWarpgroup<P>;
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
  Warpgroup warpgroup = {block, group};
  int ownTiles = 0;
  WgmmaColumns<ConvB2bFirst<P>, typename P::Bias> biases;
  if (bias)
    biases.read(bias, 0);
  typename Warpgroup::Store store = {mapY,
                                     mapR,
                                     lastBias,
                                     r,
                                     y,
                                     {},
                                     block.shared + Block::kBoxesAt +
                                         warp * Block::kWarpBytes,
                                     block.filled + warp * P::slots};
  block.lastFull->wait(0);
  for (int index = block.firstTile + group; index < block.lastTile;
       index += P::warpgroups) {
    const ConvB2bTile tile = block.tileAt(index);
    store.begin({tile.col + warp % 4 * 16, 0, tile.image * P::p + tile.row});
    typename Warpgroup::Sums sums;
    typename Warpgroup::Operand operand;
    // Warpgroups alternate, also because a barrier cannot tell phases apart
    // that are two or more behind.
    block.order[group].wait(((group == 0) + ownTiles++) % 2);
    warpgroup.multiplyPixels(sums, tile);
    warpgroup.release(tile);
    warpgroup.endPixels(operand, sums, biases, bias);
    warpgroup.endTile(store, operand);
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

#endif // FRIT_CODEGEN_CUDA_CONVOLUTION_CONV_B2B_CUH
