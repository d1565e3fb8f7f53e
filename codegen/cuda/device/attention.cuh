//===- attention.cuh - Own attention, keys passing by in tiles ------------===//
//
// O = softmax(scale · Q·Kᵀ + mask)·V head by head, with the meaning of
// nn.attention, and no scores in memory: rows of queries stay with a warp, the
// keys and values pass through shared memory, and the softmax goes along
// (Milakov and Gimelshein, arXiv:1805.02867). The division of the work is that
// of FlashAttention-2 (Dao, arXiv:2307.08691). What is computed is a struct of
// constants:
//
//   struct P {
//     using T = frit::f16;                        // or bf16; of Q, K, V and O
//     using Mask = void;                          // or float, f16, bf16: added
//                                                 // to the scaled scores; or
//                                                 // frit::boolean: who counts
//     static constexpr int batch, heads;
//     static constexpr int groups;                // heads of K and V
//     static constexpr int queries, keys;
//     static constexpr int size, valueSize;       // of a row of Q and K; V, O
//     static constexpr float scale;
//     static constexpr bool causal;
//     static constexpr int causalOffset = 0;      // row i sees keys up to
//                                                 // i + causalOffset
//     using Q = frit::Strides<batch, head, row>;  // in elements; K, V, O too
//     using M = frit::Strides<0, 0, 0, 1>;        // of the mask, with columns;
//                                                 // 0 where it repeats
//     static constexpr int tileM = 64;            // queries of a block
//     static constexpr int rowsPerWarp = 16;      // 16 or 32; divides tileM
//     static constexpr int tileN = 64;            // keys at once, 16 · n
//     static constexpr int splits = 1;            // sets of warps that share a
//                                                 // block's queries and take
//                                                 // different keys
//   };
//
// A kernel calls attention<P>(q, k, v, mask, o), mask null where Mask is void.
// Its launch follows from AttentionShape<P>: blocks of kThreads = 32 · splits ·
// tileM / rowsPerWarp threads, kBlocks of them (any one-dimensional grid is
// right) and kShared bytes of dynamic shared memory.
//
// It takes sm_80 or later. size, valueSize and the strides of Q, K, V and O are
// multiples of 8 and those four start at multiples of 16 bytes. A mask that
// kMaskPairs<P> holds for starts at a multiple of two elements.
//
// A row that may see no key at all, by a mask of bools or by the causal rule,
// is zero. One whose keys all have the same large negative number added is the
// mean of the values, as softmax has it.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_DEVICE_ATTENTION_CUH
#define FRIT_DEVICE_ATTENTION_CUH

#include "frit/mma.cuh"
#include "frit/tile.cuh"

namespace frit {

/// Elements between neighbours of each dimension.
template <int64_t Batch, int64_t Head, int64_t Row, int64_t Column = 1>
struct Strides {
  static constexpr int64_t batch = Batch, head = Head, row = Row;
  static constexpr int64_t column = Column;
};

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

/// 2^x to about two units in the last place; 0 for -infinity.
__device__ inline float fastExp2(float x) {
#ifdef FRIT_EMULATE
  return exp2(x);
#else
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
#endif
}

/// Two values as neighbours of T, the first in the low half.
template <class T> __device__ inline uint32_t packPair(float low, float high) {
#if defined(FRIT_EMULATE) || __CUDA_ARCH__ < 800
  T pair[2];
  store(pair[0], low);
  store(pair[1], high);
  return pair[0].bits | uint32_t(pair[1].bits) << 16;
#else
  uint32_t result;
  if constexpr (kSame<T, f16>)
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(result) : "f"(high), "f"(low));
  else
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(result) : "f"(high), "f"(low));
  return result;
#endif
}

//===----------------------------------------------------------------------===//
// Rows in shared memory
//===----------------------------------------------------------------------===//

