//===- wgmma_attention_warpgroup.cuh - A consumer warpgroup of attention --===//
//
// The work of a consumer warpgroup of wgmma_attention.cuh: 64 rows of queries
// against stages of keys and values loaded by TMA.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_ATTENTION_WGMMA_ATTENTION_WARPGROUP_CUH
#define FRIT_CODEGEN_CUDA_ATTENTION_WGMMA_ATTENTION_WARPGROUP_CUH

#include "frit/wgmma_attention_softmax.cuh"

#ifdef FRIT_HAS_WGMMA

namespace frit {

/// A consumer warpgroup.
template <class P> struct AttentionWarpgroup {
  using T = typename P::T;
  using Shape = WgmmaAttentionShape<P>;
  using Memory = AttentionMemory<P>;
  using Softmax = LazySoftmax<P>;
  static constexpr int kKeys = P::tileN / 8;
  static constexpr int kValues = Shape::kValueSize / 8;
  using Sums = float[kValues][4];

  /// Scores and weights of 8 · Keys keys.
  template <int Keys> struct Products {
    float scores[Keys][4];
    uint32_t weights[Keys / 2][4];
  };
  /// Groups of 8 keys of the last stage, if it has fewer keys.
  static constexpr int kTail = Shape::kLastKeys / 8;

  using Place = AttentionPlace<P::stages>;
  static constexpr int kGroups = P::tileM / 64;

  const Memory &memory;
  /// Warp index. The shuffle tells the compiler that it is uniform.
  const int index = __shfl_sync(~0u, int(threadIdx.x) / 32, 0);
  const int split = P::splits > 1 ? index / 4 : 0;
  const int group = P::splits > 1 ? 0 : index / 4;
  const int warp = group * 4 + index % 4;
  Place place;
  AttentionPlace<Shape::kQStages> qPlace;

  //===--------------------------------------------------------------------===//
  // Order
  //===--------------------------------------------------------------------===//

  /// Keeps the compiler from moving reads of accumulators above the wait.
  template <int Columns>
  __device__ static void keepBelow(float (&sums)[Columns][4]) {
#pragma unroll
    for (int column = 0; column < Columns; ++column)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        frit::keepBelow(sums[column][i]);
  }

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
  // Products
  //===--------------------------------------------------------------------===//

  /// Advances an operand's descriptor; only its low word changes.
  __device__ static uint64_t moved(uint64_t operand, uint32_t by) {
    return operand >> 32 << 32 | (uint32_t(operand) + by);
  }

  /// Starts the products of the queries with a stage's keys.
  template <int Keys>
  __device__ void multiplyKeys(float (&scores)[Keys][4], int stage) const {
    const unsigned char *q = memory.queriesOf(qPlace.stage) + group * 64 * 128;
    const unsigned char *k = memory.keysOf(stage);
    fenceProducts();
#pragma unroll
    for (int step = 0; step < Shape::kSize / 16; ++step) {
      int box = step / 4, by = step % 4 * kNextSteps<true>;
      Wgmma<Keys * 8>::template multiply<T, true, true>(
          reinterpret_cast<float (&)[Keys * 4]>(scores),
          moved(describeOperand<true>(q + box * P::tileM * 128), by),
          moved(describeOperand<true>(k + box * P::tileN * 128), by), step > 0);
    }
    commitProducts();
  }

  /// Computes the same scores synchronously by mma.sync, for this warp's rows.
  template <int Keys>
  __device__ void multiplyAlone(float (&scores)[Keys][4], int stage) const {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int key = 0; key < Keys; ++key)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        scores[key][i] = 0;
#pragma unroll 1
    for (int step = 0; step < Shape::kSize / 16; ++step) {
      unsigned char *q =
          memory.queriesOf(qPlace.stage) + step / 4 * P::tileM * 128;
      unsigned char *k = memory.keysOf(stage) + step / 4 * P::tileN * 128;
      const int piece = step % 4 * 2;
      uint32_t a[4];
      loadMatrices<false>(
          a, Memory::pieceOf(q, warp * 16 + lane % 16, piece + lane / 16));
#pragma unroll
      for (int key = 0; key < Keys; key += 2) {
        uint32_t b[4];
        loadMatrices<false>(
            b, Memory::pieceOf(k, key * 8 + lane / 16 * 8 + lane % 8,
                               piece + lane / 8 % 2));
        mma<T>(scores[key], a, {b[0], b[1]});
        mma<T>(scores[key + 1], a, {b[2], b[3]});
      }
    }
  }

  /// Starts adding a stage's weighted values.
  template <int Steps>
  __device__ void addValues(Sums &sums, const uint32_t (&weights)[Steps][4],
                            int stage) const {
    uint64_t v = describeOperand<false>(memory.valuesOf(stage), P::tileN);
    fenceProducts();
#pragma unroll
    for (int step = 0; step < Steps; ++step)
      Wgmma<Shape::kValueSize>::template multiply<T, false>(
          reinterpret_cast<float (&)[kValues * 4]>(sums), weights[step],
          moved(v, step * kNextSteps<false>), true);
    commitProducts();
  }

