//===- attention_rows.cuh - Shared code of attention kernels --------------===//
//
// Scores, softmax along the keys, and stores, for the 16 rows that a warp has
// of one tensor core product (mma or WGMMA). A thread's fragments have rows
// lane / 4 and lane / 4 + 8: of every 8 columns, two neighbouring ones of the
// first row, then the same two of the second.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_ATTENTION_ATTENTION_ROWS_CUH
#define FRIT_CODEGEN_CUDA_ATTENTION_ATTENTION_ROWS_CUH

#include "frit/attention_products.cuh"

namespace frit {

/// Stride of each dimension, in elements.
template <int64_t Batch, int64_t Head, int64_t Row, int64_t Column = 1>
struct Strides {
  static constexpr int64_t batch = Batch, head = Head, row = Row;
  static constexpr int64_t column = Column;
};

//===----------------------------------------------------------------------===//
// Masks
//===----------------------------------------------------------------------===//

/// Whether the mask gives each query its range of keys.
template <class P>
inline constexpr bool kHasRanges = kSame<typename P::Mask, int32_t>;
/// Whether the mask has a term for each score.
template <class P>
inline constexpr bool kHasMask =
    !kSame<typename P::Mask, void> && !kHasRanges<P>;
template <class P>
inline constexpr bool kAddsMask =
    kHasMask<P> && !kSame<typename P::Mask, boolean>;

/// Whether the mask's elements for two neighbouring keys are loaded by one
/// access.
template <class P>
inline constexpr bool kMaskPairs =
    P::M::column == 1 && P::keys % 2 == 0 && P::M::row % 2 == 0 &&
    P::M::head % 2 == 0 && P::M::batch % 2 == 0;

/// Rows [first, last).
struct RowRange {
  int first, last;
};

/// Loads the range of row `row` of a mask with ranges; ends are at most
/// `limit`.
template <class P>
__device__ inline RowRange loadRange(const typename P::Mask *mask, int row,
                                     int limit) {
  const int32_t *ends = mask + int64_t(row) * P::M::row;
  const int first = ends[0], last = ends[1];
  return {first > 0 ? first : 0, last < limit ? last : limit};
}

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

/// Scores in the softmax's units. It uses powers of two, so that scale and
/// change of base are one factor, applied after subtracting the maximum. If a
/// mask is added first, or the scale is negative and would reverse the order,
/// it is applied before.
template <class P> struct AttentionScores {
  static constexpr float kLog2E = 1.44269504f;
  static constexpr bool kScaledFirst = kAddsMask<P> || !(P::scale > 0);
  static constexpr float kLate = kScaledFirst ? 1.0f : P::scale * kLog2E;
  /// Half of the lowest float: with a score added, it is still finite.
  static constexpr float kLowest = -1.701411733e38f;
  static constexpr float kLowestHalf = -65504;
  /// The least score in statistics: beside a lower one, the logarithm of a sum
  /// would have too few bits. Scores so low differ by less than a mask's
  /// rounding, and count as equal.
  static constexpr float kFloor = -32768;

  /// Loads the mask's terms for the scores (row, col) and (row, col + 1);
  /// `mask` is that of the batch and head.
  __device__ static void
  loadMask(float (&terms)[2], const typename P::Mask *mask, int row, int col) {
    row = row < P::queries ? row : P::queries - 1;
    const auto *from = mask + row * P::M::row + col * P::M::column;
    if constexpr (kMaskPairs<P>) {
      Compute<typename P::Mask> pair[2] = {};
      if (col < P::keys)
        loadVector(pair, from);
      terms[0] = term(pair[0]);
      terms[1] = term(pair[1]);
    } else {
      terms[0] = col < P::keys ? term(load(*from)) : 0;
      terms[1] = col + 1 < P::keys ? term(load(from[P::M::column])) : 0;
    }
  }
  /// Only -inf hides a key. Finite masks stay finite, so that rows masked with
  /// the lowest number can still be compared. That of f16 is too near to the
  /// scores and stands for the lowest float.
  __device__ static float term(float value) {
    if (value == -INFINITY)
      return value;
    if (kSame<typename P::Mask, f16> && value <= kLowestHalf)
      return kLowest;
    return fmaxf(value * kLog2E, kLowest);
  }
  __device__ static float term(bool counts) { return counts ? 0 : -INFINITY; }

  /// Returns the score of a product.
  __device__ static float scoreOf(float product, float term) {
    if constexpr (kScaledFirst)
      return fma(product, P::scale * kLog2E, term);
    else
      return product + term;
  }

  /// Returns the keys that `row` sees. `mask` is that of the batch and head.
  __device__ static RowRange keysOf(const typename P::Mask *mask, int row) {
    if constexpr (kHasRanges<P>) {
      return loadRange<P>(mask, row < P::queries ? row : P::queries - 1,
                          P::keys);
    } else {
      int limit = row + 1 + P::causalOffset;
      return {0, !P::causal || limit > P::keys ? P::keys : limit};
    }
  }
  /// Returns the keys that any of `rows` rows sees.
  __device__ static RowRange keysOf(const typename P::Mask *mask, int row,
                                    int rows) {
    return {keysOf(mask, row).first, keysOf(mask, row + rows - 1).last};
  }
  /// Returns the keys that all of `rows` rows see.
  __device__ static RowRange sharedKeysOf(const typename P::Mask *mask, int row,
                                          int rows) {
    return {keysOf(mask, row + rows - 1).first, keysOf(mask, row).last};
  }
};

//===----------------------------------------------------------------------===//
// Softmax
//===----------------------------------------------------------------------===//

/// Online softmax of 16 rows: the maxima so far, and this thread's part of the
/// sums of weights relative to them.
template <class P> struct AttentionSoftmax {
  using Scores = AttentionScores<P>;
  const typename P::Mask *mask = nullptr;
  int firstRow = 0;
  float top[2] = {-INFINITY, -INFINITY}, total[2] = {};

  __device__ int rowOf(int half) const {
    return firstRow + half * 8 + threadIdx.x % 32 / 4;
  }
  __device__ static int columnOf(int key) {
    return key * 8 + threadIdx.x % 4 * 2;
  }

  /// Loads the mask's terms if they are the same for all rows, for keys from
  /// `firstKey` on.
  template <int Keys>
  __device__ static void loadShared(float (&terms)[Keys][2],
                                    const typename P::Mask *mask,
                                    int firstKey) {
    if constexpr (kHasMask<P> && P::M::row == 0)
#pragma unroll
      for (int key = 0; key < Keys; ++key)
        Scores::loadMask(terms[key], mask, 0, firstKey + columnOf(key));
  }

  /// Converts products with the keys from `firstKey` on to scores.
  template <int Keys>
  __device__ void finishScores(float (&scores)[Keys][4],
                               const float (&shared)[Keys][2],
                               int firstKey) const {
    if constexpr (kHasMask<P> || Scores::kScaledFirst)
#pragma unroll
      for (int key = 0; key < Keys; ++key)
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          float terms[2] = {shared[key][0], shared[key][1]};
          if constexpr (kHasMask<P> && P::M::row != 0)
            Scores::loadMask(terms, mask, rowOf(half),
                             firstKey + columnOf(key));
#pragma unroll
          for (int i = 0; i < 2; ++i) {
            float &score = scores[key][half * 2 + i];
            score = Scores::scoreOf(score, terms[i]);
          }
        }
    const RowRange shown = Scores::sharedKeysOf(mask, firstRow, 16);
    if (firstKey + Keys * 8 <= shown.last && firstKey >= shown.first)
      return;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const RowRange keys = Scores::keysOf(mask, rowOf(half));
      const int first = keys.first - firstKey, last = keys.last - firstKey;
#pragma unroll
      for (int key = 0; key < Keys; ++key)
#pragma unroll
        for (int i = 0; i < 2; ++i)
          if (columnOf(key) + i >= last ||
              (kHasRanges<P> && columnOf(key) + i < first))
            scores[key][half * 2 + i] = -INFINITY;
    }
  }

  /// Returns a finite base: any value will do while no key is visible.
  __device__ static float baseOf(float best) {
    return best == -INFINITY ? 0 : best * Scores::kLate;
  }

  /// Returns the base that statistics have.
  __device__ static float floorOf(float best) {
    const float base = baseOf(best);
    return kHasMask<P> && base < Scores::kFloor ? Scores::kFloor : base;
  }

  /// Converts scores to weights relative to the new maximum, and sets `rest`,
  /// the factors by which earlier sums must be rescaled.
  template <int Keys>
  __device__ void weigh(float (&scores)[Keys][4], float (&rest)[2]) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float best = top[half];
