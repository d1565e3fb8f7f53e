//===- attention_products.cuh - Operands and products of attention --------===//
//
// Rows in shared memory, and the tensor core fragments loaded from them, for
// 16-bit elements and f32. One step of a product takes 32 bytes of a row: 16
// elements of 16 bits, or 8 of f32.
//
// f32 operands are multiplied in TF32 if P::tf32 allows it. Otherwise each is
// split into two TF32 numbers, and three products reach f32 precision: the
// product of the two remainders is below the last place (Ootomo and Yokota,
// arXiv:2203.03341). The tensor cores round sums towards zero, so large sums
// should be added to rarely: products with a remainder come first, and the sums
// of tiles are added outside the tensor cores. An infinity becomes NaN, since
// its remainder is NaN. Where the tensor cores have no TF32, f32 is multiplied
// as it is.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_ATTENTION_ATTENTION_PRODUCTS_CUH
#define FRIT_CODEGEN_CUDA_ATTENTION_ATTENTION_PRODUCTS_CUH

#include "frit/mma.cuh"
#include "frit/tile.cuh"

namespace frit {

/// Elements of a 16-byte piece, and of a step of a product.
template <class T> inline constexpr int kPiece = 16 / int(sizeof(T));
template <class T> inline constexpr int kStep = 2 * kPiece<T>;
/// Fragments of 8 columns per load.
template <class T> inline constexpr int kTogether = sizeof(T) == 4 ? 4 : 2;

/// Returns whether each product of P is computed as three (split f32).
template <class P> __device__ constexpr bool isSplit() {
  if constexpr (sizeof(typename P::T) == 4)
    return !P::tf32 && hasMma<float>();
  return false;
}

//===----------------------------------------------------------------------===//
// Rows in shared memory
//===----------------------------------------------------------------------===//

/// Rows with a pitch of an odd number of pieces, so that the 8 rows read by one
/// matrix load are in different banks.
template <class T, int Rows, int Size> struct RowTile {
  static_assert(Size % kStep<T> == 0);
  static constexpr int kRows = Rows, kPitch = Size / kPiece<T> + 1;

  struct alignas(16) Piece {
    uint32_t words[4];
  };
  Piece pieces[Rows * kPitch];

  __device__ Piece *at(int row, int col) {
    return &pieces[row * kPitch + col / kPiece<T>];
  }

  /// Loads the fragment of `mma`'s a: 16 rows by the columns of a step.
  __device__ void loadA(uint32_t (&a)[4], int row, int col) {
    int lane = threadIdx.x % 32, matrix = lane / 8;
    loadMatrices<false>(
        a, at(row + matrix % 2 * 8 + lane % 8, col + matrix / 2 * kPiece<T>));
  }

  /// Loads two fragments of `mma`'s b, whose columns are 16 rows of this tile.
  __device__ void loadRows(uint32_t (&b)[2][2], int row, int col) {
    int lane = threadIdx.x % 32, matrix = lane / 8;
    uint32_t both[4];
    loadMatrices<false>(both, at(row + matrix / 2 * 8 + lane % 8,
                                 col + matrix % 2 * kPiece<T>));
#pragma unroll
    for (int i = 0; i < 4; ++i)
      b[i / 2][i % 2] = both[i];
  }

  /// Loads fragments of `mma`'s b, whose columns are columns of this tile and
  /// whose k runs along its rows, from `row` on. No matrix load transposes f32,
  /// so a thread reads pieces: column c of fragment j is the tile's column 4 c
  /// + j, and k runs over rows 0, 2, 4, 6, 1, 3, 5, 7, as in packWeights().
  __device__ void loadColumns(uint32_t (&b)[kTogether<T>][2], int row,
                              int col) {
    int lane = threadIdx.x % 32;
    if constexpr (sizeof(T) == 4) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        Piece piece = *at(row + lane % 4 * 2 + i, col + lane / 4 * 4);
#pragma unroll
        for (int j = 0; j < 4; ++j)
          b[j][i] = piece.words[j];
      }
    } else {
      int matrix = lane / 8;
      uint32_t both[4];
      loadMatrices<true>(
          both, at(row + matrix % 2 * 8 + lane % 8, col + matrix / 2 * 8));
#pragma unroll
      for (int i = 0; i < 4; ++i)
        b[i / 2][i % 2] = both[i];
    }
  }
};

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// An operand fragment: the elements and, for split f32, their remainders after
/// rounding to TF32.
template <class P, int N> struct Factor {
  static constexpr bool kIsSplit = isSplit<P>();
  uint32_t bits[N], rest[kIsSplit ? N : 1];

  /// Sets the fragment for products `First` to `Last`, which ignore the bits
  /// below TF32.
  template <int First = 0, int Last = kIsSplit ? 2 : 0>
  __device__ void take(const uint32_t (&raw)[N]) {
#pragma unroll
    for (int i = 0; i < N; ++i) {
      if constexpr (!hasMma<float>() || sizeof(typename P::T) == 2) {
        bits[i] = raw[i];
      } else if constexpr (!kIsSplit) {
        bits[i] = floatToBits(bitsToFloat(raw[i]) * kUp);
      } else if constexpr (First == 2) {
        bits[i] = raw[i] + kHalf;
      } else {
        bits[i] = (raw[i] + kHalf) & ~(2 * kHalf - 1);
        rest[i] = floatToBits(bitsToFloat(raw[i]) - bitsToFloat(bits[i]));
      }
    }
  }

private:
  /// Half a unit in the last place of TF32.
  static constexpr uint32_t kHalf = 0x1000;
  /// Adds 0.35 to 0.7 ulp of TF32. As good as rounding: exact TF32 values stay,
  /// and NaN needs no test.
  static constexpr float kUp = 1 + 0.7f / 2048;
};

