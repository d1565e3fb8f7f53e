//===- wgmma_attention.cuh - Attention on sm_90a --------------------------===//
//
// attention.cuh's problems by TMA and WGMMA, as in FlashAttention-3 (Shah et
// al., arXiv:2407.08608). One thread of a block copies keys and values into a
// ring of pipeline stages. Each warpgroup has 64 rows of queries, whose weights
// never leave its registers. While the tensor cores add one tile's values, the
// warpgroup computes the next tile's weights; warpgroups alternate between the
// two (ping-pong). Blocks are persistent, and copies for a block's next tile
// start while it computes the current one.
//
// P is attention.cuh's without rowsPerWarp, and with
//
//   static constexpr int tileM;       // queries of a block: 64, 128, 192, 256
//   static constexpr int tileN;       // keys of a stage: an N of Wgmma
//   static constexpr int splits;      // warpgroups that share 64 queries and
//                                     // take stages in turn; 1 unless tileM
//                                     // is 64
//   static constexpr int stages;      // 2 or more, a multiple of splits
//   static constexpr int blocks;      // per SM
//
// where size and valueSize are at most 176 and causalOffset is 0. Kernels are
// declared with `__launch_bounds__(threads, blocks)` and launched with
//
//   threads    = 2 · tileM · splits + 128
//   rounded(s) = s rounded up to 64
//   columns    = valueSize rounded up to an N of Wgmma
//   least      = 2 · tileM · (rounded(size) + rounded(valueSize))
//                + 2 · stages · tileN · (rounded(size) + rounded(valueSize))
//                + (splits - 1) · 512 · (columns / 2 + 4) + 256
//   more       = least + 2 · tileM · rounded(size)
//   shared     = more if that is at most maxSharedBytes(blocks), else least
//   grid.x     = at most batch · heads · ceil(queries / tileM); one wave of
//                blocks is enough
//
// Tensor maps, of rank 4, innermost first, swizzled by 128 bytes, zeros
// outside, with the strides of Q, K, V and O:
//
//   Q   dims size, queries, heads, batch        box 64, tileM, 1, 1
//   K   dims size, keys, groups, batch          box 64, tileN, 1, 1
//   V   dims valueSize, keys, groups, batch     box 64, tileN, 1, 1
//   O   dims valueSize, queries, heads, batch   box 64, 16, 1, 1
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_ATTENTION_WGMMA_ATTENTION_CUH
#define FRIT_CODEGEN_CUDA_ATTENTION_WGMMA_ATTENTION_CUH

#include "frit/wgmma_attention_warpgroup.cuh"

#ifdef FRIT_HAS_WGMMA

namespace frit {

/// Producer thread: copies queries, keys and values for the warpgroups.
template <class P>
__device__ inline void
copyAttention(const AttentionMemory<P> &memory, const TensorMap *mapQ,
              const TensorMap *mapK, const TensorMap *mapV,
              const typename P::Mask *mask) {
  using Shape = WgmmaAttentionShape<P>;
  auto load = [](unsigned char *to, const TensorMap *map, Barrier &barrier,
                 int size, int lines, int row, int head, int batch) {
    barrier.arriveExpecting(size * lines * 2);
#pragma unroll
    for (int col = 0; col < size; col += 64)
      loadBox(to + col * lines * 2, map, barrier, col, row, head, batch);
  };
  PipelineState<P::stages> place;
  PipelineState<Shape::kQStages> qPlace;
  forAttentionTiles<P>([&](const AttentionTile &tile) {
    const int group = tile.head / (P::heads / P::groups);
    const AttentionSteps steps =
        attentionSteps<P>(maskOf<P>(mask, tile), tile.row, P::tileM);
    memory.qEmpty[qPlace.stage].wait(qPlace.parity ^ 1);
    load(memory.queriesOf(qPlace.stage), mapQ, memory.qFull[qPlace.stage],
         Shape::kSize, P::tileM, tile.row, tile.head, tile.batch);
    qPlace.advance();
    for (int step = steps.first; step < steps.last; ++step) {
      const int key = step * P::tileN, stage = place.stage;
      memory.kEmpty[stage].wait(place.parity ^ 1);
      load(memory.keysOf(stage), mapK, memory.kFull[stage], Shape::kSize,
           P::tileN, key, group, tile.batch);
      memory.vEmpty[stage].wait(place.parity ^ 1);
      load(memory.valuesOf(stage), mapV, memory.vFull[stage], Shape::kValueSize,
           P::tileN, key, group, tile.batch);
      place.advance();
    }
  });
}

/// Computes the whole attention; pass null for an absent mask. `stats` is as in
/// attention.cuh.
template <class P>
__device__ inline void
wgmmaAttention(const TensorMap *mapQ, const TensorMap *mapK,
               const TensorMap *mapV, const TensorMap *mapO,
               const typename P::Mask *mask, float *stats = nullptr) {
  using Shape = WgmmaAttentionShape<P>;
  if (threadIdx.x == 0) {
    prefetchMap(mapQ);
    prefetchMap(mapK);
    prefetchMap(mapV);
    prefetchMap(mapO);
  }
  AttentionMemory<P> memory;
  memory.initBarriers();
  pdlTrigger();
  pdlWait();
  if (__shfl_sync(~0u, int(threadIdx.x) / 32, 0) >= Shape::kWarps) {
    decMaxRegisters<Shape::kFew>();
    if (threadIdx.x == Shape::kWarps * 32)
      copyAttention<P>(memory, mapQ, mapK, mapV, mask);
  } else {
    incMaxRegisters<Shape::kMany>();
    AttentionWarpgroup<P> warpgroup = {memory};
    warpgroup.initOrder();
    forAttentionTiles<P>([&](const AttentionTile &tile) {
      warpgroup.compute(tile, mask, mapO, stats);
    });
    warpgroup.finishStores();
  }
}

} // namespace frit

#endif

#endif // FRIT_CODEGEN_CUDA_ATTENTION_WGMMA_ATTENTION_CUH
