//===- transpose.cuh - Batched transposes through shared memory -----------===//
//
// Every permutation that swaps two groups of neighbouring dimensions is
// [batch, rows, cols] -> [batch, cols, rows]; layout changes such as
// NCHW <-> NHWC are. A tile is read along its rows and written along its
// columns, so that both sides are coalesced.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_DEVICE_TRANSPOSE_CUH
#define FRIT_DEVICE_TRANSPOSE_CUH

#include "frit/base.cuh"

namespace frit {

/// Transposes the value that a Body loads, with what is fused to either side:
///
///   auto load(size_t index) const;               // in [batch, rows, cols]
///   void store(size_t index, value) const;       // in [batch, cols, rows]
///
/// Blocks have 256 threads; one block per tile of 32 × 32, or 64 × 64 where
/// Tile is 64, is a good grid, and any one-dimensional grid is right.
template <class Body, int Tile = 64>
__device__ inline void transpose(const Body &body, unsigned batch,
                                 unsigned rows, unsigned cols) {
  constexpr int kThreads = 256, kStep = kThreads / 32;
  static_assert(Tile % 32 == 0, "a warp reads 32 columns");
  // The odd row length spreads a column over all banks.
  __shared__ decltype(body.load(size_t(0))) tile[Tile][Tile + 1];
  unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  unsigned tileRows = (rows + Tile - 1) / Tile;
  unsigned tileCols = (cols + Tile - 1) / Tile;
  size_t tiles = size_t(batch) * tileRows * tileCols;

  for (size_t t = blockIdx.x; t < tiles; t += gridDim.x) {
    unsigned firstCol = unsigned(t % tileCols) * Tile;
    unsigned firstRow = unsigned(t / tileCols % tileRows) * Tile;
    size_t base = t / tileCols / tileRows * rows * cols;
#pragma unroll
    for (int i = 0; i < Tile; i += kStep)
#pragma unroll
      for (int j = 0; j < Tile; j += 32) {
        unsigned row = firstRow + i + warp, col = firstCol + j + lane;
        if (row < rows && col < cols)
          tile[i + warp][j + lane] = body.load(base + size_t(row) * cols + col);
      }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < Tile; i += kStep)
#pragma unroll
      for (int j = 0; j < Tile; j += 32) {
        unsigned col = firstCol + i + warp, row = firstRow + j + lane;
        if (row < rows && col < cols)
          body.store(base + size_t(col) * rows + row, tile[j + lane][i + warp]);
      }
    // The next tile may be written only when all have read this one.
    __syncthreads();
  }
}

} // namespace frit

#endif // FRIT_DEVICE_TRANSPOSE_CUH