/// The first two of three products have a remainder each.
template <class P> inline constexpr int kProducts = isSplit<P>() ? 3 : 1;

/// Adds product number `Product` of a and b to c; the last one is a · b without
/// remainders.
template <class P, int Product>
__device__ inline void multiplyOne(float (&c)[4], const Factor<P, 4> &a,
                                   const Factor<P, 2> &b) {
  if constexpr (sizeof(typename P::T) == 2)
    mma<typename P::T>(c, a.bits, b.bits);
  else if constexpr (Product == kProducts<P> - 1)
    mmaTf32(c, a.bits, b.bits);
  else if constexpr (Product == 0)
    mmaTf32(c, a.rest, b.bits);
  else
    mmaTf32(c, a.bits, b.rest);
}

/// Adds products `First` to `Last` of each a with each fragment of `b` to `to`,
/// from fragment `column` on.
template <class P, int First, int Last, int Parts, int Columns, int Count>
__device__ inline void multiply(float (&to)[Parts][Columns][4], int column,
                                const Factor<P, 4> (&a)[Parts],
                                const Factor<P, 2> (&b)[Count]) {
#pragma unroll
  for (int i = 0; i < Count; ++i)
#pragma unroll
    for (int part = 0; part < Parts; ++part)
      multiplyOne<P, First>(to[part][column + i], a[part], b[i]);
  if constexpr (First < Last)
    multiply<P, First + 1, Last>(to, column, a, b);
}

/// Converts the weights of a step's keys, from 8 · `key` on, to a fragment of
/// `mma`'s a. Accumulators already have the layout of operands; for f32, even
/// columns come before odd ones.
template <class T, int Keys>
__device__ inline void packWeights(uint32_t (&a)[4],
                                   const float (&weights)[Keys][4], int key) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if constexpr (sizeof(T) == 4) {
      a[i] = floatToBits(weights[key][i % 2 * 2 + i / 2]);
    } else {
      const float *pair = &weights[key + i / 2][i % 2 * 2];
      a[i] = packPair<T>(pair[0], pair[1]);
    }
  }
}

} // namespace frit

#endif // FRIT_CODEGEN_CUDA_ATTENTION_ATTENTION_PRODUCTS_CUH
