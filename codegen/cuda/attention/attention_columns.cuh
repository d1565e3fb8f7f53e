//===- attention_columns.cuh - Attention of up to 8 queries ---------------===//
//
// The work of a warp with up to 8 queries, as in a step of a language model,
// and of merging the warps and blocks that divide the keys. Keys and values are
// the rows of the tensor cores' tiles of 16 × 8, and queries the columns, so
// that a thread has half of the sums that it would have of 16 rows:
//
//   Sᵀ = K·Qᵀ,  Oᵀ = Vᵀ·Pᵀ
//
// Needs 16-bit elements, tiles of 8 queries, and no mask but ranges of keys.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_ATTENTION_ATTENTION_COLUMNS_CUH
#define FRIT_CODEGEN_CUDA_ATTENTION_ATTENTION_COLUMNS_CUH

#include "frit/attention_warp.cuh"
#include "frit/tma.cuh"

namespace frit {

/// What a warp has of its queries: weighted sums of values, and the maxima and
/// sums of weights. Threads that write rows of 4 × 8 elements are in different
/// banks.
template <class P> struct AttentionPart {
  static constexpr int kPitch = AttentionShape<P>::kValueSize + 4;
  float sums[8][kPitch];
  float top[8], total[8];
};

/// A warp's queries, with what AttentionRows has of rows.
template <class P> struct AttentionColumns {
  using T = typename P::T;
  using Shape = AttentionShape<P>;
  static constexpr int kKeyTiles = P::tileN / 16;
  static constexpr int kSteps = Shape::kSize / kStep<T>;
  static constexpr int kValueTiles = Shape::kValueSize / 16;
  /// Sums that run beside each other, since each waits for the one before.
  static constexpr int kChains = kKeyTiles <= 2 && kSteps > 1 ? 2 : 1;
  using Softmax = AttentionSoftmax<P>;
  /// Of keys lane / 4 and 8 more, and of queries lane % 4 · 2 and the next.
  using Scores = float[kKeyTiles][4];
  struct Terms {};
  static_assert(sizeof(T) == 2 && P::tileM == 8 && !kHasMask<P>);
  static_assert(int(sizeof(AttentionPart<P>)) <=
                Shape::kJoined * 32 * int(sizeof(float)));

  typename Shape::QTile &queries;
  uint32_t kept[kSteps][2];
  float sums[kValueTiles][4] = {};
  float top[2] = {-INFINITY, -INFINITY}, total[2] = {};
  RowRange seen[2];
  /// Whether all queries see the same keys.
  static constexpr bool kSeeSame =
      kHasRanges<P> ? P::queries == 1 || P::M::row == 0 : !P::causal;

  /// `all` are the keys that any of its queries sees.
  __device__ AttentionColumns(typename Shape::QTile &queries,
                              const typename P::Mask *mask, int, int firstRow,
                              RowRange all)
      : queries(queries) {
#pragma unroll
    for (int i = 0; i < 2; ++i)
      seen[i] = kSeeSame
                    ? all
                    : AttentionScores<P>::keysOf(mask, firstRow + queryOf(i));
  }
  __device__ static int queryOf(int i) { return threadIdx.x % 4 * 2 + i; }

  /// Loads the queries into registers. Call once they are in shared memory.
  __device__ void keepQueries() {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int step = 0; step < kSteps; step += 2) {
      const int steps = step + 1 < kSteps ? 2 : 1;
      uint32_t both[4];
      loadMatrices<false>(
          both, queries.at(lane % 8, (step * 2 + lane / 8 % (2 * steps)) * 8));
#pragma unroll
      for (int i = 0; i < 2 * steps; ++i)
        kept[step + i / 2][i % 2] = both[i];
    }
  }

  __device__ static void loadTerms(Terms &, const typename P::Mask *, int) {}

