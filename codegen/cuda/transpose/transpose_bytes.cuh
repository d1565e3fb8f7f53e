//===- transpose_bytes.cuh - Transposes of bytes --------------------------===//
//
// For matrices of bytes whose sides and strides are multiples of 16. A thread
// reads 16 neighbouring bytes of four neighbouring rows. It exchanges them in
// registers, so that each word has four bytes of a column, and shared memory
// moves words.
//
// A tile has 128 rows and columns. In shared memory a column is a line of 32
// words, whose places are permuted such that neither the threads that write a
// column's words nor those that read vectors of them meet in a bank.
//
// The Body is that of transpose.cuh, for vectors of 16 elements.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_TRANSPOSE_TRANSPOSE_BYTES_CUH
#define FRIT_CODEGEN_CUDA_TRANSPOSE_TRANSPOSE_BYTES_CUH

#include "frit/codes.cuh"
#include "frit/transpose.cuh"

namespace frit {

inline constexpr int kByteTile = 128;

/// Transposes 4 x 4 bytes: byte i of word j becomes byte j of word i.
__device__ inline void transposeWords(uint32_t (&words)[4]) {
  const uint32_t low = selectBytes(words[0], words[1], 0x5140);
  const uint32_t lowNext = selectBytes(words[2], words[3], 0x5140);
  const uint32_t high = selectBytes(words[0], words[1], 0x7362);
  const uint32_t highNext = selectBytes(words[2], words[3], 0x7362);
  words[0] = selectBytes(low, lowNext, 0x5410);
  words[1] = selectBytes(low, lowNext, 0x7632);
  words[2] = selectBytes(high, highNext, 0x5410);
  words[3] = selectBytes(high, highNext, 0x7632);
}

/// Blocks have 256 threads. Any one-dimensional grid is correct; one block per
/// tile is a good one. The numbers are those of transpose.cuh.
template <class Body>
__device__ inline void transposeBytes(const Body &body, unsigned batch,
                                      unsigned rows, unsigned cols,
                                      size_t fromStride, size_t toStride) {
  using Held = typename Body::Held;
  using Vector = Pack<uint32_t, 4>;
  static_assert(sizeof(Held) == 1);
  __shared__ Vector tile[kByteTile][kByteTile / 16];
  const unsigned tileRows = (rows + kByteTile - 1) / kByteTile;
  const unsigned tileCols = (cols + kByteTile - 1) / kByteTile;
  const unsigned perMatrix = tileRows * tileCols;
  const size_t tiles = size_t(batch) * perMatrix;
  // Vector `across` of four rows, of which there are 32.
  const unsigned across = threadIdx.x % 8, four = threadIdx.x / 8;

  for (size_t t = blockIdx.x; t < tiles; t += gridDim.x) {
    const unsigned matrix = unsigned(t / perMatrix), inMatrix = t % perMatrix;
    const unsigned firstRow = inMatrix % tileRows * kByteTile;
    const unsigned firstCol = inMatrix / tileRows * kByteTile;
    const unsigned rowsHere = rows - firstRow, colsHere = cols - firstCol;
    const size_t from = Body::from(matrix) + firstRow * fromStride + firstCol;
    const size_t to = Body::to(matrix) + firstCol * toStride + firstRow;

    if (four * 4 < rowsHere && across * 16 < colsHere) {
      Pack<Held, 16> loaded[4];
#pragma unroll
      for (int i = 0; i < 4; ++i)
        body.load(loaded[i].at,
                  from + (four * 4 + i) * fromStride + across * 16);
      Vector lines[4];
#pragma unroll
      for (int i = 0; i < 4; ++i)
        lines[i] = bitCast<Vector>(loaded[i]);
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        uint32_t words[4];
#pragma unroll
        for (int i = 0; i < 4; ++i)
          words[i] = lines[i].at[j];
        transposeWords(words);
        const unsigned place = four ^ across * 4;
#pragma unroll
        for (int i = 0; i < 4; ++i)
          tile[across * 16 + j * 4 + i][place / 4].at[place % 4] = words[i];
      }
    }
    __syncthreads();
#pragma unroll
    for (int step = 0; step < 4; ++step) {
      const unsigned col = step * 32 + threadIdx.x / 8;
      const unsigned down = threadIdx.x % 8;
      if (col < colsHere && down * 16 < rowsHere) {
        auto vector = bitCast<Pack<Held, 16>>(tile[col][down ^ col / 16]);
        body.store(vector.at, to + col * toStride + down * 16);
      }
    }
    // All threads must have read this tile before the next is written.
    __syncthreads();
  }
}

} // namespace frit

#endif // FRIT_CODEGEN_CUDA_TRANSPOSE_TRANSPOSE_BYTES_CUH
