//===- attention_gradient_rows.cuh - The gradient of attention ------------===//
//
// The gradients of q, k and v of attention. With the scores
// S = q kᵀ · scale + mask, the weights P = exp(S - stats), dP = dy vᵀ and
// dS = P ∘ (dP - delta), where delta is the sum of y ∘ dy of each query (Dao et
// al., arXiv:2205.14135, appendix B.2):
//
//   dv = Pᵀ dy      dk = scale · dSᵀ q      dq = scale · dS k
//
// A tile of keys adds up dk and dv over all queries, a tile of queries adds up
// dq over all keys. Each computes S and dP on its own: seven products instead
// of five. But no block waits for another's sums, nothing is added in device
// memory, and the result is deterministic. Both are the same loop: rows of two
// operands stay in registers, those of the other two pass by. Weights and dS
// come out in the layout of an operand, and never leave the registers.
//
// wgmma_attention_gradient.cuh is the kernel for sm_90a, attention_gradient.cuh
// the fallback for other architectures. Here are the parts that do not depend
// on copies and products. P has
//
//   using T = f16 or bf16;
//   static constexpr int batch, heads, groups;  // groups divide heads
//   static constexpr int queries, keys;
//   static constexpr int size;     // of a head: at most 64, a multiple of 8
//   static constexpr float scale;
//   static constexpr bool causal;               // query i sees keys 0 to i
//   using Mask = void, f16, bf16 or float;      // added to scores; or int32_t:
//                                               // ranges of keys, by query,
//                                               // then of queries, by key
//   using M = Strides<...>;                     // of batch, head, query, key
//   static constexpr bool sumsColumns;          // of all gradients, in parts
//                                               // of 16 rows; queries, a
//                                               // multiple of 16, = keys
//   using Stats, Delta = Strides<...>;          // of batch, head and query
//   using Q, K, V, Dy = Strides<...>;           // of batch, head and row:
//   using Dq, Dk, Dv = Strides<...>;            // multiples of 8 elements
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_ATTENTION_ATTENTION_GRADIENT_ROWS_CUH
#define FRIT_CODEGEN_CUDA_ATTENTION_ATTENTION_GRADIENT_ROWS_CUH

#include "frit/attention_rows.cuh"

