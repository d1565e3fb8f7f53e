//===- attention_warp.cuh - A warp's part of attention --------------------===//
//
// The partition of attention.cuh's work into warps, and the work of a warp: the
// products of 16 or 32 rows of queries with a tile of keys, and of the weights
// with the values.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_ATTENTION_ATTENTION_WARP_CUH
#define FRIT_CODEGEN_CUDA_ATTENTION_ATTENTION_WARP_CUH

#include "frit/attention_rows.cuh"

namespace frit {

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

#if FRIT_EMULATE >= 90 || __CUDA_ARCH__ >= 900
#define FRIT_HAS_CLUSTERS
#endif

/// Returns the blocks of a cluster.
template <class P> __device__ constexpr int clusterSizeOf() {
  if constexpr (requires { P::cluster; })
    return P::cluster;
  else
    return 1;
}

/// Returns the tiles of keys that a block holds at once, at most.
template <class P> __device__ constexpr int stagesOf() {
  if constexpr (requires { P::stages; })
    return P::stages;
  else
    return 2;
}

/// Whether a warp's queries are the columns of products.
template <class P> inline constexpr bool kHasColumns = P::rowsPerWarp == 8;

/// Whether the blocks of a cluster divide the keys.
template <class P> inline constexpr bool kDividesKeys = clusterSizeOf<P>() > 1;

/// How a block partitions its work, and the launch configuration.
template <class P> struct AttentionShape {
  using T = typename P::T;
  static constexpr int kColumns = 8 * kTogether<T>;
  static constexpr int kSize = (P::size + kStep<T> - 1) / kStep<T> * kStep<T>;
  static constexpr int kValueSize =
      (P::valueSize + kColumns - 1) / kColumns * kColumns;
  static constexpr int kTeamThreads = P::tileM / P::rowsPerWarp * 32;
  static constexpr int kThreads = kTeamThreads * P::splits;
  static constexpr int kTiles = (P::queries + P::tileM - 1) / P::tileM;
  static constexpr int64_t kTilesOfHeads =
      int64_t(P::batch) * P::heads * kTiles;
  static constexpr int64_t kBlocks = kTilesOfHeads * clusterSizeOf<P>();

  /// Keys per pipeline stage: tileN for each set of warps.
  static constexpr int kStageKeys = P::tileN * P::splits;
  /// Stages that a block reads, and those that it holds.
  static constexpr int kStagesOfBlock =
      (P::keys + kStageKeys * clusterSizeOf<P>() - 1) /
      (kStageKeys * clusterSizeOf<P>());
  static constexpr int kStages =
      kStagesOfBlock < stagesOf<P>() ? kStagesOfBlock : stagesOf<P>();
  /// Stages after these that it may prefetch into L2.
  static constexpr int kStagesAhead =
      kStagesOfBlock < kStages + 2 ? kStagesOfBlock - kStages : 2;

  /// Holds the queries, and finally 16-bit results.
  using QTile =
      RowTile<T, P::tileM,
              (kSize > kValueSize || sizeof(T) == 4 ? kSize : kValueSize)>;
  using KTile = RowTile<T, kStageKeys, kSize>;
  using VTile = RowTile<T, kStageKeys, kValueSize>;

  /// Floats per thread that sets of warps exchange to merge their results.
  static constexpr int kJoined =
      kHasColumns<P> ? kValueSize / 4 + 2
                     : P::rowsPerWarp / 16 * (kValueSize / 2 + 4);
  static constexpr int kJoinBytes = (kHasColumns<P>  ? P::splits
                                     : P::splits > 1 ? P::splits - 1
                                                     : clusterSizeOf<P>() > 1) *
                                    kJoined * kTeamThreads * int(sizeof(float));
  static constexpr int kStageBytes =
      kStages * int(sizeof(KTile) + sizeof(VTile));
  static constexpr int kShared =
      int(sizeof(QTile)) +
      (kStageBytes > kJoinBytes ? kStageBytes : kJoinBytes);

  static_assert(P::rowsPerWarp == 8 || P::rowsPerWarp == 16 ||
                P::rowsPerWarp == 32);
  static_assert(P::tileM % P::rowsPerWarp == 0 && P::tileN % 16 == 0);
  static_assert(P::size % kPiece<T> == 0 && P::valueSize % kPiece<T> == 0);
  static_assert(P::heads % P::groups == 0);
};

//===----------------------------------------------------------------------===//
// A warp's rows
//===----------------------------------------------------------------------===//

/// The rows of one warp, in parts of 16: queries, softmax, and the weighted
/// sums of values so far.
template <class P> struct AttentionRows {
  using T = typename P::T;
  using Shape = AttentionShape<P>;
  static constexpr int kParts = P::rowsPerWarp / 16;
  static constexpr int kKeys = P::tileN / 8;
  static constexpr int kSteps = Shape::kSize / kStep<T>;
  static constexpr int kValues = Shape::kValueSize / 8;
  /// Whether queries stay in registers. Wide rows, and those of split f32, are
  /// loaded again for every tile of keys.
  static constexpr bool kKeepsQueries = kSteps * kParts <= 8 && !isSplit<P>();
  using Scores = float[kParts][kKeys][4];
  /// The mask's terms that all rows share.
  using Terms = float[kKeys][2];

  typename Shape::QTile &queries;
  int firstInTile;
  uint32_t kept[kParts][kKeepsQueries ? kSteps : 1][4];
  float sums[kParts][kValues][4] = {};
  /// Factors by which the sums are rescaled after a tile's keys raised the
  /// maxima.
  float rest[kParts][2];
  AttentionSoftmax<P> softmax[kParts];

  __device__ AttentionRows(typename Shape::QTile &queries,
                           const typename P::Mask *mask, int firstInTile,
                           int firstRow, RowRange)
      : queries(queries), firstInTile(firstInTile) {
#pragma unroll
    for (int part = 0; part < kParts; ++part) {
      softmax[part].mask = mask;
      softmax[part].firstRow = firstRow + part * 16;
    }
  }

  /// Loads the queries into registers. Call once they are in shared memory.
  __device__ void keepQueries() {
    if constexpr (kKeepsQueries)
#pragma unroll
      for (int part = 0; part < kParts; ++part)
#pragma unroll
        for (int step = 0; step < kSteps; ++step)
          queries.loadA(kept[part][step], firstInTile + part * 16,
                        step * kStep<T>);
  }

  /// Computes the products with the keys from row `first` of the tile on.
  __device__ void multiplyKeys(Scores &products, typename Shape::KTile &keys,
                               int first) {
    if constexpr (isSplit<P>()) {
      multiplyKeys<0, 1>(products, keys, first);
      // Always zero. If compilers knew, they would keep all fragments instead
      // of loading them again, and spill.
      const int zero = blockIdx.y;
      multiplyKeys<2, 2>(products, keys, first, zero);
    } else {
      multiplyKeys<0, 0>(products, keys, first);
    }
  }

  __device__ static void loadTerms(Terms &terms, const typename P::Mask *mask,
                                   int firstKey) {
    AttentionSoftmax<P>::loadShared(terms, mask, firstKey);
  }

  /// Converts products with the keys from `firstKey` on to weights.
  __device__ void weigh(Scores &scores, const Terms &shared, int firstKey) {
#pragma unroll
    for (int part = 0; part < kParts; ++part) {
      softmax[part].finishScores(scores[part], shared, firstKey);
      softmax[part].weigh(scores[part], rest[part]);
      if constexpr (!isSplit<P>())
        scaleRows(sums[part], rest[part]);
    }
  }

  /// Adds the weighted values from row `first` of the tile on.
  __device__ void addValues(const Scores &weights,
                            typename Shape::VTile &values, int first) {
    if constexpr (isSplit<P>()) {
      float partial[kParts][kValues][4] = {};
      addValues(partial, weights, values, first);
#pragma unroll
      for (int part = 0; part < kParts; ++part)
#pragma unroll
        for (int value = 0; value < kValues; ++value)
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            float &sum = sums[part][value][i];
            sum = fma(sum, rest[part][i / 2], partial[part][value][i]);
          }
    } else {
      addValues(sums, weights, values, first);
    }
  }

