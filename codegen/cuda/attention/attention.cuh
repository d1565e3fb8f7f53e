//===- attention.cuh - Attention in tiles of keys -------------------------===//
//
// O = softmax(scale · Q·Kᵀ + mask)·V for each head, as nn.attention defines it.
// Scores are never stored: each warp keeps rows of queries, keys and values
// stream through shared memory, and the softmax is computed online (Milakov and
// Gimelshein, arXiv:1805.02867). Work is partitioned as in FlashAttention-2
// (Dao, arXiv:2307.08691). The problem is a struct of constants:
//
//   struct P {
//     using T = frit::f16;                        // or bf16, float; of Q, K, V
//                                                 // and O
//     static constexpr bool tf32 = false;         // f32 only: whether products
//                                                 // may use TF32
//     using Mask = void;                          // or float, f16, bf16: added
//                                                 // to the scaled scores;
//                                                 // frit::boolean: true keeps;
//                                                 // or int32_t: the keys that
//                                                 // a query sees, from the
//                                                 // first of two numbers up to
//                                                 // the second, neither of
//                                                 // which decreases
//     static constexpr int batch, heads;
//     static constexpr int groups;                // heads of K and V
//     static constexpr int queries, keys;
//     static constexpr int size, valueSize;       // of a row of Q and K; V, O
//     static constexpr float scale;
//     static constexpr bool causal;
//     static constexpr int causalOffset = 0;      // row i sees keys up to
//                                                 // i + causalOffset
//     static constexpr bool unguarded = false;    // whether a row that sees no
//                                                 // key is NaN instead of zero
//     using Q = frit::Strides<batch, head, row>;  // in elements; K, V, O too
//     using M = frit::Strides<0, 0, 0, 1>;        // of the mask, with columns;
//                                                 // 0 where it repeats
//     static constexpr int tileM = 64;            // queries of a block
//     static constexpr int rowsPerWarp = 16;      // divides tileM: 16, 32, or
//                                                 // 8 (attention_columns.cuh)
//     static constexpr int tileN = 64;            // keys at once, 16 · n
//     static constexpr int splits = 1;            // sets of warps that share a
//                                                 // block's queries and take
//                                                 // different keys
//     static constexpr int cluster = 1;           // blocks that do, on sm_90
//     static constexpr int stages = 2;            // tiles of keys of all warps
//                                                 // that a block holds
//   };
//
// A kernel calls attention<P>(q, k, v, mask, o, stats, inputs), with a null
// mask if Mask is void; `inputs` are by default StoredInputs
// (attention_inputs.cuh), and k and v are stored to if they append rows.
// `stats`, if not null, is batch×heads×queries floats, contiguous: the
// logarithm of the sum of the exponentials of a query's scores, in which finite
// scores are at least AttentionScores::kFloor; +inf if it sees no key, or NaN
// if P::unguarded. AttentionShape<P> gives its launch: blocks of kThreads = 32
// · splits · tileM / rowsPerWarp threads, kBlocks blocks (any one-dimensional
// grid of whole clusters is correct), and kShared bytes of dynamic shared
// memory.
//
// Needs sm_80 or later. size, valueSize and the strides of Q, K, V and O are
// multiples of 16 bytes, and all four are aligned to 16 bytes. If
// kMaskPairs<P>, the mask is aligned to two elements.
//
// A row sees no key if a bool mask, an added -inf or the causal rule hides all.
// A row whose keys all have the same large negative number added is the mean of
// the values, as softmax defines it. The lowest f16 counts as the lowest float.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_ATTENTION_ATTENTION_CUH
#define FRIT_CODEGEN_CUDA_ATTENTION_ATTENTION_CUH

#include "frit/attention_columns.cuh"
#include "frit/attention_copies.cuh"
#include "frit/attention_inputs.cuh"