/// Rows of 16-bit elements. They are an odd number of pieces of 8 apart, so
/// that the 8 rows which one matrix load reads lie in different banks.
template <int Rows, int Size> struct RowTile {
  static_assert(Size % 16 == 0);
  static constexpr int kRows = Rows, kPitch = Size / 8 + 1;

  struct alignas(16) Piece {
    uint16_t bits[8];
  };
  Piece pieces[Rows * kPitch];

  __device__ Piece *at(int row, int col) {
    return &pieces[row * kPitch + col / 8];
  }

  /// The fragment of `mma`'s a: 16 rows by 16 columns.
  __device__ void loadA(uint32_t (&a)[4], int row, int col) {
    int lane = threadIdx.x % 32, matrix = lane / 8;
    loadMatrices<false>(
        a, at(row + matrix % 2 * 8 + lane % 8, col + matrix / 2 * 8));
  }

  /// Two of `mma`'s b, whose columns are 16 rows of this tile.
  __device__ void loadRows(uint32_t (&b)[4], int row, int col) {
    int lane = threadIdx.x % 32, matrix = lane / 8;
    loadMatrices<false>(
        b, at(row + matrix / 2 * 8 + lane % 8, col + matrix % 2 * 8));
  }

  /// Two of `mma`'s b, whose columns are 16 columns of this tile.
  __device__ void loadColumns(uint32_t (&b)[4], int row, int col) {
    int lane = threadIdx.x % 32, matrix = lane / 8;
    loadMatrices<true>(
        b, at(row + matrix % 2 * 8 + lane % 8, col + matrix / 2 * 8));
  }
};

/// Starts copying rows [first, first + Rows) of `Width` elements; what lies
/// past the row `limit`, or to the right of the width, becomes zeros.
template <int Threads, int Width, int64_t Pitch, bool AllInside, class T,
          int Rows, int Size>
