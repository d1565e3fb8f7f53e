//===- wgmma_attention_warpgroup.cuh - A consumer warpgroup of attention --===//
//
// The work of a consumer warpgroup of wgmma_attention.cuh: 64 rows of queries
// against stages of keys and values loaded by TMA.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_ATTENTION_WGMMA_ATTENTION_WARPGROUP_CUH
#define FRIT_CODEGEN_CUDA_ATTENTION_WGMMA_ATTENTION_WARPGROUP_CUH

#include "frit/wgmma_attention_products.cuh"
#include "frit/wgmma_attention_softmax.cuh"

#ifdef FRIT_HAS_WGMMA

namespace frit {

/// A consumer warpgroup.
template <class P> struct AttentionWarpgroup {
  using T = typename P::T;
  using Shape = WgmmaAttentionShape<P>;
  using Memory = AttentionMemory<P>;
  using Softmax = LazySoftmax<P>;
  using Products = WgmmaAttentionProducts<P>;
  using Sums = typename Products::Sums;
  static constexpr int kKeys = P::tileN / 8;
  static constexpr int kValues = Products::kValues;
  /// Groups of 8 keys of the last stage, if it has fewer keys.
  static constexpr int kTail = Shape::kLastKeys / 8;

  using Place = PipelineState<P::stages>;
  static constexpr int kGroups = P::tileM / 64;

  const Memory &memory;
  /// Warp index. The shuffle tells the compiler that it is uniform.
  const int index = __shfl_sync(~0u, int(threadIdx.x) / 32, 0);
  const int split = P::splits > 1 ? index / 4 : 0;
  const int group = P::splits > 1 ? 0 : index / 4;
  const int warp = group * 4 + index % 4;
  Place place;
  PipelineState<Shape::kQStages> qPlace;

  //===--------------------------------------------------------------------===//
  // Order
  //===--------------------------------------------------------------------===//

  /// Waits until this warpgroup may start products. Order barriers let one
  /// warpgroup after the other start them (ping-pong): while the products of
  /// one run, the others compute weights.
  __device__ void waitForOrder() const {
    if constexpr (kGroups > 1)
      syncNamedBarrier<256>(2 + group);
  }
  /// Lets the next warpgroup start.
  __device__ void arriveOrder() const {
    if constexpr (kGroups > 1)
      arriveNamedBarrier<256>(2 + (group + 1) % kGroups);
  }
  /// Lets the first warpgroup start. Call once, at the start.
  __device__ void initOrder() const {
    if (group == kGroups - 1)
      arriveOrder();
  }

  /// Releases a barrier without a branch. After a branch, ptxas may leave a
  /// warp diverged, and the order barriers count each diverged part as a warp.
  __device__ void release(Barrier &barrier) const {
    barrier.arriveIf(threadIdx.x % 32 == 0);
  }

  //===--------------------------------------------------------------------===//
  // A tile of queries
  //===--------------------------------------------------------------------===//

  /// Returns this warpgroup's rows of the current queries.
  __device__ const unsigned char *queries() const {
    return memory.queriesOf(qPlace.stage) + group * 64 * 128;
  }

  /// Skips stages that the block loads and this warpgroup does not need.
  __device__ void skip(Place at, int steps) const {
    for (int step = 0; step < steps; ++step) {
      waitForOrder();
      arriveOrder();
      memory.kFull[at.stage].wait(at.parity);
      release(memory.kEmpty[at.stage]);
      memory.vFull[at.stage].wait(at.parity);
      release(memory.vEmpty[at.stage]);
      at.advance();
    }
  }

  /// Converts the products with this warpgroup's stage `step` to scores;
  /// `first` is the block's first tile of keys.
  template <int Keys>
  __device__ void finish(float (&scores)[Keys][4], const Softmax &softmax,
                         int first, int step) const {
    float terms[Keys][2] = {};
    const int key = (first + step * P::splits + split) * P::tileN;
    Softmax::loadShared(terms, softmax.mask, key);
    softmax.finishScores(scores, terms, key);
  }

  /// Whether a warpgroup may hold a stage's values until the keys of its next
  /// stage have arrived. With fewer stages this would deadlock, since copies
  /// are issued in order.
  static constexpr bool kAhead = P::stages >= 2 * P::splits;

  /// Waits in advance for the operands of the following products, as far as
  /// possible. Compilers hoist waits for products above the arithmetic that
  /// should overlap with them, but not above this wait.
  __device__ void waitAhead(Place at, Place before, bool isLast) const {
    if (!kAhead) {
      memory.vFull[before.stage].wait(before.parity);
    } else if (isLast) {
      memory.vFull[at.stage].wait(at.parity);
    } else {
      at.advance(P::splits);
      memory.kFull[at.stage].wait(at.parity);
    }
  }

  /// Adds the weighted values of `steps` stages, at least one, from position
  /// `at` on; the block's tiles of keys begin with `first`.
  __device__ void sumUp(Sums &sums, Softmax &softmax, Place at, int first,
                        int steps) const {
    typename Products::template KeyTile<kKeys> all;
    float rest[2];
    auto releaseKeys = [&](int step) {
      release(memory.kEmpty[at.stage]);
      if (step + 1 == steps)
        release(memory.qEmpty[qPlace.stage]);
    };
    memory.kFull[at.stage].wait(at.parity);
    waitForOrder();
    Products::multiplyKeys(all.scores, queries(), memory.keysOf(at.stage));
    arriveOrder();
    waitProducts<0>();
    keepBelow(all.scores);
    releaseKeys(0);
    finish(all.scores, softmax, first, 0);
    softmax.weighFirst(all.scores);
    Products::pack(all);
    // Computes the next stage's weights while the values of the previous one
    // are added.
    auto weighNext = [&](auto &scores, int step) {
      const Place before = at;
      at.advance(P::splits);
      if (!kAhead || step == 1)
        memory.kFull[at.stage].wait(at.parity);
      memory.vFull[before.stage].wait(before.parity);
      waitForOrder();
      Products::multiplyKeys(scores, queries(), memory.keysOf(at.stage));
      Products::addValues(sums, all.weights, memory.valuesOf(before.stage));
      arriveOrder();
      waitProducts<1>();
      keepBelow(scores);
      bool rises;
      if constexpr (Softmax::kGuesses) {
        finish(scores, softmax, first, step);
        rises = softmax.guessMore(scores, rest, [&](auto &scores) {
          Products::multiplyKeysSync(scores, memory.queriesOf(qPlace.stage),
                                     memory.keysOf(at.stage), warp);
          finish(scores, softmax, first, step);
        });
        releaseKeys(step);
      } else {
        releaseKeys(step);
        finish(scores, softmax, first, step);
        rises = softmax.weighMore(scores, rest);
      }
      waitAhead(at, before, step + 1 == steps);
      waitProducts<0>();
      keepBelow(sums);
      release(memory.vEmpty[before.stage]);
      if (rises)
        scaleRows(sums, rest);
    };
    auto addLast = [&](const auto &weights) {
      if (!kAhead || steps == 1)
        memory.vFull[at.stage].wait(at.parity);
      Products::addValues(sums, weights, memory.valuesOf(at.stage));
      waitProducts<0>();
      keepBelow(sums);
      release(memory.vEmpty[at.stage]);
    };
    const int whole = kTail < kKeys ? steps - 1 : steps;
    for (int step = 1; step < whole; ++step) {
      weighNext(all.scores, step);
      Products::pack(all);
    }
    if constexpr (kTail < kKeys) {
      typename Products::template KeyTile<kTail> tail;
      weighNext(tail.scores, whole);
      Products::pack(tail);
      addLast(tail.weights);
    } else {
      addLast(all.weights);
    }
  }

  /// Merges the results of warpgroups that share rows, in the first of them.
  __device__ void join(Sums &sums, Softmax &softmax) const {
    constexpr int threads = 128 * P::splits;
    // Float i of all threads of a warpgroup is contiguous.
    float *at = memory.joined + threadIdx.x % 128;
    if (split > 0) {
      float *to = at + (split - 1) * Shape::kJoined * 128;
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        to[half * 256] = softmax.top[half];
        to[half * 256 + 128] = softmax.total[half];
      }
#pragma unroll
      for (int value = 0; value < kValues; ++value)
#pragma unroll
        for (int i = 0; i < 4; ++i)
          to[(4 + value * 4 + i) * 128] = sums[value][i];
    }
    joinThreads(threads);
    if (split == 0)
#pragma unroll
      for (int other = 0; other < P::splits - 1; ++other) {
        const float *from = at + other * Shape::kJoined * 128;
        float mine[2], theirs[2];
#pragma unroll
        for (int half = 0; half < 2; ++half)
          softmax.join(half, from[half * 256], from[half * 256 + 128],
                       mine[half], theirs[half]);
#pragma unroll
        for (int value = 0; value < kValues; ++value)
#pragma unroll
          for (int i = 0; i < 4; ++i)
            sums[value][i] =
                fma(sums[value][i], mine[i / 2],
                    from[(4 + value * 4 + i) * 128] * theirs[i / 2]);
      }
    // The memory may be rewritten after this.
    joinThreads(threads);
  }

