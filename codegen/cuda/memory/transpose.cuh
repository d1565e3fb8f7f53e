//===- transpose.cuh - Permutations through shared memory -----------------===//
//
// A permutation whose innermost dimension changes is, for every place in its
// other dimensions, a matrix whose rows become columns: rows along what will be
// innermost, columns along what was. A tile is read along its rows and written
// along its columns, so that both sides are coalesced; a thread's access is as
// wide as the shape allows on either side. Where it can, the tile holds words
// of neighbouring elements, which shared memory moves as fast as single ones.
//
// A Body says what is moved and what is fused to either side:
//
//   using Held = f16;                            // what the tile holds
//   void load(Held (&e)[L], size_t i) const;     // from place i of the input
//   void store(const Held (&e)[S], size_t i) const;    // to the output's
//   static size_t from(unsigned batch), to(unsigned batch);  // its first place
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_DEVICE_TRANSPOSE_CUH
#define FRIT_DEVICE_TRANSPOSE_CUH

#include "frit/base.cuh"

namespace frit {

/// Reads or writes V elements as they are, aligned as in `loadVector`.
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

/// A matrix of `Rows` rows of `Cols` elements that lie `Stride` apart, or that
/// follow one another without a gap where `Flat`; threads take V elements each
/// of the part of `rows` rows and `cols` columns that is there.
template <int Rows, int Cols, int V, bool Flat> struct TileSide {
  static constexpr int kThreads = 256;
  static constexpr int kVectors = Flat ? Rows * Cols / V : Rows * (Cols / V);
  static constexpr int kSteps = (kVectors + kThreads - 1) / kThreads;
  static_assert(Flat ? Rows * Cols % V == 0 : Cols % V == 0,
                "vectors do not cross the edge of a tile");

  /// Calls visit(step, place) for the thread's vectors, the first of whose
  /// elements is at `place` in the tile.
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

/// Blocks have 256 threads; one block per tile is a good grid, and any
/// one-dimensional grid is right. Neighbouring rows are `fromStride` apart in
/// the input, neighbouring columns `toStride` in the output. FlatLoad says that
/// a tile has all columns and no gap between rows, FlatStore the same of the
/// output's; either wants words of one element, Word = 1, and so do vectors and
/// shapes that are no multiples of Word.
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
  // The odd row length spreads a column over all banks.
  __shared__ Words tile[TileRows][kWords | 1];
  unsigned tileRows = (rows + TileRows - 1) / TileRows;
  unsigned tileCols = (cols + TileCols - 1) / TileCols;
  unsigned perMatrix = tileRows * tileCols;
  size_t tiles = size_t(batch) * perMatrix;

  for (size_t t = blockIdx.x; t < tiles; t += gridDim.x) {
    // Tiles that follow one another are neighbours in the output, or in the
    // input where its lines end sooner.
    unsigned matrix = unsigned(t / perMatrix), inMatrix = t % perMatrix;
    bool downRows = rows <= cols || cols >= 64 * TileCols;
    unsigned tileRow = downRows ? inMatrix % tileRows : inMatrix / tileCols;
    unsigned tileCol = downRows ? inMatrix / tileRows : inMatrix % tileCols;
    unsigned firstRow = tileRow * TileRows, firstCol = tileCol * TileCols;
    unsigned rowsHere = rows - firstRow, colsHere = cols - firstCol;
    size_t from = Body::from(matrix) + firstRow * fromStride + firstCol;
    size_t to = Body::to(matrix) + firstCol * toStride + firstRow;

    // All loads are under way before the first is waited for.
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
    // The next tile may be written only when all have read this one.
    __syncthreads();
  }
}

} // namespace frit

#endif // FRIT_DEVICE_TRANSPOSE_CUH
