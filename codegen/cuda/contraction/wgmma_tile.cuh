//===- wgmma_tile.cuh - Main loop of warp-specialized products ------------===//
//
// The main loop of wgmma_gemm.cuh, wgmma_conv.cuh and wgmma_bytes.cuh. One
// thread of a block (the producer) starts TMA copies into a ring of pipeline
// stages, each with 128 bytes along k of both operands. Warpgroups of 64 rows
// each (the consumers) multiply full stages and release them. The ring
// continues from tile to tile, so that the next tile's operands are loaded
// while a tile is stored.
//
// Two barriers per stage: `full` completes a phase when the stage's bytes have
// arrived, `empty` when every consumer warp has released the stage, in all
// blocks that it is multicast to. With ping-pong, one more barrier per consumer
// warpgroup, `order`, lets it start a tile once the other has started all of
// its products.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_CONTRACTION_WGMMA_TILE_CUH
#define FRIT_CODEGEN_CUDA_CONTRACTION_WGMMA_TILE_CUH

#include "frit/fragment.cuh"
#include "frit/pipeline.cuh"
#include "frit/wgmma_epilogue.cuh"
#include "frit/wgmma_split.cuh"

#ifdef FRIT_HAS_WGMMA

namespace frit {

/// The steps of two products' operands: first all of the first one's.
template <class First, class Second> struct OperandsOfBoth {
  static_assert(First::lineBytesA == Second::lineBytesA);
  static constexpr int firstSteps = First::steps;
  static constexpr int steps = firstSteps + Second::steps;
  static constexpr int lineBytesA = First::lineBytesA;
  First first;
  Second second;

  __device__ void loadA(unsigned char *to, Barrier &barrier,
                        const WgmmaTile &tile, int step) const {
    if (step < firstSteps)
      first.loadA(to, barrier, tile, step);
    else
      second.loadA(to, barrier, tile, step - firstSteps);
  }
  __device__ void loadB(unsigned char *to, Barrier &barrier,
                        const WgmmaTile &tile, int step, int rank) const {
    if (step < firstSteps)
      first.loadB(to, barrier, tile, step, rank);
    else
      second.loadB(to, barrier, tile, step - firstSteps, rank);
  }
};

/// State that all roles of a block share. Operands has the number of `steps` of
/// k, the `lineBytesA` of A's lines in shared memory, `loadA(to, barrier, tile,
/// step)` and `loadB(to, barrier, tile, step, rank)`.
template <class P, class Operands> struct WgmmaBlock {
  using Plan = WgmmaPlan<P>;
  using Place = PipelineState<P::stages>;
  using Elements = WgmmaElements<P>;
  using Sums =
      RegisterFragment<typename Elements::Sum, Plan::kRowBlocks, P::tileN / 8>;
  static_assert(Fragment<Sums>);
  static_assert(P::split <= Operands::steps);

  unsigned char *shared, *received, *boxes;
  Barrier *full, *empty, *filled, *arrived, *order;
  float *told;
  int rank, firstTile, tileStep, firstStep, lastStep;

  __device__ WgmmaBlock() {
    shared = tensorShared();
    boxes = shared + P::stages * Plan::kStageBytes;
    received = Plan::kLayout.overlaysStages()
                   ? shared
                   : boxes + Plan::kSlots * Plan::kOwned * kBoxBytes;
    full = reinterpret_cast<Barrier *>(shared + Plan::kShared - kBarrierBytes);
    told = reinterpret_cast<float *>(shared + Plan::kShared - kBarrierBytes -
                                     Plan::kLayout.momentBytes());
    empty = full + P::stages;
    filled = empty + P::stages;
    arrived = filled + Plan::kSlots * Plan::kOwned;
    order = arrived + Plan::kOwned;
    rank = Plan::kCluster > 1 ? int(clusterRank()) : 0;
    firstTile = blockIdx.x / Plan::kCluster;
    tileStep = gridDim.x / Plan::kCluster;
    const int part = partOfBlock<P>(rank);
    firstStep = part * Operands::steps / P::split;
    lastStep = (part + 1) * Operands::steps / P::split;
  }

  __device__ void initBarriers() {
    // By one thread: the fence is expensive, and more so for a whole warp.
    if (threadIdx.x == 0) {
      for (int i = 0; i < P::stages; ++i) {
        full[i].init(1);
        empty[i].init(Plan::kReaders * P::cluster);
      }
      for (int i = 0; i < Plan::kSlots * Plan::kOwned; ++i)
        filled[i].init(1);
      for (int i = 0; P::split > 1 && i < Plan::kOwned; ++i)
        arrived[i].init(1);
      for (int i = 0; Plan::kPingPong && i < 2; ++i)
        order[i].init(4);
      fenceBarrierInit();
    }
    if constexpr (Plan::kCluster > 1) {
      arriveCluster();
      waitCluster();
    } else {
      __syncthreads();
    }
  }

  __device__ unsigned char *stageA(int stage) {
    return shared + stage * Plan::kStageBytes;
  }
  __device__ unsigned char *stageB(int stage) {
    return stageA(stage) + Plan::kBytesA;
  }

  /// Whether each stage may have the same part of B for all tiles of a block:
  /// that of products of bytes is loaded once. With few columns, all blocks
  /// would read the same few lines of L2 for every tile.
  static constexpr bool kMayKeepB = kMultipliesBytes<P> &&
                                    Plan::kCluster == 1 &&
                                    P::stages % Operands::steps == 0 &&
                                    (Plan::kTilesN == 1 || P::raster == 1);
  __device__ bool keepsB() const { return tileStep % Plan::kTilesN == 0; }

  /// Producer thread: fills the ring. If no earlier kernel writes B, loads B
  /// for the first stages before the PDL wait.
  __device__ void produce(const Operands &operands) {
    int ahead = 0;
    if constexpr (P::constantB) {
      WgmmaTile tile = Plan::tileAt(firstTile, rank);
      for (; ahead < P::stages && firstStep + ahead < lastStep; ++ahead) {
        full[ahead].arriveExpecting(Plan::kStageBytes);
        operands.loadB(stageB(ahead), full[ahead], tile, firstStep + ahead,
                       rank);
      }
    }
    pdlWait();
    Place place;
    [[maybe_unused]] int fills = 0;
    for (int index = firstTile; index < Plan::kTiles; index += tileStep) {
      WgmmaTile tile = Plan::tileAt(index, rank);
      for (int step = firstStep; step < lastStep; ++step) {
        Barrier &barrier = full[place.stage];
        bool hasB = false;
        if constexpr (kMayKeepB)
          hasB = fills++ >= P::stages && keepsB();
        if (ahead > 0) {
          --ahead;
        } else {
          empty[place.stage].wait(place.parity ^ 1);
          barrier.arriveExpecting(hasB ? Plan::kBytesA : Plan::kStageBytes);
          if (!hasB)
            operands.loadB(stageB(place.stage), barrier, tile, step, rank);
        }
        operands.loadA(stageA(place.stage), barrier, tile, step);
        place.advance();
      }
    }
  }

  /// Releases the stage for this warp, by one lane.
  __device__ void release(int stage) {
    if (threadIdx.x % 32 != 0)
      return;
    if constexpr (P::cluster > 1) {
#pragma unroll
      for (int block = 0; block < P::cluster; ++block)
        empty[stage].arriveAt(partOfBlock<P>(rank) * P::cluster + block);
    } else {
      empty[stage].arrive();
    }
  }

  /// Returns the offset of i times 32 bytes of k in A's descriptor. If lines
  /// are shorter than a stage's depth, the parts of the tile follow each other.
  __device__ static constexpr int stepsA(int i) {
    constexpr int line = Operands::lineBytesA;
    return line == 128 ? i * kNextSteps<!P::transposeA>
                       : (i * 32 / line * P::tileM * line + i * 32 % line) / 16;
  }

  /// Consumer warpgroup: multiplies its rows of a tile, the steps from `first`
  /// on to that before `end`.
  __device__ void multiply(Sums &sums, Place &place, int first, int end) {
    constexpr bool alongA = !P::transposeA, alongB = P::transposeB;
    constexpr int line = Operands::lineBytesA;
    const int rows = Plan::kPingPong ? 0 : threadIdx.x / 128 * 64;
    int last = 0;
    for (int step = first; step < end; ++step) {
      full[place.stage].wait(place.parity);
      uint64_t a = describeOperand<alongA, line>(
          stageA(place.stage) + rows * line, kWgmmaDepth);
      uint64_t b = describeOperand<alongB>(stageB(place.stage), kWgmmaDepth);
      fenceProducts();
#pragma unroll
      for (int i = 0; i < kWgmmaDepth / 16; ++i)
#pragma unroll
        for (int j = 0; j < Plan::kRowBlocks; ++j)
          Elements::template multiply<alongA, alongB>(
              sums.blocks[j], a + stepsA(i) + j * (64 * line / 16),
              b + i * kNextSteps<alongB>, i > 0 || step > first);
      commitProducts();
      // The previous step's products have finished.
      waitProducts<1>();
      if (step > first)
        release(last);
      last = place.stage;
      place.advance();
    }
    // Ping-pong: all of this tile's stages have arrived, so the other warpgroup
    // may start.
    if (Plan::kPingPong && threadIdx.x % 32 == 0)
      order[1 - int(threadIdx.x) / 128].arrive();
    waitProducts<0>();
    release(last);
#pragma unroll
    for (int j = 0; j < Plan::kRowBlocks; ++j)
#pragma unroll
      for (int i = 0; i < P::tileN / 2; ++i)
        keepBelow(sums.blocks[j][i]);
  }
};

/// Computes the whole product, in clusters of Plan::kCluster blocks. A Store
/// finishes a warp's tiles. It is made of `ends` and of the warp's part of
/// shared memory: boxes, their barriers and column moments. It has begin(tile),
/// called before a tile is multiplied, end(sums, part), called after it, and
/// drain(), called after the last one. If it has follow(index, step, row), that
/// comes before begin and names the warp's tiles from the current one on. If
/// Operands says `apart`, so many steps are those of another product: its sums
/// are passed to keep(sums), and others begin.
template <class P, class Store, class Operands, class... Ends>
__device__ inline void wgmmaTiles(const Operands &operands, Ends... ends) {
  using Plan = WgmmaPlan<P>;
  const int warp = __shfl_sync(0xffffffff, int(threadIdx.x) / 32, 0);
  WgmmaBlock<P, Operands> block;
  block.initBarriers();
  pdlTrigger();
  if (warp >= Plan::kWarps) {
    if constexpr (Plan::kMovesRegisters)
      decMaxRegisters<24>();
    if (warp == Plan::kWarps && threadIdx.x % 32 == 0)
      block.produce(operands);
    __syncwarp();
    if constexpr (Plan::kLayout.overlaysStages()) {
      arriveCluster();
      waitCluster();
    }

  } else {
    if constexpr (Plan::kMovesRegisters)
      incMaxRegisters<240>();
    pdlWait();
    typename WgmmaBlock<P, Operands>::Sums sums;
    typename WgmmaBlock<P, Operands>::Place place;
    const int group = Plan::kPingPong ? warp / 4 : 0;
    int ownTiles = 0;
    const int row = Plan::kPingPong ? warp % 4 * 16 : warp * 16;
    place.skip(group * Operands::steps);
    WgmmaShares<P> shares = {block.received, block.arrived,
                             partOfBlock<P>(block.rank),
                             rowsOfBlock<P>(block.rank)};
    const int part = P::split > 1 ? shares.mine() : 0;
    const int own = P::split > 1 ? shares.slotOf(part) : warp;
    Store store = {ends..., block.boxes + own * Plan::kSlots * kBoxBytes,
                   block.filled + own * Plan::kSlots, block.told};
    if constexpr (kColumnBytes<P> > 0)
      store.keepColumns(Plan::tileAt(block.firstTile, block.rank).n);
    for (int index = block.firstTile + group * block.tileStep;
         index < Plan::kTiles; index += Plan::kTilesInFlight * block.tileStep) {
      WgmmaTile tile = Plan::tileAt(index, block.rank);
      if constexpr (requires { store.follow(0, 0, 0); })
        store.follow(index, Plan::kTilesInFlight * block.tileStep, row);
      if (part < Plan::kParts)
        store.begin({tile.m + row, tile.n + part * Plan::kUnitN, tile.batch});
      if constexpr (P::split > 1) {
        if (part < Plan::kParts)
          shares.expect(part);
        block.multiply(sums, place, block.firstStep, block.lastStep);
        if constexpr (Plan::kLayout.overlaysStages()) {
          arriveCluster();
          waitCluster();
        }
#pragma unroll
        for (int i = 0; i < Plan::kParts; ++i)
          if (i != part)
            shares.send(sums.blocks[0], i);
#pragma unroll
        for (int i = 0; i < Plan::kParts; ++i)
          if (i == part) {
            shares.receive(sums.blocks[0], i);
            store.end(sums, i);
          }
      } else {
        // Warpgroups alternate, also because a barrier cannot tell phases apart
        // that are two or more behind.
        if constexpr (Plan::kPingPong)
          block.order[group].wait((group + ++ownTiles) % 2);
        if constexpr (requires { Operands::apart; }) {
          static_assert(!Plan::kPingPong);
          block.multiply(sums, place, 0, Operands::apart);
          store.keep(sums);
          block.multiply(sums, place, Operands::apart, Operands::steps);
        } else {
          block.multiply(sums, place, block.firstStep, block.lastStep);
        }
        place.skip((Plan::kTilesInFlight - 1) * Operands::steps);
        store.end(sums);
      }
    }
    // Shared memory must outlive the stores that read it,
    store.drain();
    __syncwarp();
  }
  // and the blocks that other blocks still send operands to must stay.
  if constexpr (P::cluster > 1) {
    arriveCluster();
    waitCluster();
  }
}

/// Computes a product of 16-bit operands.
template <class P, class Operands>
__device__ inline void
wgmmaProduct(const Operands &operands, const TensorMap *mapD,
             const TensorMap *mapR, const typename P::Bias *bias,
             const typename P::D *r, typename P::D *d, EndOperands end = {}) {
  wgmmaTiles<P, WgmmaStore<P>>(operands, mapD, mapR, bias, r, d, end);
}

} // namespace frit

#endif

#endif // FRIT_CODEGEN_CUDA_CONTRACTION_WGMMA_TILE_CUH