namespace frit {

/// A gradient's tensors in device memory.
template <class P> struct GradientTensors {
  using T = typename P::T;
  static constexpr float kLog2E = 1.44269504f;
  /// Heads of queries that share keys.
  static constexpr int kSharing = P::heads / P::groups;

  const T *q, *k, *v, *dy;
  T *dq, *dk, *dv;
  const float *stats, *delta;
  const typename P::Mask *mask; ///< null if there is none
  /// Sums of columns, if P::sumsColumns: [batch · queries / 16][heads of dq, dk
  /// and dv][size].
  float *columnSums;

  /// Loads a query's addend, -stats, and its delta. Addends are to the
  /// logarithms, base 2, of weights. Queries past the last have no weights.
  __device__ void loadQuery(float &addend, float &sum, int batch, int head,
                            int query) const {
    auto at = [&]<class Strides>(Strides) {
      return batch * Strides::batch + head * Strides::head +
             query * Strides::row;
    };
    const bool exists = query < P::queries;
    addend = exists ? -stats[at(typename P::Stats())] * kLog2E : -INFINITY;
    sum = exists ? delta[at(typename P::Delta())] : 0;
  }

  /// Loads a key's addend, which the mask has for all queries.
  __device__ float loadKey(int batch, int head, int key) const {
    return maskAt(maskOf(batch, head), 0, key);
  }

  __device__ const typename P::Mask *maskOf(int batch, int head) const {
    if constexpr (kHasMask<P> || kHasRanges<P>)
      return mask + batch * P::M::batch + head * P::M::head;
    return nullptr;
  }
  /// Loads the mask's addend of a pair; 0 if there is none, or no such pair.
  __device__ static float maskAt(const typename P::Mask *mask, int query,
                                 int key) {
    if constexpr (kHasMask<P>)
      if (query < P::queries && key < P::keys)
        return AttentionScores<P>::term(
            load(mask[query * P::M::row + key * P::M::column]));
    return 0;
  }

  /// Returns the sums of 16 rows from `row` on, of a head of dq, dk or dv.
  __device__ float *sumsOf(int batch, int head, int row) const {
    static_assert(!P::sumsColumns ||
                  (P::queries == P::keys && P::queries % 16 == 0));
    constexpr int heads = P::heads + 2 * P::groups;
    const int64_t part = (int64_t(batch) * P::queries + row) / 16;
    return columnSums + (part * heads + head) * P::size;
  }
};

/// Returns whether the mask has one number for each key, not for each score.
template <class P> __device__ constexpr bool masksKeys() {
  if constexpr (kHasMask<P>)
    return P::M::row == 0;
  return false;
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

/// Rows that pass by together.
inline constexpr int kGradientColumns = 64;

/// Rows that stay in registers: keys or queries. `head` is one of queries, of
/// keys the first that reads them.
struct GradientTile {
  int batch, head, row;
};

/// Consecutive steps of kGradientColumns rows.
struct GradientSteps {
  int first, last;

  __device__ int count() const { return last > first ? last - first : 0; }
};

/// Loads the range of queries of a key if `OfKeys`, else of keys of a query.
template <class P, bool OfKeys>
__device__ inline RowRange loadGradientRange(const typename P::Mask *mask,
                                             int row) {
  constexpr int rows = OfKeys ? P::keys : P::queries;
  return loadRange<P>(mask,
                      (OfKeys ? P::queries : 0) + (row < rows ? row : rows - 1),
                      OfKeys ? P::queries : P::keys);
}

/// Returns the steps that rows [row, row + rows) of keys if `OfKeys`, else of
/// queries, need of the other side. `mask` is that of the batch and head.
template <class P, bool OfKeys>
__device__ inline GradientSteps gradientSteps(const typename P::Mask *mask,
                                              int row, int rows) {
  constexpr int columns = kGradientColumns;
  constexpr int steps =
      ((OfKeys ? P::queries : P::keys) + columns - 1) / columns;
  if (row >= (OfKeys ? P::keys : P::queries))
    return {0, 0};
  if constexpr (kHasRanges<P>) {
    const int first = loadGradientRange<P, OfKeys>(mask, row).first;
    const int last = loadGradientRange<P, OfKeys>(mask, row + rows - 1).last;
    return {first / columns, (last + columns - 1) / columns};
  }
  if (!P::causal)
    return {0, steps};
  if (OfKeys)
    return {row / columns, steps};
  const int last = (row + rows + columns - 1) / columns;
  return {0, last < steps ? last : steps};
}

/// The pairs of a tile of keys and one of queries with `Rows` rows.
template <class P, int Rows> struct GradientPairs {
  static constexpr int kSharing = GradientTensors<P>::kSharing;
  static constexpr int kMost = P::queries > P::keys ? P::queries : P::keys;
  static constexpr int kTiles = (kMost + Rows - 1) / Rows;
  static constexpr int64_t kCount = int64_t(P::batch) * P::groups * kTiles;
};

/// Calls `ofKeys(tile)` and `ofQueries(tile)` for the tiles of a block. Tiles
/// of the same rows make a pair: with the causal rule, early keys have many
/// queries, and early queries few keys, so that all pairs take the same time.
template <class P, int Rows, class OfKeys, class OfQueries>
__device__ inline void forGradientTiles(const OfKeys &ofKeys,
                                        const OfQueries &ofQueries) {
  using Pairs = GradientPairs<P, Rows>;
  using Index = OffsetIn<2 * Pairs::kCount>;
  for (Index index = blockIdx.x; index < Pairs::kCount; index += gridDim.x) {
    const int row = int(index % Pairs::kTiles) * Rows;
    const int group = int(index / Pairs::kTiles) % P::groups;
    const int batch = int(index / Pairs::kTiles) / P::groups;
    if (row < P::keys)
      ofKeys(GradientTile{batch, group * Pairs::kSharing, row});
    if (row < P::queries)
#pragma unroll 1
      for (int head = 0; head < Pairs::kSharing; ++head)
        ofQueries(GradientTile{batch, group * Pairs::kSharing + head, row});
  }
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

/// Products of 16 rows and 64 columns, or sums of 64 elements of 16 rows, as
/// `mma` accumulates them.
using GradientSums = float[8][4];
/// 16 rows by 64 columns, as operands of `mma`.
using GradientOperand = uint32_t[4][4];

/// The weights of 16 rows, which are keys if `OfKeys`, else queries.
template <class P, bool OfKeys> struct GradientRows {
  static constexpr int kRowCount = OfKeys ? P::keys : P::queries;
  static constexpr int kColumnCount = OfKeys ? P::queries : P::keys;
  /// Whether columns have addends of their own.
  static constexpr bool kAddsColumns = OfKeys || masksKeys<P>();

  int firstRow;
  /// The rows' addends, and of queries delta.
  float addend[2] = {}, delta[2] = {};
  /// The columns that each of 64 rows sees, if the mask has ranges.
  RowRange shown = {0, 0};

  __device__ static int lane() { return threadIdx.x % 32; }
  __device__ int rowOf(int half) const {
    return firstRow + half * 8 + lane() / 4;
  }

  /// Loads the columns that each of 64 rows from `row` on sees.
  __device__ void loadShown(const typename P::Mask *mask, int row) {
    if constexpr (kHasRanges<P>)
      shown = {loadGradientRange<P, OfKeys>(mask, row + 63).first,
               loadGradientRange<P, OfKeys>(mask, row).last};
  }

  /// Loads the addends of keys that stay, for a head of queries.
  __device__ void loadKeys(const GradientTensors<P> &tensors, int batch,
                           int head) {
    if constexpr (OfKeys && masksKeys<P>())
#pragma unroll
      for (int half = 0; half < 2; ++half)
        addend[half] = tensors.loadKey(batch, head, rowOf(half));
  }

  /// Hides the scores of pairs that do not exist, or that the causal rule or
  /// the ranges forbid.
  __device__ void hide(GradientSums &scores, int firstColumn,
                       const typename P::Mask *mask) const {
    RowRange ranges[2];
    if constexpr (kHasRanges<P>)
#pragma unroll
      for (int half = 0; half < 2; ++half)
        ranges[half] = loadGradientRange<P, OfKeys>(mask, rowOf(half));
#pragma unroll
    for (int column = 0; column < 8; ++column)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int row = rowOf(i / 2);
        const int other = firstColumn + column * 8 + lane() % 4 * 2 + i % 2;
        bool forbidden = P::causal && (OfKeys ? other < row : other > row);
        if constexpr (kHasRanges<P>)
          forbidden =
              other < ranges[i / 2].first || other >= ranges[i / 2].last;
        if (forbidden || other >= kColumnCount)
          scores[column][i] = P::scale > 0 ? -INFINITY : INFINITY;
      }
  }

  /// Returns whether hide() is needed, for rows from `row` on, a multiple of
  /// kGradientColumns. Queries past the last have no weights anyway.
  __device__ bool mustHide(int row, int firstColumn) const {
    if constexpr (kHasRanges<P>)
      return firstColumn < shown.first ||
             firstColumn + kGradientColumns > shown.last;
    return (P::causal && firstColumn == row) ||
           (!OfKeys && firstColumn + kGradientColumns > kColumnCount);
  }

  /// A number of each of this thread's columns.
  using Numbers = float[8][2];

  /// Loads them from those of 64 columns.
  __device__ static void load(Numbers &to, const float *from) {
    struct alignas(8) Pair {
      float at[2];
    };
#pragma unroll
    for (int column = 0; column < 8; ++column) {
      Pair pair =
          *reinterpret_cast<const Pair *>(from + column * 8 + lane() % 4 * 2);
      to[column][0] = pair.at[0];
      to[column][1] = pair.at[1];
    }
  }

  /// Converts products of queries and keys to weights. `addends` are the
  /// columns', from `firstColumn` on, if they have any; `mask` is that of the
  /// batch and head.
  __device__ void weigh(GradientSums &scores, const Numbers &addends,
                        int firstColumn, const typename P::Mask *mask) const {
    constexpr float factor = P::scale * GradientTensors<P>::kLog2E;
#pragma unroll
    for (int column = 0; column < 8; ++column)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        float &score = scores[column][i];
        const float ofQuery = OfKeys ? addends[column][i % 2] : addend[i / 2];
        if constexpr (!kHasMask<P>) {
          score = fastExp2(fma(score, factor, ofQuery));
        } else {
          float ofMask;
          if constexpr (masksKeys<P>()) {
            ofMask = OfKeys ? addend[i / 2] : addends[column][i % 2];
          } else {
            const int row = rowOf(i / 2);
            const int other = firstColumn + column * 8 + lane() % 4 * 2 + i % 2;
            ofMask = GradientTensors<P>::maskAt(mask, OfKeys ? other : row,
                                                OfKeys ? row : other);
          }
          // As in the statistics. Only -inf hides a key whatever the others.
          constexpr float floor = AttentionScores<P>::kFloor;
          const float sum = fma(score, factor, ofMask);
          const bool isLow = sum < floor && sum != -INFINITY;
          score = fastExp2((isLow ? floor : sum) + ofQuery);
        }
      }
  }

  /// Converts weights and dP to operands: the weights, and dS. `deltas` are the
  /// columns', if they are queries.
  __device__ void pack(GradientOperand &weights, GradientOperand &ds,
                       const GradientSums &p, GradientSums &dp,
                       const Numbers &deltas) const {
    using T = typename P::T;
#pragma unroll
    for (int column = 0; column < 8; ++column)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        dp[column][i] =
            p[column][i] *
            (dp[column][i] - (OfKeys ? deltas[column][i % 2] : delta[i / 2]));
#pragma unroll
    for (int step = 0; step < 4; ++step) {
      if constexpr (OfKeys)
        packWeights<T>(weights[step], p, step * 2);
      packWeights<T>(ds[step], dp, step * 2);
    }
  }

  /// Stores the sums of the columns of this warp's gradients, if they are
  /// wanted.
  __device__ void storeAllSums(const GradientTensors<P> &tensors,
                               const GradientTile &tile,
                               const GradientSums &sums,
                               const GradientSums &values) const {
    if constexpr (P::sumsColumns) {
      if (firstRow >= kRowCount)
        return;
      constexpr int sharing = GradientTensors<P>::kSharing;
      const int head = OfKeys ? P::heads + tile.head / sharing : tile.head;
      storeSums(tensors.sumsOf(tile.batch, head, firstRow), sums, P::scale);
      if constexpr (OfKeys)
        storeSums(tensors.sumsOf(tile.batch, head + P::groups, firstRow),
                  values, 1);
    }
  }

private:
  /// Adds up `2 · Half` sums of columns with the other lane of a pair; each
  /// keeps half of them, from `column` on.
  template <int Half>
  __device__ static void halve(float (&sums)[16], int &column) {
    const bool upper = lane() & Half * 2;
#pragma unroll
    for (int i = 0; i < Half; ++i) {
      const float low = sums[i], high = sums[Half + i];
      sums[i] = (upper ? high : low) +
                __shfl_xor_sync(~0u, upper ? low : high, Half * 2);
    }
    column += upper ? Half * 4 : 0;
  }

  /// Stores the sums of the columns of 16 rows, times `scale`.
  __device__ static void storeSums(float *to, const GradientSums &rows,
                                   float scale) {
    float sums[16];
#pragma unroll
    for (int i = 0; i < 16; ++i)
      sums[i] = rows[i / 2][i % 2] + rows[i / 2][2 + i % 2];
    int column = 0;
    halve<8>(sums, column);
    halve<4>(sums, column);
    halve<2>(sums, column);
    column += lane() % 4 * 2;
#pragma unroll
    for (int i = 0; i < 2; ++i)
      if (column + i < P::size)
        to[column + i] = sums[i] * scale;
  }
};

} // namespace frit

#endif // FRIT_CODEGEN_CUDA_ATTENTION_ATTENTION_GRADIENT_ROWS_CUH