  /// Stores this warp's rows to O by TMA, which drops rows past the last.
  __device__ void store(const TensorMap *mapO, const AttentionTile &tile,
                        const Softmax &softmax, const Sums &sums) const {
    const int lane = threadIdx.x % 32;
    float scales[2];
    softmax.findScales(scales);
    // The previous tile's stores must have read this memory.
    if (lane == 0)
      waitStores<0>();
    __syncwarp();
#pragma unroll
    for (int value = 0; value < kValues; value += 2) {
      uint32_t pairs[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        // Of an odd number of groups of columns, the last is beside none.
        const int columns = value + i / 2 < kValues ? value + i / 2 : value;
        const float *pair = &sums[columns][i % 2 * 2];
        pairs[i] =
            packPair<T>(pair[0] * scales[i % 2], pair[1] * scales[i % 2]);
      }
      unsigned char *box = memory.o + value / 8 * P::tileM * 128;
      storeMatrices(
          swizzledPiece(box, warp * 16 + lane % 16, value % 8 + lane / 16),
          pairs);
    }
    fenceAsync();
    __syncwarp();
    if (lane == 0) {
#pragma unroll
      for (int col = 0; col < Shape::kValueSize; col += 64)
        storeBox(mapO, memory.o + (col / 64 * P::tileM + warp * 16) * 128, col,
                 softmax.firstRow, tile.head, tile.batch);
      commitStores();
    }
    __syncwarp();
  }

