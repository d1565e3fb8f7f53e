//===- integer_tile.cuh - A tile of a product of bytes --------------------===//
//
// A block computes tileM × tileN sums of (x - xZero) · (w - wZero):
//
//   Σ x·w - xZero · Σ w - wZero · Σ x + depth · xZero · wZero
//
// The first sum is the tensor cores'; the others are added only if a zero point
// is not 0, from the same registers. All are exact modulo 2^32. Floats of 8
// bits have the first sum alone, in f32.
//
// Each warp has warpM × warpN sums. With `split` > 1, that many groups of warps
// share the steps of k of every stage, and the first one adds up their sums.
// With `cluster` > 1, that many blocks share the stages; each adds up and
// stores a part of the sums.
//
// The filters of a warp are dealt out to its columns so that a thread gets sums
// of neighbours: lane l has filters l % 4 · 2G to l % 4 · 2G + 2G - 1 of each
// 8G, where G = kGroup. It stores them with one access.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_INTEGER_INTEGER_TILE_CUH
#define FRIT_CODEGEN_CUDA_INTEGER_INTEGER_TILE_CUH

#include "frit/float8_mma.cuh"
#include "frit/integer_mma.cuh"
#include "frit/tma.cuh"

/// Whether the blocks of a cluster can share the steps.
#if (FRIT_EMULATE >= 90 || __CUDA_ARCH__ >= 900) && !defined(FRIT_HAS_CLUSTERS)
#define FRIT_HAS_CLUSTERS
#endif

namespace frit {

/// Whether a problem P multiplies floats, of the formats floatX and floatW, and
/// the type of its sums.
template <class P> inline constexpr bool kHasFloats = requires { P::floatX; };
template <class P> struct ByteSumOf {
  using Type = int;
};
template <class P>
  requires kHasFloats<P>
struct ByteSumOf<P> {
  using Type = float;
};

/// Sizes that follow from a schedule P: tileM, tileN, warpM, warpN, depth,
/// stages, split, cluster, wgmma.
template <class P> struct IntegerPlan {
  static constexpr int kWarpsM = P::tileM / P::warpM;
  static constexpr int kWarpsN = P::tileN / P::warpN;
  static constexpr int kWarps = kWarpsM * kWarpsN;
  static constexpr int kThreads = kWarps * P::split * 32;
  static constexpr int kCountM = P::warpM / 16, kCountN = P::warpN / 8;
  /// Matrices of 8 columns that filters are dealt out to together, and a
  /// thread's neighbouring filters.
  static constexpr int kGroup = kCountN % 4 == 0 ? 4 : 2;
  static constexpr int kNeighbours = 2 * kGroup;
  static constexpr int kPieces = P::depth / 16;
  static constexpr int kBytesA = P::tileM * P::depth;
  static constexpr int kStageBytes = kBytesA + P::tileN * P::depth;
  static_assert(kCountM > 0 && kCountN % kGroup == 0 &&
                P::depth / 32 % P::split == 0 && kThreads % kPieces == 0);

  using Tile = ByteTile<P::depth>;

  /// Returns the filter of a column of the tile, relative to its first.
  __device__ static int filterOf(int column) {
    const int matrix = column / 8 % kGroup, pair = column % 8 / 2;
    return column / (8 * kGroup) * (8 * kGroup) + pair * kNeighbours +
           matrix * 2 + column % 2;
  }
};

/// The sums of a warp, by matrix of 16 × 8, and those of its bytes: of each row
/// and of each column, of one lane's steps.
template <class P> struct IntegerSums {
  using Plan = IntegerPlan<P>;
  using Sum = typename ByteSumOf<P>::Type;
  Sum of[Plan::kCountM][Plan::kCountN][4] = {};
  int rows[Plan::kCountM][2] = {}, cols[Plan::kCountN] = {};

  /// Adds the products of 32 steps, from step `k` of a stage on.
  __device__ void multiply(const unsigned char *a, const unsigned char *b,
                           int row, int col, int k, int xZero, int wZero) {
    const int lane = threadIdx.x % 32, matrix = lane / 8;
    uint32_t lines[Plan::kCountM][4], filters[Plan::kCountN][2];
#pragma unroll
    for (int i = 0; i < Plan::kCountM; ++i)
      loadMatrices<false>(
          lines[i],
          a + Plan::Tile::offset(row + i * 16 + matrix % 2 * 8 + lane % 8,
                                 k / 16 + matrix / 2));
#pragma unroll
    for (int j = 0; j < Plan::kCountN; j += 2) {
      uint32_t both[4];
      loadMatrices<false>(
          both, b + Plan::Tile::offset(col + (j + matrix / 2) * 8 + lane % 8,
                                       k / 16 + matrix % 2));
      filters[j][0] = both[0];
      filters[j][1] = both[1];
      filters[j + 1][0] = both[2];
      filters[j + 1][1] = both[3];
    }
#pragma unroll
    for (int i = 0; i < Plan::kCountM; ++i)
#pragma unroll
      for (int j = 0; j < Plan::kCountN; ++j)
        if constexpr (kHasFloats<P>)
          mmaFloats<P::floatX, P::floatW>(of[i][j], lines[i], filters[j]);
        else
          mmaBytes<P::signedX, P::signedW>(of[i][j], lines[i], filters[j]);
    if constexpr (!kHasFloats<P>)
      addFragments(lines, filters, xZero, wZero);
  }

  /// Adds the bytes of fragments to the sums of rows and columns.
  __device__ void addFragments(const uint32_t (&lines)[Plan::kCountM][4],
                               const uint32_t (&filters)[Plan::kCountN][2],
                               int xZero, int wZero) {
    if (xZero) {
#pragma unroll
      for (int j = 0; j < Plan::kCountN; ++j)
        cols[j] = addBytes<P::signedW>(
            filters[j][1], addBytes<P::signedW>(filters[j][0], cols[j]));
    }
    if (wZero) {
#pragma unroll
      for (int i = 0; i < Plan::kCountM; ++i)
#pragma unroll
        for (int half = 0; half < 2; ++half)
          rows[i][half] = addBytes<P::signedX>(
              lines[i][half + 2],
              addBytes<P::signedX>(lines[i][half], rows[i][half]));
    }
  }

  /// Subtracts the products of the zero points after `steps` steps.
  __device__ void center(int steps, int xZero, int wZero) {
    const int lane = threadIdx.x % 32;
    if (!xZero && !wZero)
      return;
#pragma unroll
    for (int j = 0; j < Plan::kCountN; ++j) {
      // Four lanes have the parts of a column.
      cols[j] += __shfl_xor_sync(~0u, cols[j], 1);
      cols[j] += __shfl_xor_sync(~0u, cols[j], 2);
    }
#pragma unroll
    for (int i = 0; i < Plan::kCountM; ++i)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        int &sum = rows[i][half];
        sum += __shfl_xor_sync(~0u, sum, 1);
        sum += __shfl_xor_sync(~0u, sum, 2);
      }
#pragma unroll
    for (int j = 0; j < Plan::kCountN; ++j)
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        // Column c of a pair is lane / 4 = lane % 4 · 2 + c of a fragment.
        int ofColumn =
            xZero * __shfl_sync(~0u, cols[j], (lane % 4 * 2 + c) * 4);
#pragma unroll
        for (int i = 0; i < Plan::kCountM; ++i)
#pragma unroll
          for (int half = 0; half < 2; ++half)
            of[i][j][half * 2 + c] +=
                steps * xZero * wZero - ofColumn - wZero * rows[i][half];
      }
  }

  /// Adds the sums of all groups of warps to those of the first one, by way of
  /// shared memory that no thread uses any more.
  __device__ void merge(Sum *shared) {
    constexpr int each = Plan::kCountM * Plan::kCountN * 4;
    const int group = threadIdx.x / (Plan::kWarps * 32);
    const int thread = threadIdx.x % (Plan::kWarps * 32);
    auto slot = [&](int from, int i) -> Sum & {
      return shared[((from - 1) * each + i) * Plan::kWarps * 32 + thread];
    };
    __syncthreads();
    if (group > 0) {
#pragma unroll
      for (int i = 0; i < each; ++i)
        slot(group, i) = (&of[0][0][0])[i];
    }
    __syncthreads();
    if (group == 0)
#pragma unroll
      for (int from = 1; from < P::split; ++from)
#pragma unroll
        for (int i = 0; i < each; ++i)
          (&of[0][0][0])[i] += slot(from, i);
  }

  /// Returns whether a block of the cluster stores a thread's neighbours from
  /// matrix `j` on, of the rows `half` of matrix `i`.
  __device__ static bool isOf(unsigned rank, int i, int j, int half) {
    return P::cluster == 1 ||
           ((j / Plan::kGroup * Plan::kCountM + i) * 2 + half) % P::cluster ==
               rank;
  }

