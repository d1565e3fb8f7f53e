//===- rows_gemm.cuh - Products of a few rows on the tensor cores ---------===//
//
// D = epilogue(A · Bᵀ + bias + R) for blocks of a few rows of A, as fast as B
// is read. Rows of B are the rows of mma.sync's first fragment, and rows of A
// the columns of the second. A warp has neighbouring tiles of 16 rows of B, for
// which it copies parts along k to its own stages in shared memory, ahead of
// their use. Each element of B is read by one lane, and no warp waits for
// another until all have their sums. P has gemm.cuh's A, D, Bias, m, n, k, lda,
// ldd, Epilogue and
//
//   static constexpr int tiles;    // of a warp, neighbours of one matrix
//   static constexpr int stages;   // of a warp, a power of two
//   static constexpr int split;    // warps that share k
//   static constexpr int threads;  // of a block
//   static constexpr int sharedBytes; // at least rowsGemmShared
//   static constexpr bool early;   // no kernel before this one writes B
// or what rows are multiplied by
//
// and what plain_tiles.cuh or sparse_tiles.cuh reads B by; code_rows.cuh has
// the same by codes. Which elements of k meet in a step does not matter, as
// both operands are taken alike. Sums do not depend on the other rows of A. P
// may have
//
//   static constexpr float epsilon; // rows of A are normalized
//   static constexpr bool isPair;   // there are two matrices B
//   static constexpr int rows;      // of A of a block, if there are more
//
// A normalized row is a · scale / sqrt(mean(a²) + epsilon), the root mean
// square norm. Warps multiply elements by the scale where they read them, sum
// their squares, and divide the sums of products in the end. Of two matrices,
// the sums of the second, rounded to D, take the place of R.
//
// The grid is ceil(m / rows) · ceil(n / (16 · tiles · warps / split)), where
// blocks of the same columns are neighbours; rows of A begin at multiples of 16
// bytes.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_ROWS_ROWS_GEMM_CUH
#define FRIT_CODEGEN_CUDA_ROWS_ROWS_GEMM_CUH

#include "frit/plain_tiles.cuh"
#include "frit/rows_end.cuh"

namespace frit {

/// Bytes of shared memory of a block.
template <class P, class Tiles = PlainTiles<P>>
__device__ constexpr int rowsGemmShared() {
  int stages = P::threads / 32 * P::stages *
               (kWarpTiles<P> * Tiles::bytes + Tiles::Rows::bytes);
  int sums = P::threads / 32 * (kColumnTiles<P> * 8) *
             (16 * kWarpTiles<P> + 4 + (kNormalizesRows<P> ? 1 : 0)) * 4;
  return stages > sums ? stages : sums;
}

template <class P, class Tiles = PlainTiles<P>>
__device__ inline void
rowsGemm(const typename P::A *a, const typename P::A *scale,
         const typename Tiles::Operand (&b)[kMatrices<P>],
         const typename P::Bias *bias, const typename P::D *r,
         typename P::D *d) {
  constexpr int warps = P::threads / 32, groups = warps / P::split;
  constexpr int columnTiles = kColumnTiles<P>;
  constexpr int64_t chunks = (P::k + Tiles::depth - 1) / Tiles::depth;
  constexpr int64_t allTiles = (P::n + 15) / 16;
  static_assert(warps % P::split == 0 && !(P::stages & (P::stages - 1)) &&
                rowsGemmShared<P, Tiles>() <= P::sharedBytes);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int part = warp % P::split, group = warp / P::split;
  const int64_t tile = (RowsBlock<P>::columns() * groups + group) * P::tiles;
  char *shared = dynamicShared<char>();
  // A stage has parts of rows of B, and after them of A.
  using RowsOfA = typename Tiles::Rows;
  constexpr int partOfA = kWarpTiles<P> * Tiles::bytes;
  constexpr int stageBytes = partOfA + RowsOfA::bytes;
  char *own = shared + warp * (P::stages * stageBytes);

  auto tileOf = [&](int t) {
    // Then tiles are at constant distances from each other.
    constexpr bool isWhole = allTiles % (groups * P::tiles) == 0;
    int64_t row = tile + t % P::tiles;
    return isWhole || row < allTiles ? row : allTiles - 1;
  };
  auto fetchB = [&](int at) {
    int64_t chunk = part + int64_t(at) * P::split;
    if (chunk < chunks) {
      char *stage = own + at % P::stages * stageBytes;
#pragma unroll
      for (int t = 0; t < kWarpTiles<P>; ++t)
        Tiles::fetch(stage + t * Tiles::bytes, b[t / P::tiles], tileOf(t),
                     chunk);
    }
  };
  auto fetchA = [&](int at) {
    int64_t chunk = part + int64_t(at) * P::split;
    if (chunk < chunks)
      RowsOfA::fetch(own + at % P::stages * stageBytes + partOfA, a, scale,
                     chunk * Tiles::depth);
    commitCopies(); // also of nothing, since waiting counts groups
  };
  if constexpr (!P::early)
    pdlWait();
#pragma unroll
  for (int at = 0; at < P::stages; ++at) {
    fetchB(at);
    commitCopies();
  }
  if constexpr (P::early)
    pdlWait();
#pragma unroll
  for (int at = 0; at < P::stages; ++at)
    fetchA(at);
  RowsEnd<P> end(bias, r, d);

  float total[kWarpTiles<P>][columnTiles][4] = {};
  RowSquares<P> squares;
  for (int at = 0; part + int64_t(at) * P::split < chunks; ++at) {
    waitCopies<P::stages - 1>();
    __syncwarp();
    const char *stage = own + at % P::stages * stageBytes;
    Tiles::multiply(total, squares, stage, stage + partOfA);
    __syncwarp();
    fetchB(at + P::stages);
    fetchA(at + P::stages);
  }

  if constexpr (requires { Tiles::scale; })
#pragma unroll
    for (int t = 0; t < kWarpTiles<P>; ++t)
      Tiles::scale(total[t], b[t / P::tiles], tileOf(t));
  // Row i of a warp's part has the sums of row i of A.
  waitCopies<0>();
  __syncthreads();
  using Part = float[columnTiles * 8][16 * kWarpTiles<P> + 4];
  Part *parts = reinterpret_cast<Part *>(shared);
  float *squaresOf = reinterpret_cast<float *>(parts + warps);
#pragma unroll
  for (int t = 0; t < kWarpTiles<P>; ++t)
#pragma unroll
    for (int j = 0; j < columnTiles; ++j)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        parts[warp][j * 8 + lane % 4 * 2 + i % 2]
             [t * 16 + lane / 4 + i / 2 * 8] = total[t][j][i];
  if constexpr (kNormalizesRows<P>)
    squares.store(squaresOf + warp * columnTiles * 8);
  __syncthreads();
  end.finish(parts, [&](int row, int from, int) {
    return squaresOf[from * columnTiles * 8 + row];
  });
}

} // namespace frit

#endif // FRIT_CODEGEN_CUDA_ROWS_ROWS_GEMM_CUH