__device__ inline void fetchRows(RowTile<Rows, Size> &to, const T *from,
                                 int first, int limit) {
  using Offset = OffsetIn<Pitch * 65536>;
  constexpr int pieces = (Width + 15) / 16 * 2, count = Rows * pieces;
  from += int64_t(first) * Pitch;
#pragma unroll
  for (int i = 0; i < (count + Threads - 1) / Threads; ++i) {
    int piece = i * Threads + threadIdx.x;
    if (count % Threads != 0 && piece >= count)
      break;
    int row = piece / pieces, col = piece % pieces * 8;
    bool inside =
        (AllInside || first + row < limit) && (Width % 16 == 0 || col < Width);
    // A copy of no bytes still wants an address that could be read.
    copyAsync(to.at(row, col),
              inside ? from + Offset(row) * Offset(Pitch) + col
                     : from - int64_t(first) * Pitch,
              inside ? 16 : 0);
  }
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

/// How a block divides its work, and what a launch needs.
template <class P> struct AttentionShape {
  static constexpr int kSize = (P::size + 15) / 16 * 16;
  static constexpr int kValueSize = (P::valueSize + 15) / 16 * 16;
  static constexpr int kTeamThreads = P::tileM / P::rowsPerWarp * 32;
  static constexpr int kThreads = kTeamThreads * P::splits;
  static constexpr int kTiles = (P::queries + P::tileM - 1) / P::tileM;
  static constexpr int64_t kBlocks = int64_t(P::batch) * P::heads * kTiles;

  /// Keys in shared memory at once, tileN for each set of warps.
  static constexpr int kStageKeys = P::tileN * P::splits;
  static constexpr int kStages = P::keys > kStageKeys ? 2 : 1;

  /// The queries, and in the end the results.
  using QTile = RowTile<P::tileM, (kSize > kValueSize ? kSize : kValueSize)>;
  using KTile = RowTile<kStageKeys, kSize>;
  using VTile = RowTile<kStageKeys, kValueSize>;

  /// What a thread tells of its rows when sets of warps join their results.
  static constexpr int kJoined = P::rowsPerWarp / 16 * (kValueSize / 2 + 4);
  static constexpr int kJoinBytes =
      (P::splits - 1) * kJoined * kTeamThreads * int(sizeof(float));
  static constexpr int kStageBytes =
      kStages * int(sizeof(KTile) + sizeof(VTile));
  static constexpr int kShared =
      int(sizeof(QTile)) +
      (kStageBytes > kJoinBytes ? kStageBytes : kJoinBytes);

  static_assert(P::rowsPerWarp == 16 || P::rowsPerWarp == 32);
  static_assert(P::tileM % P::rowsPerWarp == 0 && P::tileN % 16 == 0);
  static_assert(P::size % 8 == 0 && P::valueSize % 8 == 0);
  static_assert(P::heads % P::groups == 0);
};

template <class P>
inline constexpr bool kHasMask = !kSame<typename P::Mask, void>;
template <class P>
inline constexpr bool kAddsMask =
    kHasMask<P> && !kSame<typename P::Mask, boolean>;

/// Whether two neighbours of a row of the mask are one access.
template <class P>
inline constexpr bool kMaskPairs =
    P::M::column == 1 && P::keys % 2 == 0 && P::M::row % 2 == 0 &&
    P::M::head % 2 == 0 && P::M::batch % 2 == 0;

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

/// Scores are taken to powers of two, so that the scale and the change of base
/// are one factor. It waits for the subtraction of the maximum unless a mask is
/// added before, or it turns the order around.
template <class P> struct AttentionScores {
  static constexpr float kLog2E = 1.44269504f;
  static constexpr bool kScaledFirst = kAddsMask<P> || !(P::scale > 0);
  static constexpr float kLate = kScaledFirst ? 1.0f : P::scale * kLog2E;
  static constexpr float kLowest = -3.402823466e38f;

  /// What a mask adds to the scores of (row, col) and (row, col + 1), a batch
  /// and head's mask being at `mask`.
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
  __device__ static float term(float value) { return value * kLog2E; }
  __device__ static float term(bool counts) { return counts ? 0 : -INFINITY; }

  /// The score of a product. No finite mask makes it infinite: rows that are
  /// masked by the lowest number of all stay comparable.
  __device__ static float scoreOf(float product, float term) {
    if constexpr (kAddsMask<P>)
      return fmaxf(fma(product, P::scale * kLog2E, term), kLowest);
    else if constexpr (kScaledFirst)
      return product * (P::scale * kLog2E) + term;
    else
      return product + term;
  }

  /// The first key that `row` does not see.
  __device__ static int limitOf(int row) {
    int limit = row + 1 + P::causalOffset;
    return !P::causal || limit > P::keys ? P::keys : limit;
  }
};

//===----------------------------------------------------------------------===//
// A warp's rows
//===----------------------------------------------------------------------===//

/// The rows of one warp: their queries, what was summed so far, and the maximum
/// and the sum of the weights that this is relative to. Of the 16 × 8 fragments
/// a thread has the rows lane / 4 and lane / 4 + 8, each twice.
template <class P> struct AttentionRows {
  using T = typename P::T;
  using Shape = AttentionShape<P>;
  using Scores = AttentionScores<P>;
  static constexpr int kParts = P::rowsPerWarp / 16;
  static constexpr int kKeys = P::tileN / 8;
  static constexpr int kSteps = Shape::kSize / 16;
  static constexpr int kValues = Shape::kValueSize / 8;
  /// Wide rows of queries are read again for every tile of keys.
  static constexpr bool kKeepsQueries = kSteps * kParts <= 8;

  typename Shape::QTile &queries;
  const typename P::Mask *mask;
  int firstInTile, firstRow;
  uint32_t kept[kParts][kKeepsQueries ? kSteps : 1][4];
  float sums[kParts][kValues][4] = {};
  float top[kParts][2], total[kParts][2] = {};

  __device__ AttentionRows(typename Shape::QTile &queries,
                           const typename P::Mask *mask, int firstInTile,
                           int firstRow)
      : queries(queries), mask(mask), firstInTile(firstInTile),
        firstRow(firstRow) {
#pragma unroll
    for (int part = 0; part < kParts; ++part)
      top[part][0] = top[part][1] = -INFINITY;
  }

  /// To be called once the queries are in shared memory.
  __device__ void keepQueries() {
    if constexpr (kKeepsQueries)
#pragma unroll
      for (int part = 0; part < kParts; ++part)
#pragma unroll
        for (int step = 0; step < kSteps; ++step)
          queries.loadA(kept[part][step], firstInTile + part * 16, step * 16);
  }

  __device__ int rowOf(int part, int half) const {
    return firstRow + part * 16 + half * 8 + threadIdx.x % 32 / 4;
  }
  __device__ int columnOf(int key) const {
    return key * 8 + threadIdx.x % 4 * 2;
  }

  /// The products with the keys from row `first` of the tile on.
  __device__ void multiplyKeys(float (&products)[kParts][kKeys][4],
                               typename Shape::KTile &keys, int first) {
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      if constexpr (!kKeepsQueries)
#pragma unroll
        for (int part = 0; part < kParts; ++part)
          queries.loadA(kept[part][0], firstInTile + part * 16, step * 16);
#pragma unroll
      for (int key = 0; key < kKeys; key += 2) {
        uint32_t b[4];
        keys.loadRows(b, first + key * 8, step * 16);
        const uint32_t low[2] = {b[0], b[1]}, high[2] = {b[2], b[3]};
#pragma unroll
        for (int part = 0; part < kParts; ++part) {
          const auto &a = kept[part][kKeepsQueries ? step : 0];
          mma<T>(products[part][key], a, low);
          mma<T>(products[part][key + 1], a, high);
        }
      }
    }
  }

  /// Makes scores of products with the keys from `firstKey` on.
  __device__ void finishScores(float (&scores)[kParts][kKeys][4],
                               const float (&shared)[kKeys][2], int firstKey) {
    if constexpr (kHasMask<P> || Scores::kScaledFirst)
#pragma unroll
      for (int part = 0; part < kParts; ++part)
#pragma unroll
        for (int key = 0; key < kKeys; ++key)
#pragma unroll
          for (int half = 0; half < 2; ++half) {
            float terms[2] = {shared[key][0], shared[key][1]};
            if constexpr (kHasMask<P> && P::M::row != 0)
              Scores::loadMask(terms, mask, rowOf(part, half),
                               firstKey + columnOf(key));
#pragma unroll
            for (int i = 0; i < 2; ++i) {
              float &score = scores[part][key][half * 2 + i];
              score = Scores::scoreOf(score, terms[i]);
            }
          }
    if (firstKey + P::tileN <= Scores::limitOf(firstRow))
      return;
#pragma unroll
    for (int part = 0; part < kParts; ++part)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        int limit = Scores::limitOf(rowOf(part, half)) - firstKey;
#pragma unroll
        for (int key = 0; key < kKeys; ++key)
#pragma unroll
          for (int i = 0; i < 2; ++i)
            if (columnOf(key) + i >= limit)
              scores[part][key][half * 2 + i] = -INFINITY;
      }
  }

  /// Makes weights of scores, relative to the maximum up to here, and brings
  /// what was summed before to the same.
  __device__ void weigh(float (&scores)[kParts][kKeys][4]) {
#pragma unroll
    for (int part = 0; part < kParts; ++part)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float best = top[part][half];
#pragma unroll
        for (int key = 0; key < kKeys; ++key)
          best = fmaxf(best, fmaxf(scores[part][key][half * 2],
                                   scores[part][key][half * 2 + 1]));
        best = fmaxf(best, __shfl_xor_sync(~0u, best, 1));
        best = fmaxf(best, __shfl_xor_sync(~0u, best, 2));
        // Where nothing counts yet, any base will do but an infinite one.
        float base = best == -INFINITY ? 0 : best * Scores::kLate;
        float rest = fastExp2(fma(top[part][half], Scores::kLate, -base));
        top[part][half] = best;
        float sum = 0;
#pragma unroll
        for (int key = 0; key < kKeys; ++key)
#pragma unroll
          for (int i = 0; i < 2; ++i) {
            float &score = scores[part][key][half * 2 + i];
            score = fastExp2(fma(score, Scores::kLate, -base));
            sum += score;
          }
        total[part][half] = total[part][half] * rest + sum;
        scaleSums(part, half, rest);
      }
  }

  __device__ void scaleSums(int part, int half, float factor) {
#pragma unroll
    for (int value = 0; value < kValues; ++value)
#pragma unroll
      for (int i = 0; i < 2; ++i)
        sums[part][value][half * 2 + i] *= factor;
  }

  /// Adds the values from row `first` of the tile on, weighted. What `mma`
  /// gives is laid out as what it takes.
  __device__ void addValues(const float (&weights)[kParts][kKeys][4],
                            typename Shape::VTile &values, int first) {
#pragma unroll
    for (int key = 0; key < kKeys; key += 2) {
      uint32_t a[kParts][4];
#pragma unroll
      for (int part = 0; part < kParts; ++part)
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const float *pair = &weights[part][key + i / 2][i % 2 * 2];
          a[part][i] = packPair<T>(pair[0], pair[1]);
        }
#pragma unroll
      for (int value = 0; value < kValues; value += 2) {
        uint32_t b[4];
        values.loadColumns(b, first + key * 8, value * 8);
        const uint32_t low[2] = {b[0], b[1]}, high[2] = {b[2], b[3]};
#pragma unroll
        for (int part = 0; part < kParts; ++part) {
          mma<T>(sums[part][value], a[part], low);
          mma<T>(sums[part][value + 1], a[part], high);
        }
      }
    }
  }

  /// Calls `visit` for all that the threads of another set of warps would have
  /// to know of these rows: sums, totals and maxima.
  template <class Visit> __device__ void forEach(const Visit &visit) {
    int at = 0;
#pragma unroll
    for (int part = 0; part < kParts; ++part) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        visit(at++, top[part][half]);
        visit(at++, total[part][half]);
      }