  /// Computes the products with the keys from row `first` of the tile on.
  __device__ void multiplyKeys(Scores &products, typename Shape::KTile &keys,
                               int first) {
    Scores chains[kChains] = {};
#pragma unroll
    for (int step = 0; step < kSteps; ++step)
#pragma unroll
      for (int key = 0; key < kKeyTiles; ++key) {
        uint32_t a[4];
        keys.loadA(a, first + key * 16, step * 16);
        mma<T>(chains[step % kChains][key], a, kept[step]);
      }
#pragma unroll
    for (int key = 0; key < kKeyTiles; ++key)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        products[key][i] = kChains == 1 ? chains[0][key][i]
                                        : chains[0][key][i] + chains[1][key][i];
  }

  /// Converts products with the keys from `firstKey` on to weights.
  __device__ void weigh(Scores &scores, const Terms &, int firstKey) {
    using Units = AttentionScores<P>;
    if constexpr (Units::kScaledFirst)
#pragma unroll
      for (int at = 0; at < 4 * kKeyTiles; ++at)
        scores[at / 4][at % 4] = Units::scoreOf(scores[at / 4][at % 4], 0);
    // Most tiles are seen by all.
    if (!kSeeSame || firstKey + P::tileN > seen[0].last ||
        firstKey < seen[0].first) {
      const int key = firstKey + threadIdx.x % 32 / 4;
#pragma unroll
      for (int i = 0; i < 2; ++i)
#pragma unroll
        for (int at = 0; at < 2 * kKeyTiles; ++at)
          if (key + at * 8 >= seen[i].last || key + at * 8 < seen[i].first)
            scores[at / 2][at % 2 * 2 + i] = -INFINITY;
    }
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      float best = top[i];
#pragma unroll
      for (int at = 0; at < 2 * kKeyTiles; ++at)
        best = fmaxf(best, scores[at / 2][at % 2 * 2 + i]);
#pragma unroll
      for (int lanes = 4; lanes < 32; lanes *= 2)
        best = fmaxf(best, __shfl_xor_sync(~0u, best, lanes));
      const float base = Softmax::baseOf(best);
      const float rest = fastExp2(fma(top[i], Units::kLate, -base));
      top[i] = best;
      total[i] *= rest;
#pragma unroll
      for (int at = 0; at < 2 * kKeyTiles; ++at) {
        float &score = scores[at / 2][at % 2 * 2 + i];
        score = fastExp2(fma(score, Units::kLate, -base));
        total[i] += score;
      }
#pragma unroll
      for (int value = 0; value < kValueTiles; ++value) {
        sums[value][i] *= rest;
        sums[value][2 + i] *= rest;
      }
    }
  }

  /// Adds the weighted values from row `first` of the tile on.
  __device__ void addValues(const Scores &weights,
                            typename Shape::VTile &values, int first) {
    const int lane = threadIdx.x % 32, matrix = lane / 8;
#pragma unroll
    for (int key = 0; key < kKeyTiles; ++key) {
      uint32_t b[2];
#pragma unroll
      for (int half = 0; half < 2; ++half)
        b[half] = transposeMatrix(
            packPair<T>(weights[key][half * 2], weights[key][half * 2 + 1]));
#pragma unroll
      for (int value = 0; value < kValueTiles; ++value) {
        uint32_t a[4];
        loadMatrices<true>(
            a, values.at(first + key * 16 + matrix / 2 * 8 + lane % 8,
                         value * 16 + matrix % 2 * 8));
        mma<T>(sums[value], a, b);
      }
    }
  }

  /// Writes what other warps need to merge these queries.
  __device__ void write(AttentionPart<P> &part) {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
#pragma unroll
      for (int lanes = 4; lanes < 32; lanes *= 2)
        total[i] += __shfl_xor_sync(~0u, total[i], lanes);
      if (queryOf(i) >= P::queries)
        continue;
      if (lane < 4) {
        part.top[queryOf(i)] = top[i];
        part.total[queryOf(i)] = total[i];
      }
#pragma unroll
      for (int value = 0; value < kValueTiles; ++value)
#pragma unroll
        for (int half = 0; half < 2; ++half)
          part.sums[queryOf(i)][value * 16 + half * 8 + lane / 4] =
              sums[value][half * 2 + i];
    }
  }
};

