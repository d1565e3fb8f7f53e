//===- transpose_pairs.cuh - Odd matrices of 16-bit elements --------------===//
//
// Transposes matrices of 16-bit elements whose rows, or columns, begin at odd
// places, which leaves no aligned vectors. Every other row does begin at a
// multiple of four bytes; in the others the pairs that are aligned are one
// element off. So all but the ends of a row go by words of two elements, each
// row from where its words begin, and shared memory puts them right.
//
// A Body says what is moved:
//
//   const uint16_t *source() const;
//   uint16_t *target() const;
//   static size_t from(unsigned batch), to(unsigned batch);  // its first place
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_DEVICE_TRANSPOSE_PAIRS_CUH
#define FRIT_DEVICE_TRANSPOSE_PAIRS_CUH

#include "frit/base.cuh"

namespace frit {

/// Rows and columns of a tile.
inline constexpr unsigned kPairTile = 128;

/// Threads and how rows and columns are dealt out to their warps.
inline constexpr unsigned kPairWarps = 8, kPairSteps = kPairTile / 64;

/// A tile of elements; rows of even and of odd numbers are apart, so that
/// neighbouring pairs of rows are in neighbouring banks.
class PairTile {
  static constexpr unsigned kWords = kPairTile / 2 + 1;
  uint32_t words[kPairTile + 1][kWords];