#pragma unroll
      for (int key = 0; key < Keys; ++key)
        best = fmaxf(best,
                     fmaxf(scores[key][half * 2], scores[key][half * 2 + 1]));
      best = fmaxf(best, __shfl_xor_sync(~0u, best, 1));
      best = fmaxf(best, __shfl_xor_sync(~0u, best, 2));
      float base = baseOf(best);
      rest[half] = fastExp2(fma(top[half], Scores::kLate, -base));
      top[half] = best;
      float sum = 0;
#pragma unroll
      for (int key = 0; key < Keys; ++key)
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          float &score = scores[key][half * 2 + i];
          score = fastExp2(fma(score, Scores::kLate, -base));
          sum += score;
        }
      total[half] = total[half] * rest[half] + sum;
    }
  }

  /// Merges the softmax of another warp for the same rows. Sets the factors for
  /// its sums (`theirs`) and for these (`mine`).
  __device__ void join(int half, float otherTop, float otherTotal, float &mine,
                       float &theirs) {
    float best = fmaxf(top[half], otherTop), base = baseOf(best);
    mine = fastExp2(fma(top[half], Scores::kLate, -base));
    theirs = fastExp2(fma(otherTop, Scores::kLate, -base));
    top[half] = best;
    total[half] = fma(total[half], mine, otherTotal * theirs);
  }

  /// Return the factor and the statistics of a row that sees no key.
  __device__ static float hiddenScale() { return P::unguarded ? NAN : 0; }
  __device__ static float hiddenStats() {
    return P::unguarded ? NAN : INFINITY;
  }
  /// Returns the statistics of a row with this maximum and sum of weights.
  __device__ static float statsOf(float top, float sum) {
    constexpr float kLn2 = 0.693147181f;
    return sum == 0 ? hiddenStats() : (floorOf(top) + log2(sum)) * kLn2;
  }

  /// Returns the factor that normalizes weighted sums: one over the sum of
  /// weights.
  __device__ float scaleOf(int half) const {
    float sum = total[half];
    sum += __shfl_xor_sync(~0u, sum, 1);
    sum += __shfl_xor_sync(~0u, sum, 2);
    return sum == 0 ? hiddenScale() : 1 / sum;
  }

  /// Stores the logarithms of the sums of exponentials of the rows' scores, if
  /// they are wanted.
  __device__ void storeStats(float *stats) const {
    if (!stats)
      return;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float sum = total[half];
      sum += __shfl_xor_sync(~0u, sum, 1);
      sum += __shfl_xor_sync(~0u, sum, 2);
      if (threadIdx.x % 4 == 0 && rowOf(half) < P::queries)
        stats[rowOf(half)] = statsOf(top[half], sum);
    }
  }
};

