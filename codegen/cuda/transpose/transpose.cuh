//===- transpose.cuh - Permutations through shared memory -----------------===//
//
// A permutation that changes the innermost dimension is a batch of matrix
// transposes: rows run along the future innermost dimension, columns along the
// present one. A tile is read along its rows and written along its columns, so
// that both sides are coalesced; on either side accesses are as wide as the
// shape allows. If possible the tile holds words of neighbouring elements,
// which shared memory moves as fast as single ones.
//
// A Body defines what is moved, and what is fused into loads and stores:
//
//   using Held = f16;                            // what the tile holds
//   void load(Held (&e)[L], size_t i) const;     // from place i of the input
//   void store(const Held (&e)[S], size_t i) const;    // to the output's
//   static size_t from(unsigned batch), to(unsigned batch);  // its first place
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_TRANSPOSE_TRANSPOSE_CUH
#define FRIT_CODEGEN_CUDA_TRANSPOSE_TRANSPOSE_CUH

#include "frit/base.cuh"

namespace frit {

/// Copies V elements without conversion, aligned as for `loadVector`.
template <int V, class T>
__device__ inline void copyVector(T (&out)[V], const T *from) {
  constexpr int n = packOf<T, V>();
#pragma unroll
  for (int i = 0; i < V; i += n) {
    auto pack = *reinterpret_cast<const Pack<T, n> *>(from + i);
#pragma unroll
    for (int j = 0; j < n; ++j)
      out[i + j] = pack.at[j];
  }
}

template <int V, class T>
__device__ inline void copyVector(T *to, const T (&in)[V]) {
  constexpr int n = packOf<T, V>();
#pragma unroll
  for (int i = 0; i < V; i += n) {
    Pack<T, n> pack;
#pragma unroll
    for (int j = 0; j < n; ++j)
      pack.at[j] = in[i + j];
    storePack(to + i, pack);
  }
}

/// How 256 threads divide a tile of `Rows` rows of `Cols` elements into vectors
/// of V. With `Flat` the rows are contiguous and vectors may cross their ends.
/// Only `rows` rows and `cols` columns of the tile are inside the matrix.
template <int Rows, int Cols, int V, bool Flat> struct TileSide {
  static constexpr int kThreads = 256;
  static constexpr int kVectors = Flat ? Rows * Cols / V : Rows * (Cols / V);
  static constexpr int kSteps = (kVectors + kThreads - 1) / kThreads;
  static_assert(Flat ? Rows * Cols % V == 0 : Cols % V == 0,
                "vectors do not cross the edge of a tile");

  /// Calls visit(step, place) for the thread's vectors; `place` is the position
  /// of a vector's first element in the tile.
  template <class Visit>
  __device__ static void forEach(unsigned rows, unsigned cols,
                                 const Visit &visit) {
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      unsigned index = step * kThreads + threadIdx.x;
      unsigned place = index * V;
      bool isIn = kVectors % kThreads == 0 || index < kVectors;
      if (isIn && (Flat ? place < rows * Cols
                        : place / Cols < rows && place % Cols < cols))
        visit(step, place);
    }
  }
};

/// Blocks have 256 threads. Any one-dimensional grid is correct; one block per
/// tile is a good one. Neighbouring rows are `fromStride` apart in the input,
/// neighbouring columns `toStride` in the output. FlatLoad: a tile has all
/// columns, and rows are contiguous in the input; FlatStore: the same for the
/// output. Both need words of one element, Word = 1, and so do vectors and
/// shapes that are not multiples of Word.
template <class Body, int TileRows, int TileCols, int L, int S, int Word = 1,
          bool FlatLoad = false, bool FlatStore = false>
__device__ inline void transpose(const Body &body, unsigned batch,
                                 unsigned rows, unsigned cols,
                                 size_t fromStride, size_t toStride) {
  using Held = typename Body::Held;
  using Words = Pack<Held, Word>;
  constexpr int kWords = TileCols / Word;
  using Load = TileSide<TileRows, TileCols, L, FlatLoad>;
  using Store = TileSide<kWords, TileRows, S, FlatStore>;
  // An odd row length avoids bank conflicts along columns.
  __shared__ Words tile[TileRows][kWords | 1];
  unsigned tileRows = (rows + TileRows - 1) / TileRows;
  unsigned tileCols = (cols + TileCols - 1) / TileCols;
  unsigned perMatrix = tileRows * tileCols;
  size_t tiles = size_t(batch) * perMatrix;

  for (size_t t = blockIdx.x; t < tiles; t += gridDim.x) {
    // Consecutive tiles are neighbours in the output, or in the input if its
    // rows are shorter.
    unsigned matrix = unsigned(t / perMatrix), inMatrix = t % perMatrix;
    bool downRows = rows <= cols || cols >= 64 * TileCols;
    unsigned tileRow = downRows ? inMatrix % tileRows : inMatrix / tileCols;
    unsigned tileCol = downRows ? inMatrix / tileRows : inMatrix % tileCols;
    unsigned firstRow = tileRow * TileRows, firstCol = tileCol * TileCols;
    unsigned rowsHere = rows - firstRow, colsHere = cols - firstCol;
    size_t from = Body::from(matrix) + firstRow * fromStride + firstCol;
    size_t to = Body::to(matrix) + firstCol * toStride + firstRow;

    // Issue all loads before using the first.
    Held loaded[Load::kSteps][L];
    Load::forEach(rowsHere, colsHere, [&](int step, unsigned place) {
      body.load(loaded[step], from + (FlatLoad ? place
                                               : place / TileCols * fromStride +
                                                     place % TileCols));
    });
    Load::forEach(rowsHere, colsHere, [&](int step, unsigned place) {
      unsigned row = place / TileCols, col = place % TileCols;
#pragma unroll
      for (unsigned v = 0; v < L; v += Word) {
        Words words;
#pragma unroll
        for (int w = 0; w < Word; ++w)
          words.at[w] = loaded[step][v + w];
        tile[row][col / Word] = words;
        if ((col += Word) == TileCols && FlatLoad) {
          col = 0;
          ++row;
        }
      }
    });
    __syncthreads();
    Store::forEach(colsHere / Word, rowsHere, [&](int, unsigned place) {
      Held vectors[Word][S];
      unsigned row = place % TileRows, word = place / TileRows;
#pragma unroll
      for (unsigned v = 0; v < S; ++v) {
        Words words = tile[row][word];
        if (++row == TileRows && FlatStore) {
          row = 0;
          ++word;
        }
#pragma unroll
        for (int w = 0; w < Word; ++w)
          vectors[w][v] = words.at[w];
      }
#pragma unroll
      for (int w = 0; w < Word; ++w)
        body.store(vectors[w],
                   to + (FlatStore ? place
                                   : (place / TileRows * Word + w) * toStride +
                                         place % TileRows));
    });
    // All threads must have read this tile before the next is written.
    __syncthreads();
  }
}

} // namespace frit

#endif // FRIT_CODEGEN_CUDA_TRANSPOSE_TRANSPOSE_CUH
