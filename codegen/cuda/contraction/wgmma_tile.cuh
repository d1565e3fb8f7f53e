//===- wgmma_tile.cuh - Tiles of a product by specialised warps -----------===//
//
// The main loop of wgmma_gemm.cuh and wgmma_conv.cuh. One thread of a block
// starts tensor copies into a ring of stages, each 64 steps of k of both
// operands; warpgroups of 64 rows each multiply what has come and give the
// stage back. The ring runs on from tile to tile, so that the next tile's
// operands come while a tile is written.
//
// Two barriers per stage: `full` ends a phase when the stage's bytes are there,
// `empty` when every warp that reads the stage, in all blocks that it is sent
// to, has done so.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_DEVICE_WGMMA_TILE_CUH
#define FRIT_DEVICE_WGMMA_TILE_CUH

#include "frit/wgmma_epilogue.cuh"

#ifdef FRIT_HAS_WGMMA

namespace frit {

/// A place in the ring. Parity is that of the phase that `full` is in.
template <int Stages> struct PipelineState {
  int stage = 0;
  uint32_t parity = 0;

  __device__ void skip(int steps) {
    parity ^= (stage + steps) / Stages % 2;
    stage = (stage + steps) % Stages;
  }
  __device__ void advance() {
    if (++stage == Stages) {
      stage = 0;
      parity ^= 1;
    }
  }
};

/// What all roles of a block know. Operands has the number of `steps` of k, the
/// `lineBytesA` of A's lines in shared memory and `loadA(to, barrier, tile,
/// step)`, `loadB(to, barrier, tile, step, rank)`.
template <class P, class Operands> struct WgmmaBlock {
  using Plan = WgmmaPlan<P>;
  using Place = PipelineState<P::stages>;
  using Sums = float[Plan::kRowBlocks][P::tileN / 2];
  static_assert(P::split <= Operands::steps);

  unsigned char *shared, *received, *boxes;
  Barrier *full, *empty, *filled, *arrived, *turns;
  int rank, firstTile, tileStep, firstStep, lastStep;

  __device__ WgmmaBlock() {
    shared = tensorShared();
    boxes = shared + P::stages * Plan::kStageBytes;
    received = boxes + Plan::kSlots * Plan::kOwned * kBoxBytes;
    full = reinterpret_cast<Barrier *>(shared + Plan::kShared - kBarrierBytes);
    empty = full + P::stages;
    filled = empty + P::stages;
    arrived = filled + Plan::kSlots * Plan::kOwned;
    turns = arrived + Plan::kOwned;
    rank = Plan::kCluster > 1 ? int(clusterRank()) : 0;
    firstTile = blockIdx.x / Plan::kCluster;
    tileStep = gridDim.x / Plan::kCluster;
    int part = P::split > 1 ? rank : 0;
    firstStep = part * Operands::steps / P::split;
    lastStep = (part + 1) * Operands::steps / P::split;
  }

  __device__ void initBarriers() {
    // By one thread: the fence is dear, and dearer for a whole warp.
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
        turns[i].init(4);
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

  /// One thread: fills the ring. What B has for the first stages is on its way
  /// before the kernels that make A have ended, where none of them makes B.
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
    for (int index = firstTile; index < Plan::kTiles; index += tileStep) {
      WgmmaTile tile = Plan::tileAt(index, rank);
      for (int step = firstStep; step < lastStep; ++step) {
        Barrier &barrier = full[place.stage];
        if (ahead > 0) {
          --ahead;
        } else {
          empty[place.stage].wait(place.parity ^ 1);
          barrier.arriveExpecting(Plan::kStageBytes);
          operands.loadB(stageB(place.stage), barrier, tile, step, rank);
        }
        operands.loadA(stageA(place.stage), barrier, tile, step);
        place.advance();
      }
    }
  }

  /// One lane of a warp: it reads the stage no more.
  __device__ void release(int stage) {
    if (threadIdx.x % 32 != 0)
      return;
    if constexpr (P::cluster > 1) {
#pragma unroll
      for (int block = 0; block < P::cluster; ++block)
        empty[stage].arriveAt(block);
    } else {
      empty[stage].arrive();
    }
  }

  /// What i times 16 steps of k add to the description of A, whose lines may be
  /// shorter than a stage is deep: then one part of the tile follows the other.
  __device__ static constexpr int stepsA(int i) {
    constexpr int line = Operands::lineBytesA;
    return line == 128 ? i * kNextSteps<!P::transposeA>
                       : (i * 32 / line * P::tileM * line + i * 32 % line) / 16;
  }

  /// A warpgroup: sums up its rows of a tile.
  __device__ void multiply(Sums &sums, Place &place) {
    using Product = Wgmma<P::tileN>;
    constexpr bool alongA = !P::transposeA, alongB = P::transposeB;
    constexpr int line = Operands::lineBytesA;
    const int rows = Plan::kPingPong ? 0 : threadIdx.x / 128 * 64;
    int last = 0;
    for (int step = firstStep; step < lastStep; ++step) {
      full[place.stage].wait(place.parity);
      uint64_t a = describeOperand<alongA, line>(
          stageA(place.stage) + rows * line, kWgmmaDepth);
      uint64_t b = describeOperand<alongB>(stageB(place.stage), kWgmmaDepth);
      fenceProducts();
#pragma unroll
      for (int i = 0; i < kWgmmaDepth / 16; ++i)
#pragma unroll
        for (int j = 0; j < Plan::kRowBlocks; ++j)
          Product::template multiply<typename P::A, alongA, alongB>(
              sums[j], a + stepsA(i) + j * (64 * line / 16),
              b + i * kNextSteps<alongB>, i > 0 || step > firstStep);
      commitProducts();
      // The step before this one has been multiplied.
      waitProducts<1>();
      if (step > firstStep)
        release(last);
      last = place.stage;
      place.advance();
    }
    // All that the other warpgroup waits for has come.
    if (Plan::kPingPong && threadIdx.x % 32 == 0)
      turns[1 - int(threadIdx.x) / 128].arrive();
    waitProducts<0>();
    release(last);
#pragma unroll
    for (int j = 0; j < Plan::kRowBlocks; ++j)
#pragma unroll
      for (int i = 0; i < P::tileN / 2; ++i)
        keepBelow(sums[j][i]);
  }
};

/// The whole product, of blocks that stand in clusters of Plan::kCluster.
template <class P, class Operands>
__device__ inline void
wgmmaProduct(const Operands &operands, const TensorMap *mapD,
             const TensorMap *mapR, const typename P::Bias *bias,
             const typename P::D *r, typename P::D *d, NormOperands norm = {}) {
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

  } else {
    if constexpr (Plan::kMovesRegisters)
      incMaxRegisters<240>();
    pdlWait();
    typename WgmmaBlock<P, Operands>::Sums sums;
    typename WgmmaBlock<P, Operands>::Place place;
    const int turn = Plan::kPingPong ? warp / 4 : 0;
    int turnsTaken = 0;
    const int row = Plan::kPingPong ? warp % 4 * 16 : warp * 16;
    place.skip(turn * Operands::steps);
    WgmmaShares<P> shares = {block.received, block.arrived, block.rank};
    const int part = P::split > 1 ? shares.mine() : 0;
    const int own = P::split > 1 ? shares.slotOf(part) : warp;
    WgmmaStore<P> store = {mapD,
                           mapR,
                           bias,
                           r,
                           d,
                           block.boxes + own * Plan::kSlots * kBoxBytes,
                           block.filled + own * Plan::kSlots,
                           norm};
    for (int index = block.firstTile + turn * block.tileStep;
         index < Plan::kTiles; index += Plan::kTakers * block.tileStep) {
      WgmmaTile tile = Plan::tileAt(index, block.rank);
      if (part < Plan::kParts)
        store.begin({tile.m + row, tile.n + part * Plan::kUnitN, tile.batch});
      if constexpr (P::split > 1) {
        if (part < Plan::kParts)
          shares.expect(part);
        block.multiply(sums, place);
#pragma unroll
        for (int i = 0; i < Plan::kParts; ++i)
          if (i != part)
            shares.send(sums[0], i);
#pragma unroll
        for (int i = 0; i < Plan::kParts; ++i)
          if (i == part) {
            shares.receive(sums[0], i);
            store.end(sums, i);
          }
      } else {
        // By turns, also because a barrier tells no more than two phases apart.
        if constexpr (Plan::kPingPong)
          block.turns[turn].wait((turn + ++turnsTaken) % 2);
        block.multiply(sums, place);
        place.skip((Plan::kTakers - 1) * Operands::steps);
        store.end(sums);
      }
    }
    // Memory that is still read from may not go away.
    if (Plan::kBoxes && threadIdx.x % 32 == 0)
      waitStores<0>();
    __syncwarp();
  }
  // Nor may that of a block which others still send operands.
  if constexpr (P::cluster > 1) {
    arriveCluster();
    waitCluster();
  }
}

} // namespace frit

#endif

#endif // FRIT_DEVICE_WGMMA_TILE_CUH