/// Scales both rows of a fragment.
template <int Columns>
__device__ inline void scaleRows(float (&sums)[Columns][4],
                                 const float (&factors)[2]) {
#pragma unroll
  for (int column = 0; column < Columns; ++column)
#pragma unroll
    for (int i = 0; i < 4; ++i)
      sums[column][i] *= factors[i / 2];
}

/// Stores 16 rows to a head's O through the rows of a shared tile from
/// `firstInTile` on, which combines threads' pairs into 16-byte pieces.
template <class P, class Tile, int Values>
__device__ inline void storeRows(typename P::T *o, Tile &tile, int firstInTile,
                                 const AttentionSoftmax<P> &softmax,
                                 const float (&sums)[Values][4]) {
  using Piece = typename Tile::Piece;
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float factor = softmax.scaleOf(half);
    int row = firstInTile + half * 8 + lane / 4;
#pragma unroll
    for (int value = 0; value < Values; ++value) {
      const float *pair = &sums[value][half * 2];
      auto *to = reinterpret_cast<uint32_t *>(tile.at(row, value * 8));
      to[lane % 4] =
          packPair<typename P::T>(pair[0] * factor, pair[1] * factor);
    }
  }
  __syncwarp();
  constexpr int pieces = P::valueSize / 8, count = 16 * pieces;