  /// Computes a tile of queries.
  __device__ void compute(const AttentionTile &tile,
                          const typename P::Mask *mask, const TensorMap *mapO,
                          float *stats) {
    const int row = tile.row + group * 64;
    Softmax softmax;
    softmax.mask = maskOf<P>(mask, tile);
    const AttentionSteps block =
        attentionSteps<P>(softmax.mask, tile.row, P::tileM);
    const AttentionSteps own = attentionSteps<P>(softmax.mask, row, 64);
    const int steps = block.count();
    int before = own.first - block.first, mine = own.count();
    if (row >= P::queries)
      before = mine = 0;
    if (P::splits > 1) {
      before = split;
      mine = (steps - split + P::splits - 1) / P::splits;
    }
    softmax.firstRow = tile.row + warp * 16;
    Sums sums = {};
    memory.qFull[qPlace.stage].wait(qPlace.parity);
    Place at = place;
    if (P::splits == 1)
      skip(at, before);
    at.skip(before);
    if (mine > 0)
      sumUp(sums, softmax, at, P::splits > 1 ? block.first : own.first, mine);
    else
      release(memory.qEmpty[qPlace.stage]);
    qPlace.advance();
    if constexpr (P::splits > 1) {
      join(sums, softmax);
    } else {
      at.skip(mine);
      skip(at, steps - before - mine);
    }
    place.skip(steps);
    if (split == 0 && softmax.firstRow < P::queries) {
      softmax.storeStats(statsOf<P>(stats, tile));
      store(mapO, tile, softmax, sums);
    }
  }

  /// Waits for the stores. Call once, at the end: shared memory must outlive
  /// the stores that read it.
  __device__ void finishStores() const {
    if (threadIdx.x % 32 == 0)
      waitStores<0>();
  }
};

} // namespace frit

#endif

#endif // FRIT_CODEGEN_CUDA_ATTENTION_WGMMA_ATTENTION_WARPGROUP_CUH
