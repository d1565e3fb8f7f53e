//===- wgmma_attention_tile.cuh - Attention's warpgroups ------------------===//
//
// What a launch of wgmma_attention.cuh needs, how a block's shared memory is
// divided, and the work of a warpgroup: 64 rows of queries against stages of
// keys and values that tensor copies bring.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_DEVICE_WGMMA_ATTENTION_TILE_CUH
#define FRIT_DEVICE_WGMMA_ATTENTION_TILE_CUH

#include "frit/attention.cuh"
#include "frit/wgmma.cuh"

namespace frit {

/// What a launch needs.
template <class P> struct WgmmaAttentionShape {
  static constexpr int kSize = (P::size + 63) / 64 * 64;
  static constexpr int kValueSize = (P::valueSize + 63) / 64 * 64;
  /// Those that multiply; a stage is read by one of `splits`.
  static constexpr int kWarps = P::tileM / 16 * P::splits;
  static constexpr int kReaders = P::tileM / 16;
  static constexpr int kThreads = kWarps * 32 + 128;
  static constexpr int kTiles = (P::queries + P::tileM - 1) / P::tileM;
  static constexpr int64_t kBlocks = int64_t(P::batch) * P::heads * kTiles;

  using OTile = RowTile<typename P::T, P::tileM, kValueSize>;
  static constexpr int kQBytes = P::tileM * kSize * 2;
  static constexpr int kKBytes = P::tileN * kSize * 2;
  static constexpr int kVBytes = P::tileN * kValueSize * 2;
  static constexpr int kBarrierBytes = 256;
  /// What a thread tells of its rows when warpgroups join their results.
  static constexpr int kJoined = kValueSize / 2 + 4;
  static constexpr int kJoinBytes = (P::splits - 1) * kJoined * 128 * 4;
  static constexpr int kShared = kQBytes + P::stages * (kKBytes + kVBytes) +
                                 int(sizeof(OTile)) + kBarrierBytes +
                                 kJoinBytes;

  /// Registers of a thread that copies, and of one that multiplies: those who
  /// copy hand over what they do not need of the equal parts at the start.
  static constexpr int kGroups = kThreads / 128;
  static constexpr int kFew = 24;
  static constexpr int kEqual = 65536 / (kThreads * P::blocks) / 8 * 8;
  static constexpr int kRoom =
      (kEqual * kGroups - kFew) / (kGroups - 1) / 8 * 8;
  static constexpr int kMany = kRoom > 240 ? 240 : kRoom;

  static_assert(P::tileM % 64 == 0 && P::tileN % 16 == 0);
  static_assert(kSize <= 128 && kValueSize <= 128 && P::causalOffset == 0);
  static_assert(P::stages >= 2 && P::stages <= 6);
  static_assert(P::splits == 1 || P::tileM == 64);
  // A stage is the same warpgroup's all along a tile. Else that one could find
  // a barrier two phases on, which tells no more than one apart.
  static_assert(P::stages % P::splits == 0);
};

} // namespace frit

#ifdef FRIT_HAS_WGMMA