#pragma unroll
      for (int value = 0; value < kValues; ++value)
#pragma unroll
        for (int i = 0; i < 4; ++i)
          visit(at++, sums[part][value][i]);
    }
  }

  /// Adds what other warps found for the same rows, `stride` floats apart.
  __device__ void join(const float *other, int stride) {
    constexpr int perPart = Shape::kJoined / kParts;
#pragma unroll
    for (int part = 0; part < kParts; ++part)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const float *from = other + part * perPart * stride;
        float otherTop = from[half * 2 * stride];
        float best = fmaxf(top[part][half], otherTop);
        float base = best == -INFINITY ? 0 : best * Scores::kLate;
        float mine = fastExp2(fma(top[part][half], Scores::kLate, -base));
        float theirs = fastExp2(fma(otherTop, Scores::kLate, -base));
        top[part][half] = best;
        total[part][half] =
            total[part][half] * mine + from[(half * 2 + 1) * stride] * theirs;
#pragma unroll
        for (int value = 0; value < kValues; ++value)
#pragma unroll
          for (int i = 0; i < 2; ++i) {
            float &sum = sums[part][value][half * 2 + i];
            int at = 4 + value * 4 + half * 2 + i;
            sum = sum * mine + from[at * stride] * theirs;
          }
      }
  }

  /// Writes the rows to O by way of shared memory, which makes whole pieces of
  /// a thread's pairs. No other warp may still read these rows' queries.
  __device__ void store(T *o) {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int part = 0; part < kParts; ++part)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float sum = total[part][half];
        sum += __shfl_xor_sync(~0u, sum, 1);
        sum += __shfl_xor_sync(~0u, sum, 2);
        float factor = sum == 0 ? 0 : 1 / sum;
        int row = firstInTile + part * 16 + half * 8 + lane / 4;