/// Merges the parts of a block's warps, and of all blocks of a cluster, and
/// stores the queries from `firstRow` on and their statistics. `parts` are at
/// the same place in all blocks, which divide the values. Threads that are
/// neighbours have a pair of values of a part each.
template <class P>
__device__ inline void joinParts(const AttentionPart<P> *parts,
                                 typename P::T *o, float *stats, int firstRow) {
  using Shape = AttentionShape<P>;
  using Softmax = AttentionSoftmax<P>;
  constexpr int blocks = clusterSizeOf<P>(), lanes = P::splits;
  constexpr int pairs = P::valueSize / 2;
  constexpr int queries = P::queries < 8 ? P::queries : 8;
  constexpr int atOnce = blocks * Shape::kThreads / lanes;
  int rank = 0;
#ifdef FRIT_HAS_CLUSTERS
  if constexpr (blocks > 1) {
    rank = int(clusterRank());
    arriveClusterShared();
    waitCluster();
  }
#endif
  if constexpr (blocks == 1)
    __syncthreads();
  const int mine = (rank * Shape::kThreads + int(threadIdx.x)) / lanes;
#pragma unroll
  for (int first = 0; first < queries * pairs; first += atOnce) {
    // Lanes without a pair take part in shuffles, and warps without one do not
    // read.
    const int at = first + mine;
    auto isPair = [=](int at) {
      return at < queries * pairs && firstRow + at / pairs < P::queries;
    };
    if (!isPair(at - int(threadIdx.x) % 32 / lanes))
      continue;
    const bool works = isPair(at);
    const int query = works ? at / pairs : 0, col = at % pairs * 2;
    float top[blocks], total[blocks], pair[blocks][2], best = -INFINITY;
#pragma unroll
    for (int block = 0; block < blocks; ++block) {
      const AttentionPart<P> *part = parts + threadIdx.x % lanes;
#ifdef FRIT_HAS_CLUSTERS
      if constexpr (blocks > 1)
        part = sameInBlock(part, block);
#endif
      top[block] = part->top[query];
      total[block] = part->total[query];
      loadVector(pair[block], &part->sums[query][col]);
      best = fmaxf(best, top[block]);
    }
#pragma unroll
    for (int other = 1; other < lanes; other *= 2)
      best = fmaxf(best, __shfl_xor_sync(~0u, best, other));
    const float base = Softmax::baseOf(best);
    float sums[3] = {};
#pragma unroll
    for (int block = 0; block < blocks; ++block) {
      const float factor =
          fastExp2(fma(top[block], AttentionScores<P>::kLate, -base));
      sums[0] = fma(pair[block][0], factor, sums[0]);
      sums[1] = fma(pair[block][1], factor, sums[1]);
      sums[2] = fma(total[block], factor, sums[2]);
    }
#pragma unroll
    for (int other = 1; other < lanes; other *= 2)
#pragma unroll
      for (int i = 0; i < 3; ++i)
        sums[i] += __shfl_xor_sync(~0u, sums[i], other);
    if (!works || threadIdx.x % lanes != 0)
      continue;
    const float scale = sums[2] == 0 ? Softmax::hiddenScale() : 1 / sums[2];
    const int row = firstRow + query;
    *reinterpret_cast<uint32_t *>(o + row * P::O::row + col) =
        packPair<typename P::T>(sums[0] * scale, sums[1] * scale);
    if (stats && col == 0)
      stats[row] = Softmax::statsOf(best, sums[2]);
  }
#ifdef FRIT_HAS_CLUSTERS
  // No block ends, or writes its parts again, while another reads them: what
  // was read has been stored.
  if constexpr (blocks > 1) {
    arriveClusterRelaxed();
    waitCluster();
  }
#endif
}

/// The rows of a warp, or its queries as columns.
template <class P, bool hasColumns = kHasColumns<P>> struct ChooseRows {
  using Type = AttentionRows<P>;
};
template <class P> struct ChooseRows<P, true> {
  using Type = AttentionColumns<P>;
};
template <class P> using RowsOfWarp = typename ChooseRows<P>::Type;

} // namespace frit

#endif // FRIT_CODEGEN_CUDA_ATTENTION_ATTENTION_COLUMNS_CUH