namespace frit {

#ifdef FRIT_HAS_CLUSTERS
/// Merges the rows of the blocks of a cluster, which had different keys, in the
/// first block's first set of warps. Its sets take the other blocks by turns,
/// and then merge theirs. Returns whether this thread has the result.
template <class P>
__device__ inline bool joinBlocks(AttentionRows<P> &rows, float *parts,
                                  int split) {
  using Shape = AttentionShape<P>;
  constexpr int stride = Shape::kTeamThreads;
  auto write = [&](float *to) {
    rows.forEach([&](int at, float value) { to[at * stride] = value; });
  };
  const unsigned rank = clusterRank();
  if (rank != 0 && split == 0)
    write(parts);
  arriveClusterShared();
  waitCluster();
  if (rank == 0) {
    if (split != 0)
      rows.clear();
    for (int other = 1 + split; other < P::cluster; other += P::splits)
      rows.join(sameInBlock(parts, other), stride);
    if constexpr (P::splits > 1) {
      if (split != 0)
        write(parts + (split - 1) * Shape::kJoined * stride);
      __syncthreads();
      if (split == 0)
#pragma unroll
        for (int other = 0; other < P::splits - 1; ++other)
          rows.join(parts + other * Shape::kJoined * stride, stride);
    }
  }
  // No block ends, or writes its part again, while another reads it.
  arriveCluster();
  waitCluster();
  return rank == 0 && split == 0;
}
#endif

/// Computes a tile of queries of one head; the pointers are the head's. `q` is
/// a place if the inputs compute queries. The block's first tile waits for the
/// kernels before this one if the inputs are early.
template <class P, class Inputs, class Queries>
__device__ inline void
attentionTile(Queries q, const typename P::T *k, const typename P::T *v,
              const typename P::Mask *mask, typename P::T *o, float *stats,
              const AttentionTile &tile, const Inputs &inputs, bool isFirst,
              unsigned char *shared) {
  using Shape = AttentionShape<P>;
  using Scores = AttentionScores<P>;
  using Rows = RowsOfWarp<P>;
  constexpr int stageKeys = Shape::kStageKeys, threads = Shape::kThreads;
  auto &qTile = *reinterpret_cast<typename Shape::QTile *>(shared);
  shared += sizeof(qTile);
  auto *kTiles = reinterpret_cast<typename Shape::KTile *>(shared);
  auto *vTiles =
      reinterpret_cast<typename Shape::VTile *>(kTiles + Shape::kStages);
  const int split = threadIdx.x / Shape::kTeamThreads;
  const int thread = threadIdx.x % Shape::kTeamThreads;
  const int firstRow = tile.row;
  constexpr int sharing = P::heads / P::groups;
  const AppendedRows<P, Inputs> appended(inputs, k, v, tile.batch,
                                         tile.head / sharing);
  const int firstInTile = thread / 32 * P::rowsPerWarp;
  // Blocks of a cluster take stages by turns, so that the block of a key does
  // not depend on the keys that other queries see.
  constexpr int turns = clusterSizeOf<P>();
  int turn = 0;
#ifdef FRIT_HAS_CLUSTERS
  if constexpr (kDividesKeys<P>)
    turn = int(clusterRank());
#endif
  auto slotOf = [](int stage) { return stage / turns % Shape::kStages; };
  auto isAppended = [&](int row) {
    return Inputs::appended > 0 && appended.contains(row);
  };
  constexpr Inside places =
      P::keys % stageKeys == 0 ? Inside::all : Inside::some;
  // Queries may see fewer keys than there are.
  constexpr Inside seenPlaces =
      kHasRanges<P> && places == Inside::all ? Inside::readable : places;
  auto fetchKeys = [&](auto places, int stage, int limit) {
    fetchRows<threads, P::size, P::K::row, places.value>(
        kTiles[slotOf(stage)], k, stage * stageKeys, limit, isAppended);
  };
  auto fetchValues = [&](auto places, int stage, int limit) {
    fetchRows<threads, P::valueSize, P::V::row, places.value>(
        vTiles[slotOf(stage)], v, stage * stageKeys, limit, isAppended);
  };
  // Fetches as many stages as are held at once, from stage `from` to row
  // `limit`. Products begin when the first keys have arrived.
  auto fetchFirst = [&](auto places, int stage, int from, int limit) {
    auto isIn = [=](int stage) {
      return stage >= from && stage * stageKeys < limit;
    };
    if (isIn(stage))
      fetchKeys(places, stage, limit);
    commitCopies();
    if (isIn(stage))
      fetchValues(places, stage, limit);
    commitCopies();
#pragma unroll
    for (int i = 1; i < Shape::kStages; ++i)
      if (isIn(stage + i * turns)) {
        fetchKeys(places, stage + i * turns, limit);
        fetchValues(places, stage + i * turns, limit);
      }
    commitCopies();
  };

  // Other threads may still read the previous tile.
  __syncthreads();
  // Most queries see the first keys, which arrive while other kernels end.
  int fetched = 0;
  if constexpr (Inputs::early)
    if (isFirst) {
      fetched = (appended.first + stageKeys - 1) / stageKeys;
      const int end = fetched * stageKeys;
      fetchFirst(KnownInside<places>(), turn, 0, P::keys < end ? P::keys : end);
      for (int i = 0; i < Shape::kStagesAhead; ++i) {
        const int first = (turn + (Shape::kStages + i) * turns) * stageKeys;
        const int end = first + stageKeys;
        const int last = end < appended.first ? end : appended.first;
        prefetchRows<threads, P::size, P::K::row>(k, first, last);
        prefetchRows<threads, P::valueSize, P::V::row>(v, first, last);
      }
      pdlWait();
      // Blocks of the next kernel would keep others of this one waiting.
      pdlTrigger();
    }
  const RowRange keys = Scores::keysOf(mask, firstRow, P::tileM);
  // What is computed waits for its inputs while the range and keys arrive.
  if constexpr (Inputs::computesQueries)
    computeQueries<P>(qTile, inputs, q, firstRow);
  else
    fetchRows<threads, P::size, P::Q::row,
              P::queries % P::tileM == 0 ? Inside::all : Inside::some>(
        qTile, q, firstRow, P::queries);
  int firstStage = keys.first / stageKeys;
  const int stages = (keys.last + stageKeys - 1) / stageKeys;
  firstStage += (turn + turns - firstStage % turns) % turns;
  if (fetched && firstStage != turn) {
    waitCopies<0>();
    __syncthreads();
    fetched = 0;
  }
  fetchFirst(KnownInside<seenPlaces>(), firstStage, fetched, keys.last);
  // Blocks of several tiles and heads may compute the same rows. The first ones
  // store them.
  const bool stores = firstRow == 0 && tile.head % sharing == 0;
  if constexpr (Inputs::appended > 0)
    appended.place(kTiles, vTiles, stores, [&](int stage) {
      if (stage % turns != turn)
        return appended.kNowhere;
      if (stage < firstStage || stage >= stages)
        return appended.kOutside;
      return stage < firstStage + Shape::kStages * turns ? slotOf(stage)
                                                         : appended.kNowhere;
    });

  Rows rows(qTile, mask, firstInTile, firstRow + firstInTile, keys);
  const RowRange warpKeys =
      P::tileM == P::rowsPerWarp
          ? keys
          : Scores::keysOf(mask, firstRow + firstInTile, P::rowsPerWarp);
  for (int stage = firstStage; stage < stages; stage += turns) {
    const bool isFirst = stage == firstStage;
    // The first values, and stages held with them, may arrive while the first
    // scores are computed.
    if (isFirst)
      waitCopies<2>();
    else
      waitCopies<0>();
    // All copies have arrived, and no thread reads the next slot any more.
    __syncthreads();
    if (isFirst) {
      rows.keepQueries();
    } else if constexpr (Shape::kStagesOfBlock > Shape::kStages) {
      const int next = stage + (Shape::kStages - 1) * turns;
      if (next < stages) {
        fetchKeys(KnownInside<seenPlaces>(), next, keys.last);
        if constexpr (Shape::kStages == 1)
          commitCopies();
        fetchValues(KnownInside<seenPlaces>(), next, keys.last);
        if constexpr (Inputs::appended > 0)
          appended.place(kTiles, vTiles, stores, [&](int stage) {
            return stage == next ? slotOf(stage) : appended.kNowhere;
          });
        commitCopies();
      }
      if constexpr (Shape::kStages == 1) {
        waitCopies<1>();
        __syncthreads();
      }
    }
    const int firstKey = stage * stageKeys + split * P::tileN;
    const bool works = firstKey < warpKeys.last &&
                       (!kHasRanges<P> || firstKey + P::tileN > warpKeys.first);
    typename Rows::Scores scores = {};
    if (works) {
      typename Rows::Terms terms = {};
      rows.loadTerms(terms, mask, firstKey);
      rows.multiplyKeys(scores, kTiles[slotOf(stage)], split * P::tileN);
      rows.weigh(scores, terms, firstKey);
    }
    if (Shape::kStages == 1 || isFirst) {
      if (isFirst)
        waitCopies<1>();
      else
        waitCopies<0>();
      __syncthreads();
    }
    if (works)
      rows.addValues(scores, vTiles[slotOf(stage)], split * P::tileN);
  }
  waitCopies<0>();

  if constexpr (kHasColumns<P>) {
    auto *parts = reinterpret_cast<AttentionPart<P> *>(kTiles);
    __syncthreads();
    rows.write(parts[split]);
    joinParts<P>(parts, o, stats, firstRow);
    return;
  } else {
    if constexpr (P::splits > 1) {
      // Float i of all threads of a set is contiguous.
      constexpr int stride = Shape::kTeamThreads;
      auto *parts = reinterpret_cast<float *>(kTiles) + thread;
      __syncthreads();
      if (split != 0)
        rows.forEach([&](int at, float value) {
          parts[((split - 1) * Shape::kJoined + at) * stride] = value;
        });
      __syncthreads();
      if constexpr (!kDividesKeys<P>)
        if (split != 0)
          return;
      if (split == 0)
#pragma unroll
        for (int other = 0; other < P::splits - 1; ++other)
          rows.join(parts + other * Shape::kJoined * stride, stride);
    }
#ifdef FRIT_HAS_CLUSTERS
    if constexpr (kDividesKeys<P>) {
      __syncthreads();
      auto *parts = reinterpret_cast<float *>(kTiles) + thread;
      if (!joinBlocks<P>(rows, parts, split))
        return;
    }
#endif
    rows.store(o, stats);
  }
}

/// Computes all tiles of all heads, in Shape::kShared bytes of shared memory.
template <class P, class Inputs = StoredInputs>
__device__ inline void
attentionTiles(const typename P::T *q, const typename P::T *k,
               const typename P::T *v, const typename P::Mask *mask,
               typename P::T *o, float *stats, unsigned char *shared,
               const Inputs &inputs = {}) {
  constexpr int cluster = clusterSizeOf<P>();
#ifndef FRIT_HAS_CLUSTERS
  static_assert(cluster == 1);
#endif
  const int64_t first = blockIdx.x / cluster;
  if (!Inputs::early || first >= AttentionShape<P>::kTilesOfHeads) {
    pdlTrigger();
    pdlWait();
  }
  for (int64_t i = first; i < AttentionShape<P>::kTilesOfHeads;
       i += gridDim.x / cluster) {
    AttentionTile tile = attentionTileAt<P>(i);
    int64_t batch = tile.batch, head = tile.head;
    int64_t group = head / (P::heads / P::groups);
    const int64_t place = batch * P::Q::batch + head * P::Q::head;
    auto compute = [&](auto queries) {
      attentionTile<P>(
          queries, k + batch * P::K::batch + group * P::K::head,
          v + batch * P::V::batch + group * P::V::head, maskOf<P>(mask, tile),
          o + batch * P::O::batch + head * P::O::head, statsOf<P>(stats, tile),
          tile, inputs, i == first, shared);
    };
    if constexpr (Inputs::computesQueries)
      compute(unsigned(place));
    else
      compute(q + place);
  }
}

/// Computes the whole attention; pass null for an absent mask.
template <class P, class Inputs = StoredInputs>
__device__ inline void
attention(const typename P::T *q, const typename P::T *k,
          const typename P::T *v, const typename P::Mask *mask,
          typename P::T *o, float *stats = nullptr, const Inputs &inputs = {}) {
  attentionTiles<P>(q, k, v, mask, o, stats, dynamicShared<unsigned char>(),
                    inputs);
}

/// Constants of the fallback for wgmma_attention.cuh: tiles that need little
/// shared memory.
template <class P> struct AttentionFloor : P {
  static constexpr int tileM = 64, rowsPerWarp = 16, tileN = 16, splits = 1;
  static constexpr int stages = 2;
};

/// Fallback for architectures without WGMMA: without dynamic shared memory, by
/// the first 128 threads of a block.
template <class P>
__device__ inline void
attentionFloor(const typename P::T *q, const typename P::T *k,
               const typename P::T *v, const typename P::Mask *mask,
               typename P::T *o, float *stats = nullptr) {
  using Floor = AttentionFloor<P>;
  using Shape = AttentionShape<Floor>;
  static_assert(Shape::kThreads == 128 && Shape::kShared <= 48 << 10);
  __shared__ __align__(16) unsigned char shared[Shape::kShared];
  if (threadIdx.x < Shape::kThreads)
    attentionTiles<Floor>(q, k, v, mask, o, stats, shared);
  else
    pdlWait();
}

} // namespace frit

#endif // FRIT_CODEGEN_CUDA_ATTENTION_ATTENTION_CUH
