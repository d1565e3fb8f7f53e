//===- rows_gemm.cuh - Products of a few rows on the tensor cores ---------===//
//
// D = epilogue(A · Bᵀ + bias + R) for up to 16 rows of A, as fast as B is read.
// Rows of B are the rows of mma.sync's first fragment, and rows of A the
// columns of the second. A warp has neighbouring tiles of 16 rows of B, for
// which it copies parts along k to its own stages in shared memory, ahead of
// their use. Each element of B is read by one lane, and no warp waits for
// another until all have their sums. P has gemm.cuh's A, D, Bias, m, n, k, lda,
// ldd, Epilogue and
//
//   static constexpr int tiles;    // of a warp, neighbours
//   static constexpr int stages;   // of a warp, a power of two
//   static constexpr int split;    // warps that share k
//   static constexpr int threads;  // of a block
//   static constexpr int sharedBytes; // at least rowsGemmShared
//   static constexpr bool early;   // no kernel before this one writes B
//
// and what code_tiles.cuh or plain_tiles.cuh reads B by. Which elements of k
// meet in a step does not matter, as both operands are taken alike. Sums do not
// depend on the other rows of A.
//
// The grid is ceil(n / (16 · tiles · warps / split)); rows of A begin at
// multiples of 16 bytes.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_ROWS_ROWS_GEMM_CUH
#define FRIT_CODEGEN_CUDA_ROWS_ROWS_GEMM_CUH

#include "frit/code_tiles.cuh"
#include "frit/plain_tiles.cuh"
#include "frit/tile.cuh"

namespace frit {

/// Bytes of shared memory of a block.
template <class P> __device__ constexpr int rowsGemmShared() {
  using Tiles = TilesOf<P>;
  int stages = P::threads / 32 * P::stages *
               (P::tiles * Tiles::bytes + RowsPart<P, Tiles::depth>::bytes);
  int sums = P::threads / 32 * (kColumnTiles<P> * 8) * (16 * P::tiles + 4) * 4;
  return stages > sums ? stages : sums;
}

template <class P>
__device__ inline void rowsGemm(const typename P::A *a,
                                const typename TilesOf<P>::Operand &b,
                                const typename P::Bias *bias,
                                const typename P::D *r, typename P::D *d) {
  using Tiles = TilesOf<P>;
  constexpr int warps = P::threads / 32, groups = warps / P::split;
  constexpr int columnTiles = kColumnTiles<P>;
  constexpr int rows = 16 * P::tiles; // of B, of a warp
  constexpr int64_t chunks = (P::k + Tiles::depth - 1) / Tiles::depth;
  constexpr int64_t allTiles = (P::n + 15) / 16;
  static_assert(warps % P::split == 0 && !(P::stages & (P::stages - 1)) &&
                rowsGemmShared<P>() <= P::sharedBytes);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int part = warp % P::split, group = warp / P::split;
  const int64_t tile = (int64_t(blockIdx.x) * groups + group) * P::tiles;
  char *shared = dynamicShared<char>();
  // A stage has parts of rows of B, and after them of A.
  using RowsOfA = RowsPart<P, Tiles::depth>;
  constexpr int partOfA = P::tiles * Tiles::bytes;
  constexpr int stageBytes = partOfA + RowsOfA::bytes;
  char *own = shared + warp * (P::stages * stageBytes);

  auto fetchB = [&](int at) {
    int64_t chunk = part + int64_t(at) * P::split;
    if (chunk < chunks) {
      char *stage = own + at % P::stages * stageBytes;
#pragma unroll
      for (int t = 0; t < P::tiles; ++t) {
        // Then tiles are at constant distances from each other.
        constexpr bool isWhole = allTiles % (groups * P::tiles) == 0;
        int64_t row = isWhole || tile + t < allTiles ? tile + t : allTiles - 1;
        Tiles::fetch(stage + t * Tiles::bytes, b, row, chunk);
      }
    }
  };
  auto fetchA = [&](int at) {
    int64_t chunk = part + int64_t(at) * P::split;
    if (chunk < chunks)
      RowsOfA::fetch(own + at % P::stages * stageBytes + partOfA, a,
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

  float total[P::tiles][columnTiles][4] = {};
  for (int at = 0; part + int64_t(at) * P::split < chunks; ++at) {
    waitCopies<P::stages - 1>();
    __syncwarp();
    const char *stage = own + at % P::stages * stageBytes;
    Tiles::multiply(total, stage, stage + partOfA);
    __syncwarp();
    fetchB(at + P::stages);
    fetchA(at + P::stages);
  }

  // Row i of a warp's part has the sums of row i of A.
  waitCopies<0>();
  __syncthreads();
  using Parts = float[columnTiles * 8][rows + 4];
  Parts *parts = reinterpret_cast<Parts *>(shared);
#pragma unroll
  for (int t = 0; t < P::tiles; ++t)
#pragma unroll
    for (int j = 0; j < columnTiles; ++j)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        parts[warp][j * 8 + lane % 4 * 2 + i % 2]
             [t * 16 + lane / 4 + i / 2 * 8] = total[t][j][i];
  __syncthreads();
  for (int i = threadIdx.x; i < P::m * groups * rows; i += P::threads) {
    int row = i / (groups * rows), in = i % (groups * rows);
    int64_t col = int64_t(blockIdx.x) * groups * rows + in;
    if (col >= P::n)
      continue;
    float sum = 0;
#pragma unroll
    for (int p = 0; p < P::split; ++p)
      sum += parts[in / rows * P::split + p][row][in % rows];
    int64_t at = row * P::ldd + col;
    finishElement<typename P::Epilogue>(sum, bias ? bias + col : nullptr,
                                        r ? r + at : nullptr, d + at);
  }
}

} // namespace frit

#endif // FRIT_CODEGEN_CUDA_ROWS_ROWS_GEMM_CUH