  /// Calls `visit` for everything that another set of warps needs to merge
  /// these rows: sums, totals and maxima.
  template <class Visit> __device__ void forEach(const Visit &visit) {
    int at = 0;
#pragma unroll
    for (int part = 0; part < kParts; ++part) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        visit(at++, softmax[part].top[half]);
        visit(at++, softmax[part].total[half]);
      }
#pragma unroll
      for (int value = 0; value < kValues; ++value)
#pragma unroll
        for (int i = 0; i < 4; ++i)
          visit(at++, sums[part][value][i]);
    }
  }

  /// Forgets all keys.
  __device__ void clear() {
#pragma unroll
    for (int part = 0; part < kParts; ++part) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        softmax[part].top[half] = -INFINITY;
        softmax[part].total[half] = 0;
      }
#pragma unroll
      for (int value = 0; value < kValues; ++value)
#pragma unroll
        for (int i = 0; i < 4; ++i)
          sums[part][value][i] = 0;
    }
  }

  /// Merges the results of other warps for the same rows, whose floats are
  /// `stride` apart.
  __device__ void join(const float *other, int stride) {
    constexpr int perPart = Shape::kJoined / kParts;
#pragma unroll
    for (int part = 0; part < kParts; ++part) {
      const float *from = other + part * perPart * stride;
      float mine[2], theirs[2];
#pragma unroll
      for (int half = 0; half < 2; ++half)
        softmax[part].join(half, from[half * 2 * stride],
                           from[(half * 2 + 1) * stride], mine[half],
                           theirs[half]);
#pragma unroll
      for (int value = 0; value < kValues; ++value)
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          float &sum = sums[part][value][i];
          sum = fma(sum, mine[i / 2],
                    from[(4 + value * 4 + i) * stride] * theirs[i / 2]);
        }
    }
  }

  /// Stores the rows to O, and their statistics. No other warp may still read
  /// these rows' queries.
  __device__ void store(T *o, float *stats) {
#pragma unroll
    for (int part = 0; part < kParts; ++part) {
      softmax[part].storeStats(stats);
      if constexpr (sizeof(T) == 4)
        storePieces(o, softmax[part], sums[part]);
      else
        storeRows<P>(o, queries, firstInTile + part * 16, softmax[part],
                     sums[part]);
    }
  }