  template <int Keys> __device__ static void pack(Products<Keys> &products) {
#pragma unroll
    for (int step = 0; step < Keys / 2; ++step)
      packWeights<T>(products.weights[step], products.scores, step * 2);
  }

  //===--------------------------------------------------------------------===//
  // A tile of queries
  //===--------------------------------------------------------------------===//

  /// Skips stages that the block loads and this warpgroup does not need.
  __device__ void skip(Place at, int steps) const {
    for (int step = 0; step < steps; ++step) {
      waitForOrder();
      arriveOrder();
      memory.kFull[at.stage].wait(at.parity);
      release(memory.kEmpty[at.stage]);
      memory.vFull[at.stage].wait(at.parity);
      release(memory.vEmpty[at.stage]);
      at.step();
    }
  }

  /// Converts the products with this warpgroup's stage `step` to scores.
  template <int Keys>
  __device__ void finish(float (&scores)[Keys][4], const Softmax &softmax,
                         int step) const {
    float terms[Keys][2] = {};
    const int key = (step * P::splits + split) * P::tileN;
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
      at.step(P::splits);
      memory.kFull[at.stage].wait(at.parity);
    }
  }

  /// Adds the weighted values of `steps` stages, at least one, from position
  /// `at` on.
  __device__ void sumUp(Sums &sums, Softmax &softmax, Place at,
                        int steps) const {
    Products<kKeys> all;
    float rest[2];
    auto releaseKeys = [&](int step) {
      release(memory.kEmpty[at.stage]);
      if (step + 1 == steps)
        release(memory.qEmpty[qPlace.stage]);
    };
    memory.kFull[at.stage].wait(at.parity);
    waitForOrder();
    multiplyKeys(all.scores, at.stage);
    arriveOrder();
    waitProducts<0>();
    keepBelow(all.scores);
    releaseKeys(0);
    finish(all.scores, softmax, 0);
    softmax.weighFirst(all.scores);
    pack(all);
    // Computes the next stage's weights while the values of the previous one
    // are added.
    auto weighNext = [&](auto &scores, int step) {
      const Place before = at;
      at.step(P::splits);
      if (!kAhead || step == 1)
        memory.kFull[at.stage].wait(at.parity);
      memory.vFull[before.stage].wait(before.parity);
      waitForOrder();
      multiplyKeys(scores, at.stage);
      addValues(sums, all.weights, before.stage);
      arriveOrder();
      waitProducts<1>();
      keepBelow(scores);
      bool rises;
      if constexpr (Softmax::kGuesses) {
        finish(scores, softmax, step);
        rises = softmax.guessMore(scores, rest, [&](auto &scores) {
          multiplyAlone(scores, at.stage);
          finish(scores, softmax, step);
        });
        releaseKeys(step);
      } else {
        releaseKeys(step);
        finish(scores, softmax, step);
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
      addValues(sums, weights, at.stage);
      waitProducts<0>();
      keepBelow(sums);
      release(memory.vEmpty[at.stage]);
    };
    const int whole = kTail < kKeys ? steps - 1 : steps;
    for (int step = 1; step < whole; ++step) {
      weighNext(all.scores, step);
      pack(all);
    }
    if constexpr (kTail < kKeys) {
      Products<kTail> tail;
      weighNext(tail.scores, whole);
      pack(tail);
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
            sums[value][i] = sums[value][i] * mine[i / 2] +
                             from[(4 + value * 4 + i) * 128] * theirs[i / 2];
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
        const float *pair = &sums[value + i / 2][i % 2 * 2];
        pairs[i] =
            packPair<T>(pair[0] * scales[i % 2], pair[1] * scales[i % 2]);
      }
      unsigned char *box = memory.o + value / 8 * P::tileM * 128;
      storeMatrices(
          Memory::pieceOf(box, warp * 16 + lane % 16, value % 8 + lane / 16),
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
  }

  /// Computes a tile of queries.
  __device__ void compute(const AttentionTile &tile,
                          const typename P::Mask *mask, const TensorMap *mapO,
                          float *stats) {
    const int row = tile.row + group * 64;
    const int steps = attentionSteps<P>(tile.row, P::tileM);
    int mine = row < P::queries ? attentionSteps<P>(row, 64) : 0;
    if (P::splits > 1)
      mine = (steps - split + P::splits - 1) / P::splits;
    Softmax softmax;
    softmax.mask = maskOf<P>(mask, tile);
    softmax.firstRow = tile.row + warp * 16;
    Sums sums = {};
    memory.qFull[qPlace.stage].wait(qPlace.parity);
    Place at = place;
    if (P::splits > 1)
      at.advance(split);
    if (mine > 0)
      sumUp(sums, softmax, at, mine);
    else
      release(memory.qEmpty[qPlace.stage]);
    qPlace.step();
    if constexpr (P::splits > 1) {
      join(sums, softmax);
    } else {
      at.advance(mine);
      skip(at, steps - mine);
    }
    place.advance(steps);
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