#ifdef FRIT_HAS_CLUSTERS
  /// Adds the sums of the other blocks of the cluster to those that this one
  /// stores, by way of shared memory that no thread uses any more. Other blocks
  /// read this one's until endCluster().
  __device__ void mergeCluster(Sum *shared, unsigned rank) {
    const bool isFirst = threadIdx.x < Plan::kWarps * 32;
    auto slot = [&](int i, int j, int c) {
      return ((i * Plan::kCountN + j) * 4 + c) * Plan::kWarps * 32 +
             int(threadIdx.x);
    };
    __syncthreads();
    if (isFirst)
      forAll([&](int i, int j, int c) { shared[slot(i, j, c)] = of[i][j][c]; });
    arriveCluster();
    waitCluster();
    if (!isFirst)
      return;
#pragma unroll 1
    for (unsigned other = 1; other < P::cluster; ++other) {
      const Sum *there = sameInBlock(shared, (rank + other) % P::cluster);
      forAll([&](int i, int j, int c) {
        if (isOf(rank, i, j, c / 2))
          of[i][j][c] += there[slot(i, j, c)];
      });
    }
  }

  /// Waits until no block of the cluster needs this one's shared memory.
  __device__ static void endCluster() {
    arriveCluster();
    waitCluster();
  }

private:
  template <class Use> __device__ static void forAll(const Use &use) {
#pragma unroll
    for (int i = 0; i < Plan::kCountM; ++i)
#pragma unroll
      for (int j = 0; j < Plan::kCountN; ++j)
#pragma unroll
        for (int c = 0; c < 4; ++c)
          use(i, j, c);
  }
#endif
};

} // namespace frit

#endif // FRIT_CODEGEN_CUDA_INTEGER_INTEGER_TILE_CUH