private:
  /// Computes products `First` to `Last`.
  template <int First, int Last>
  __device__ void multiplyKeys(Scores &products, typename Shape::KTile &keys,
                               int first, int zero = 0) {
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      const int col = step * kStep<T>;
      Factor<P, 4> a[kParts];
#pragma unroll
      for (int part = 0; part < kParts; ++part) {
        auto &raw = kept[part][kKeepsQueries ? step : 0];
        if constexpr (!kKeepsQueries)
          queries.loadA(raw, firstInTile + part * 16 + zero, col);
        a[part].template take<First, Last>(raw);
      }
#pragma unroll
      for (int key = 0; key < kKeys; key += 2) {
        uint32_t raw[2][2];
        keys.loadRows(raw, first + key * 8 + zero, col);
        Factor<P, 2> b[2];
        b[0].template take<First, Last>(raw[0]);
        b[1].template take<First, Last>(raw[1]);
        multiply<P, First, Last>(products, key, a, b);
      }
    }
  }

  __device__ static void addValues(float (&to)[kParts][kValues][4],
                                   const Scores &weights,
                                   typename Shape::VTile &values, int first) {
#pragma unroll
    for (int key = 0; key < kKeys; key += kStep<T> / 8) {
      Factor<P, 4> a[kParts];
#pragma unroll
      for (int part = 0; part < kParts; ++part) {
        uint32_t raw[4];
        packWeights<T>(raw, weights[part], key);
        a[part].take(raw);
      }
#pragma unroll
      for (int value = 0; value < kValues; value += kTogether<T>) {
        uint32_t raw[kTogether<T>][2];
        values.loadColumns(raw, first + key * 8, value * 8);
        Factor<P, 2> b[kTogether<T>];
#pragma unroll
        for (int i = 0; i < kTogether<T>; ++i)
          b[i].take(raw[i]);
        multiply<P, 0, kProducts<P> - 1>(to, value, a, b);
      }
    }
  }
};

} // namespace frit

#endif // FRIT_CODEGEN_CUDA_ATTENTION_ATTENTION_WARP_CUH