#pragma unroll
        for (int value = 0; value < kValues; ++value) {
          const float *pair = &sums[part][value][half * 2];
          auto *to = reinterpret_cast<uint32_t *>(queries.at(row, value * 8));
          to[lane % 4] = packPair<T>(pair[0] * factor, pair[1] * factor);
        }
      }
    __syncwarp();
    constexpr int pieces = P::valueSize / 8, count = P::rowsPerWarp * pieces;
    using Piece = typename Shape::QTile::Piece;
#pragma unroll
    for (int i = 0; i < (count + 31) / 32; ++i) {
      int piece = i * 32 + lane, row = piece / pieces, col = piece % pieces * 8;
      if (piece < count && firstRow + row < P::queries)
        *reinterpret_cast<Piece *>(o + (firstRow + row) * P::O::row + col) =
            *queries.at(firstInTile + row, col);
    }
  }
};

//===----------------------------------------------------------------------===//
// The kernel
//===----------------------------------------------------------------------===//

/// The queries from `firstRow` on, of one head; the pointers are the head's.
template <class P>
__device__ inline void
attentionTile(const typename P::T *q, const typename P::T *k,
              const typename P::T *v, const typename P::Mask *mask,
              typename P::T *o, int firstRow) {
  using Shape = AttentionShape<P>;
  using Scores = AttentionScores<P>;
  using Rows = AttentionRows<P>;
  constexpr int stageKeys = Shape::kStageKeys, threads = Shape::kThreads;
  auto *shared = dynamicShared<unsigned char>();
  auto &qTile = *reinterpret_cast<typename Shape::QTile *>(shared);
  shared += sizeof(qTile);
  auto *kTiles = reinterpret_cast<typename Shape::KTile *>(shared);
  auto *vTiles =
      reinterpret_cast<typename Shape::VTile *>(kTiles + Shape::kStages);
  const int split = threadIdx.x / Shape::kTeamThreads;
  const int thread = threadIdx.x % Shape::kTeamThreads;
  const int firstInTile = thread / 32 * P::rowsPerWarp;
  const int lastRow = firstRow + P::tileM - 1;
  const int stages =
      P::causal ? (Scores::limitOf(lastRow) + stageKeys - 1) / stageKeys
                : (P::keys + stageKeys - 1) / stageKeys;

  constexpr bool wholeKeys = P::keys % stageKeys == 0;
  auto fetchKeys = [&](int stage) {
    fetchRows<threads, P::size, P::K::row, wholeKeys>(
        kTiles[stage % Shape::kStages], k, stage * stageKeys, P::keys);
  };
  auto fetchValues = [&](int stage) {
    fetchRows<threads, P::valueSize, P::V::row, wholeKeys>(
        vTiles[stage % Shape::kStages], v, stage * stageKeys, P::keys);
  };

  // The tile before this one may still be read.
  __syncthreads();
  fetchRows<threads, P::size, P::Q::row, P::queries % P::tileM == 0>(
      qTile, q, firstRow, P::queries);
  fetchKeys(0);
  commitCopies();
  fetchValues(0);
  commitCopies();

  Rows rows(qTile, mask, firstInTile, firstRow + firstInTile);
  const int warpLimit =
      Scores::limitOf(firstRow + firstInTile + P::rowsPerWarp - 1);
  for (int stage = 0; stage < stages; ++stage) {
    // The first values may come while the first scores are computed.
    if (stage == 0)
      waitCopies<1>();
    else
      waitCopies<0>();
    // Everyone's copies are there, and nobody reads the stage that is next.
    __syncthreads();
    if (stage == 0)
      rows.keepQueries();
    if (stage + 1 < stages) {
      fetchKeys(stage + 1);
      fetchValues(stage + 1);
    }
    commitCopies();
    const int firstKey = stage * stageKeys + split * P::tileN;
    const bool works = firstKey < warpLimit;
    float scores[Rows::kParts][Rows::kKeys][4] = {};
    if (works) {
      float shared[Rows::kKeys][2] = {};
      if constexpr (kHasMask<P> && P::M::row == 0)
#pragma unroll
        for (int key = 0; key < Rows::kKeys; ++key)
          Scores::loadMask(shared[key], mask, 0, firstKey + rows.columnOf(key));
      rows.multiplyKeys(scores, kTiles[stage % Shape::kStages],
                        split * P::tileN);
      rows.finishScores(scores, shared, firstKey);
      rows.weigh(scores);
    }
    if (stage == 0) {
      waitCopies<1>();
      __syncthreads();
    }
    if (works)
      rows.addValues(scores, vTiles[stage % Shape::kStages], split * P::tileN);
  }
  waitCopies<0>();

  if constexpr (P::splits > 1) {
    // A float of every thread of a set lies side by side.
    constexpr int stride = Shape::kTeamThreads;
    auto *parts = reinterpret_cast<float *>(kTiles) + thread;
    __syncthreads();
    if (split != 0)
      rows.forEach([&](int at, float value) {
        parts[((split - 1) * Shape::kJoined + at) * stride] = value;
      });
    __syncthreads();
    if (split != 0)
      return;
#pragma unroll
    for (int other = 0; other < P::splits - 1; ++other)
      rows.join(parts + other * Shape::kJoined * stride, stride);
  }
  rows.store(o);
}