#pragma unroll
  for (int i = 0; i < (count + 31) / 32; ++i) {
    int piece = i * 32 + lane, row = piece / pieces, col = piece % pieces * 8;
    if (piece < count && softmax.firstRow + row < P::queries)
      *reinterpret_cast<Piece *>(o + (softmax.firstRow + row) * P::O::row +
                                 col) = *tile.at(firstInTile + row, col);
  }
  // All lanes must have read the rows before they are rewritten.
  __syncwarp();
}

/// Stores 16 rows of f32 to a head's O; with loadColumns' order of columns, a
/// thread has whole pieces.
template <class P, int Values>
__device__ inline void storePieces(float *o, const AttentionSoftmax<P> &softmax,
                                   const float (&sums)[Values][4]) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float factor = softmax.scaleOf(half);
    int row = softmax.rowOf(half);
    if (row >= P::queries)
      continue;
#pragma unroll
    for (int value = 0; value < Values; value += 4)
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        int col = value * 8 + threadIdx.x % 4 * 8 + i * 4;
        Pack<float, 4> piece;
#pragma unroll
        for (int j = 0; j < 4; ++j)
          piece.at[j] = sums[value + j][half * 2 + i] * factor;
        if (P::valueSize % 32 == 0 || col < P::valueSize)
          storePack(o + row * P::O::row + col, piece);
      }
  }
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

/// A tile of queries: its batch and head, and its first row.
struct AttentionTile {
  int batch, head, row;
};

/// Maps an index to a tile. Tiles of a head are consecutive, since they share
/// its keys. With the causal rule the last tiles have the most work and go
/// first.
template <class P, class Index>
__device__ inline AttentionTile attentionTileAt(Index index) {
  constexpr int tiles = (P::queries + P::tileM - 1) / P::tileM;
  constexpr int heads = P::batch * P::heads;
  int tile = P::causal ? tiles - 1 - int(index / heads) : int(index % tiles);
  int head = P::causal ? int(index % heads) : int(index / tiles);
  return {head / P::heads, head % P::heads, tile * P::tileM};
}

/// Returns the statistics of a tile's head, or null.
template <class P>
__device__ inline float *statsOf(float *stats, const AttentionTile &tile) {
  if (!stats)
    return nullptr;
  return stats + (int64_t(tile.batch) * P::heads + tile.head) * P::queries;
}

/// Returns the mask of a tile's head, or null.
template <class P>
__device__ inline const typename P::Mask *maskOf(const typename P::Mask *mask,
                                                 const AttentionTile &tile) {
  if constexpr (kHasMask<P> || kHasRanges<P>)
    return mask + tile.batch * P::M::batch + tile.head * P::M::head;
  return nullptr;
}

} // namespace frit

#endif // FRIT_CODEGEN_CUDA_ATTENTION_ATTENTION_ROWS_CUH