  __device__ static unsigned lineOf(unsigned row) {
    return row % 2 * (kPairTile / 2) + row / 2;
  }

public:
  __device__ uint32_t &word(unsigned row, unsigned col) {
    return words[lineOf(row)][col / 2];
  }
  __device__ uint16_t &element(unsigned row, unsigned col) {
    return reinterpret_cast<uint16_t *>(words[lineOf(row)])[col];
  }
};

/// Reads the tile of `rows` rows and `cols` columns that begins at `from`,
/// where addresses are odd places if `shift`. A warp's rows all begin alike,
/// since they are an even number of rows apart.
__device__ inline void loadPairs(PairTile &tile, const uint16_t *from,
                                 bool shift, size_t stride, unsigned rows,
                                 unsigned cols) {
  constexpr unsigned kRows = kPairTile / kPairWarps;
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const bool odd = shift != (warp * stride % 2 != 0);
  // All loads are under way before the first is waited for. A word may begin
  // one element ahead of its row, which is there: of the row before.
  const uint16_t *row = from + warp * stride + 2 * lane - odd;
  uint32_t words[kRows][kPairSteps];
#pragma unroll
  for (unsigned i = 0; i < kRows; ++i, row += kPairWarps * stride)
#pragma unroll
    for (unsigned j = 0; j < kPairSteps; ++j)
      if (warp + i * kPairWarps < rows && 2 * lane + j * 64 + 1 < cols + odd)
        words[i][j] = *reinterpret_cast<const uint32_t *>(row + j * 64);
  // What is left at the end of a row is half a word.
  const unsigned ending = threadIdx.x;
  const bool isOdd = shift != (ending * stride % 2 != 0);
  const bool isLeft = ending < rows && (cols + isOdd) % 2;
  uint16_t last = 0;
  if (isLeft)
    last = from[ending * stride + cols - 1];
  auto keep = [&](auto put) {
#pragma unroll
    for (unsigned i = 0; i < kRows; ++i)
#pragma unroll
      for (unsigned j = 0; j < kPairSteps; ++j)
        if (2 * lane + j * 64 + 1 < cols + odd)
          put(warp + i * kPairWarps, 2 * lane + j * 64, words[i][j]);
  };
  if (!odd)
    keep([&](unsigned row, unsigned col, uint32_t word) {
      tile.word(row, col) = word;
    });
  else
    keep([&](unsigned row, unsigned col, uint32_t word) {
      if (col > 0)
        tile.element(row, col - 1) = uint16_t(word);
      tile.element(row, col) = uint16_t(word >> 16);
    });
  if (isLeft)
    tile.element(ending, cols - 1) = last;
}

/// Writes it, transposed, from `to` on, where addresses are odd places if Odd;
/// neighbouring columns are `stride` apart, and NextOdd says the same of those
/// of odd numbers.
template <bool Odd, bool NextOdd>
__device__ inline void storePairs(PairTile &tile, uint16_t *to, size_t stride,
                                  unsigned rows, unsigned cols) {
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  uint16_t *at = to + 2 * warp * stride + 2 * lane;
#pragma unroll 2
  for (unsigned col = 2 * warp; col < cols;
       col += 2 * kPairWarps, at += 2 * kPairWarps * stride) {
#pragma unroll
    for (unsigned j = 0; j < kPairSteps; ++j) {
      // Two rows, and the one after them, of two columns.
      const unsigned row = 2 * lane + j * 64;
      const uint32_t x = tile.word(row, col), y = tile.word(row + 1, col);
      const uint32_t z = Odd || NextOdd ? tile.word(row + 2, col) : 0;
      uint16_t *here = at + j * 64;
      if (row + Odd + 1 < rows)
        *reinterpret_cast<uint32_t *>(here + Odd) =
            Odd ? (y & 0xffffu) | z << 16 : (x & 0xffffu) | y << 16;
      if (row + NextOdd + 1 < rows && col + 1 < cols)
        *reinterpret_cast<uint32_t *>(here + stride + NextOdd) =
            NextOdd ? y >> 16 | (z & 0xffff0000u) : x >> 16 | (y & 0xffff0000u);
    }
  }
  // The ends of a column that no word reaches.
  const unsigned col = threadIdx.x / 2;
  const bool isLast = threadIdx.x % 2, odd = col % 2 ? NextOdd : Odd;
  if (col < cols && (isLast ? (rows - odd) % 2 : odd)) {
    const unsigned row = isLast ? rows - 1 : 0;
    to[col * stride + row] = tile.element(row, col);
  }
}

/// Blocks have 256 threads; one block per tile is a good grid, and any
/// one-dimensional grid is right. Strides are as transpose.cuh has them.
template <class Body>
__device__ inline void transposePairs(const Body &body, unsigned batch,
                                      unsigned rows, unsigned cols,
                                      size_t fromStride, size_t toStride) {
  __shared__ PairTile tile;
  const unsigned tileRows = (rows + kPairTile - 1) / kPairTile;
  const unsigned tileCols = (cols + kPairTile - 1) / kPairTile;
  const unsigned perMatrix = tileRows * tileCols;
  const size_t tiles = size_t(batch) * perMatrix;
  for (size_t t = blockIdx.x; t < tiles; t += gridDim.x) {
    // Tiles that follow one another are neighbours in the output, whose words
    // they then complete.
    const unsigned matrix = unsigned(t / perMatrix), inMatrix = t % perMatrix;
    const unsigned firstRow = inMatrix % tileRows * kPairTile;
    const unsigned firstCol = inMatrix / tileRows * kPairTile;
    const unsigned rowsHere = minimum(rows - firstRow, kPairTile);
    const unsigned colsHere = minimum(cols - firstCol, kPairTile);
    const size_t from = Body::from(matrix) + firstRow * fromStride + firstCol;
    const size_t to = Body::to(matrix) + firstCol * toStride + firstRow;
    loadPairs(tile, body.source() + from, from % 2, fromStride, rowsHere,
              colsHere);
    __syncthreads();
    uint16_t *target = body.target() + to;
    const bool odd = to % 2, nextOdd = (to + toStride) % 2;
    if (!odd && !nextOdd)
      storePairs<false, false>(tile, target, toStride, rowsHere, colsHere);
    else if (!odd)
      storePairs<false, true>(tile, target, toStride, rowsHere, colsHere);
    else if (!nextOdd)
      storePairs<true, false>(tile, target, toStride, rowsHere, colsHere);
    else
      storePairs<true, true>(tile, target, toStride, rowsHere, colsHere);
    // The next tile may be written only when all have read this one.
    __syncthreads();
  }
}

} // namespace frit

#endif // FRIT_DEVICE_TRANSPOSE_PAIRS_CUH