/// All heads' queries; null for an absent mask.
template <class P>
__device__ inline void attention(const typename P::T *q, const typename P::T *k,
                                 const typename P::T *v,
                                 const typename P::Mask *mask,
                                 typename P::T *o) {
  using Shape = AttentionShape<P>;
  constexpr int heads = P::batch * P::heads;
  waitForInputs();
  releaseNext();
  for (int64_t i = blockIdx.x; i < Shape::kBlocks; i += gridDim.x) {
    // Tiles of a head follow each other, which share its keys. Under the causal
    // rule the last tile has most to do, and those go first.
    int tile =
        P::causal ? Shape::kTiles - 1 - int(i / heads) : int(i % Shape::kTiles);
    int both = P::causal ? int(i % heads) : int(i / Shape::kTiles);
    int64_t batch = both / P::heads, head = both % P::heads;
    int64_t group = head / (P::heads / P::groups);
    const typename P::Mask *maskAt = nullptr;
    if constexpr (kHasMask<P>)
      maskAt = mask + batch * P::M::batch + head * P::M::head;
    attentionTile<P>(q + batch * P::Q::batch + head * P::Q::head,
                     k + batch * P::K::batch + group * P::K::head,
                     v + batch * P::V::batch + group * P::V::head, maskAt,
                     o + batch * P::O::batch + head * P::O::head,
                     tile * P::tileM);
  }
}

} // namespace frit

#endif // FRIT_DEVICE_ATTENTION_CUH