namespace frit {

/// A place in the ring, and the parity of the phase that its barriers of what
/// has come are in.
template <int Stages> struct AttentionPlace {
  int stage = 0;
  uint32_t parity = 0;

  __device__ void advance(int steps) {
    stage += steps;
    parity ^= stage / Stages & 1;
    stage %= Stages;
  }
};

/// A block's shared memory. Of each pair of barriers the first ends a phase
/// when bytes have come, the second when all warps have read them.
template <class P> struct AttentionMemory {
  using Shape = WgmmaAttentionShape<P>;
  unsigned char *q, *k, *v;
  typename Shape::OTile *o;
  Barrier *qFull, *qEmpty, *kFull, *kEmpty, *vFull, *vEmpty;
  float *joined;

  __device__ AttentionMemory() {
    q = tensorShared();
    k = q + Shape::kQBytes;
    v = k + P::stages * Shape::kKBytes;
    o = reinterpret_cast<typename Shape::OTile *>(v +
                                                  P::stages * Shape::kVBytes);
    qFull = reinterpret_cast<Barrier *>(o + 1);
    qEmpty = qFull + 1;
    kFull = qEmpty + 1;
    kEmpty = kFull + P::stages;
    vFull = kEmpty + P::stages;
    vEmpty = vFull + P::stages;
    joined = reinterpret_cast<float *>(qFull) + Shape::kBarrierBytes / 4;
  }

  __device__ void initBarriers() {
    if (threadIdx.x == 0) {
      qFull->init(1);
      qEmpty->init(Shape::kWarps);
      for (int i = 0; i < P::stages; ++i) {
        kFull[i].init(1);
        kEmpty[i].init(Shape::kReaders);
        vFull[i].init(1);
        vEmpty[i].init(Shape::kReaders);
      }
      fenceBarrierInit();
    }
    __syncthreads();
  }

  __device__ unsigned char *keysOf(int stage) const {
    return k + stage * Shape::kKBytes;
  }
  __device__ unsigned char *valuesOf(int stage) const {
    return v + stage * Shape::kVBytes;
  }
};

/// Joins the block's first threads, warps all of them.
__device__ inline void joinThreads(int threads) {
  asm volatile("bar.sync 1, %0;" ::"r"(threads) : "memory");
}

/// Stages of the keys that rows [row, row + rows) see.
template <class P> __device__ inline int attentionSteps(int row, int rows) {
  int limit = AttentionScores<P>::limitOf(row + rows - 1);
  return (limit + P::tileN - 1) / P::tileN;
}

/// Calls `use(tile)` for the tiles of a block. Where the first have most to do,
/// the blocks take turns at being first.
template <class P, class Use>
__device__ inline void forAttentionTiles(const Use &use) {
  constexpr int64_t count = WgmmaAttentionShape<P>::kBlocks;
  const int block = blockIdx.x, blocks = gridDim.x;
  bool turned = false;
  for (int64_t first = 0; first < count; first += blocks) {
    int64_t index = first + (turned ? blocks - 1 - block : block);
    if (index < count)
      use(attentionTileAt<P>(index));
    turned = P::causal && !turned;
  }
}

/// The work of a warpgroup.
template <class P> struct AttentionWarpgroup {
  using T = typename P::T;
  using Shape = WgmmaAttentionShape<P>;
  static constexpr int kKeys = P::tileN / 8;
  static constexpr int kValues = Shape::kValueSize / 8;
  using Scores = float[kKeys][4];
  using Sums = float[kValues][4];

  using Place = AttentionPlace<P::stages>;
  static constexpr int kGroups = P::tileM / 64;

  const AttentionMemory<P> &memory;
  const int split = threadIdx.x / 128 / kGroups;
  const int group = threadIdx.x / 128 % kGroups;
  const int warp = group * 4 + threadIdx.x / 32 % 4;
  Place place;
  uint32_t qParity = 0;

  /// Nothing that reads the results of products may move up past the wait.
  template <int Columns>
  __device__ static void keepBelow(float (&sums)[Columns][4]) {
#pragma unroll
    for (int column = 0; column < Columns; ++column)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        asm volatile("" : "+f"(sums[column][i])::"memory");
  }

  /// Warpgroups of a block use the tensor cores in turn: while one waits for
  /// its products, the others make weights.
  __device__ void takeTurn() const {
    if constexpr (kGroups > 1)
      asm volatile("bar.sync %0, 256;" ::"r"(2 + group) : "memory");
  }
  __device__ void passTurn() const {
    if constexpr (kGroups > 1)
      asm volatile("bar.arrive %0, 256;" ::"r"(2 + (group + 1) % kGroups)
                   : "memory");
  }
  /// Once, at the start.
  __device__ void giveFirstTurn() const {
    if (group == kGroups - 1)
      passTurn();
  }

  __device__ void release(Barrier &barrier) const {
    if (threadIdx.x % 32 == 0)
      barrier.arrive();
  }

  /// Starts the products of the queries with a stage's keys.
  __device__ void multiplyKeys(Scores &scores, int stage) const {
    const unsigned char *q = memory.q + group * 64 * 128;
    const unsigned char *k = memory.keysOf(stage);
    fenceProducts();
#pragma unroll
    for (int step = 0; step < Shape::kSize / 16; ++step) {
      int box = step / 4;
      Wgmma<P::tileN>::template multiply<T, true, true>(
          reinterpret_cast<float (&)[kKeys * 4]>(scores),
          describeOperand<true>(q + box * P::tileM * 128) +
              step % 4 * kNextSteps<true>,
          describeOperand<true>(k + box * P::tileN * 128) +
              step % 4 * kNextSteps<true>,
          step > 0);
    }
    commitProducts();
  }

  /// Starts to add a stage's values, weighted.
  __device__ void addValues(Sums &sums, const uint32_t (&weights)[kKeys / 2][4],
                            int stage) const {
    uint64_t v = describeOperand<false>(memory.valuesOf(stage), P::tileN);
    fenceProducts();
#pragma unroll
    for (int step = 0; step < kKeys / 2; ++step)
      Wgmma<Shape::kValueSize>::template multiply<T, false>(
          reinterpret_cast<float (&)[kValues * 4]>(sums), weights[step],
          v + step * kNextSteps<false>, true);
    commitProducts();
  }

  __device__ static void pack(uint32_t (&weights)[kKeys / 2][4],
                              const Scores &scores) {
#pragma unroll
    for (int step = 0; step < kKeys / 2; ++step)
      packWeights<T>(weights[step], scores, step * 2);
  }

  /// Stages that the block reads and this warpgroup does not.
  __device__ void skip(Place at, int steps) const {
    for (int step = 0; step < steps; ++step) {
      takeTurn();
      passTurn();
      memory.kFull[at.stage].wait(at.parity);
      release(memory.kEmpty[at.stage]);
      memory.vFull[at.stage].wait(at.parity);
      release(memory.vEmpty[at.stage]);
      at.advance(1);
    }
  }

  /// Sums up the values of `steps` stages, one at least, from a place on.
  __device__ void sumUp(Sums &sums, AttentionSoftmax<P> &softmax, Place at,
                        int steps) const {
    Scores scores;
    uint32_t weights[kKeys / 2][4];
    float rest[2];
    auto weigh = [&](int step) {
      float terms[kKeys][2] = {};
      const int key = (step * P::splits + split) * P::tileN;
      AttentionSoftmax<P>::loadShared(terms, softmax.mask, key);
      softmax.finishScores(scores, terms, key);
      softmax.weigh(scores, rest);
    };
    memory.kFull[at.stage].wait(at.parity);
    takeTurn();
    multiplyKeys(scores, at.stage);
    waitProducts<0>();
    passTurn();
    keepBelow(scores);
    release(memory.kEmpty[at.stage]);
    weigh(0);
    pack(weights, scores);
    for (int step = 1; step < steps; ++step) {
      const Place before = at;
      at.advance(P::splits);
      memory.kFull[at.stage].wait(at.parity);
      memory.vFull[before.stage].wait(before.parity);
      takeTurn();
      multiplyKeys(scores, at.stage);
      addValues(sums, weights, before.stage);
      waitProducts<1>();
      passTurn();
      keepBelow(scores);
      release(memory.kEmpty[at.stage]);
      weigh(step);
      waitProducts<0>();
      keepBelow(sums);
      release(memory.vEmpty[before.stage]);
      scaleRows(sums, rest);
      pack(weights, scores);
    }
    memory.vFull[at.stage].wait(at.parity);
    addValues(sums, weights, at.stage);
    waitProducts<0>();
    keepBelow(sums);
    release(memory.vEmpty[at.stage]);
  }

  /// Brings the results of warpgroups that share rows to the first of them.
  __device__ void join(Sums &sums, AttentionSoftmax<P> &softmax) const {
    constexpr int threads = 128 * P::splits;
    // A float of every thread of a warpgroup lies side by side.
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
    // What was read may be written anew.
    joinThreads(threads);
  }

  /// A tile of queries.
  __device__ void compute(const AttentionTile &tile,
                          const typename P::Mask *mask, T *o) {
    const int row = tile.row + group * 64;
    const int steps = attentionSteps<P>(tile.row, P::tileM);
    int mine = row < P::queries ? attentionSteps<P>(row, 64) : 0;
    if (P::splits > 1)
      mine = (steps - split + P::splits - 1) / P::splits;
    AttentionSoftmax<P> softmax;
    softmax.mask = maskOf<P>(mask, tile);
    softmax.firstRow = tile.row + warp * 16;
    Sums sums = {};
    memory.qFull->wait(qParity);
    qParity ^= 1;
    Place at = place;
    at.advance(split);
    if (mine > 0)
      sumUp(sums, softmax, at, mine);
    release(*memory.qEmpty);
    if constexpr (P::splits > 1) {
      join(sums, softmax);
    } else {
      at.advance(mine);
      skip(at, steps - mine);
    }
    place.advance(steps);
    if (split == 0 && row < P::queries)
      storeRows<P>(o + int64_t(tile.batch) * P::O::batch +
                       int64_t(tile.head) * P::O::head,
                   *memory.o, warp * 16, softmax, sums);
  }
};

} // namespace frit

#endif

#endif // FRIT_DEVICE_WGMMA_ATTENTION_TILE_CUH
