//===- rows_part.cuh - Elements of a few rows as fragments ----------------===//

#ifndef FRIT_CODEGEN_CUDA_ROWS_ROWS_PART_CUH
#define FRIT_CODEGEN_CUDA_ROWS_ROWS_PART_CUH

#include "frit/codes.cuh"
#include "frit/copy.cuh"
#include "frit/few_rows.cuh"
#include "frit/mma.cuh"

namespace frit {

/// Sums of the squares of rows of A, which mma.sync leaves on the diagonal.
template <class P> struct RowSquares {
  float sums[kColumnTiles<P>][4] = {};

  /// Adds elements as RowsPart::read returns them.
  __device__ void add(const uint32_t (&x)[kColumnTiles<P>][4]) {
#pragma unroll
    for (int j = 0; j < kColumnTiles<P>; ++j)
#pragma unroll
      for (int i = 0; i < 4; i += 2) {
        const uint32_t rows[4] = {x[j][i], 0, x[j][i + 1], 0};
        const uint32_t columns[2] = {x[j][i], x[j][i + 1]};
        mma<typename P::A>(sums[j], rows, columns);
      }
  }

  /// Stores the sums of 8 rows for each tile.
  __device__ void store(float *to) const {
    const int lane = threadIdx.x % 32, row = lane / 4;
    if (lane % 4 == row / 2)
#pragma unroll
      for (int j = 0; j < kColumnTiles<P>; ++j)
        to[j * 8 + row] = row % 2 ? sums[j][1] : sums[j][0];
  }
};

/// Part of the rows of A in shared memory: `Depth` elements of each, and after
/// them, if they are normalized, of their scale. Pieces of 16 bytes are
/// swizzled so that rows next to each other are in different banks, or, if
/// matrices are loaded from it, the same pieces of 8 rows.
template <class P, int Depth, bool ByMatrices = false> struct RowsPart {
  static constexpr int rows = kBlockRows<P> + (kNormalizesRows<P> ? 1 : 0);
  static constexpr int pieces = Depth / 8, bytes = rows * Depth * 2;

  static __device__ int offsetOf(int row, int piece) {
    const int swizzle = ByMatrices ? row % 8 : row % 2 * (pieces / 2);
    return (row * pieces + (piece ^ swizzle)) * 16;
  }

  /// Copies the part of the block's rows that begins at element `k`; beyond the
  /// rows' ends are zeros. Rows that A does not have are its last.
  static __device__ void fetch(char *to, const typename P::A *a,
                               const typename P::A *scale, int64_t k) {
    const int64_t first = RowsBlock<P>::firstRow();
#pragma unroll
    for (int i = 0; i < rows * pieces; i += 32) {
      int at = i + threadIdx.x % 32, row = at / pieces, piece = at % pieces;
      if (rows * pieces % 32 != 0 && at >= rows * pieces)
        break;
      bool isInside = P::k % Depth == 0 || k + piece * 8 < P::k;
      int64_t rowOfA = first + row;
      if (kHasPartialRows<P> && rowOfA >= P::m)
        rowOfA = P::m - 1;
      const typename P::A *from = kNormalizesRows<P> && row == kBlockRows<P>
                                      ? scale
                                      : a + rowOfA * P::lda;
      copyAsync(to + offsetOf(row, piece),
                from + (isInside ? k + piece * 8 : 0), isInside ? 16 : 0);
    }
  }

  /// Reads 8 elements from `at` on of the rows that are the lane's columns:
  /// those that meet the lane's elements of B. What columns
  /// beyond the last row get is not stored. Elements of normalized rows are
  /// multiplied by the scale, after `squares` has had them.
  static __device__ void read(uint32_t (&x)[kColumnTiles<P>][4],
                              RowSquares<P> &squares, const char *part,
                              int at) {
    const int lane = threadIdx.x % 32;
    at += lane % 4 * 8;
#pragma unroll
    for (int j = 0; j < kColumnTiles<P>; ++j) {
      int row = j * 8 + lane / 4;
      if (kBlockRows<P> % 8 != 0 && row >= kBlockRows<P>)
        row = kBlockRows<P> - 1;
      auto pack = *reinterpret_cast<const Pack<uint32_t, 4> *>(
          part + offsetOf(row, at / 8));
#pragma unroll
      for (int i = 0; i < 4; ++i)
        x[j][i] = pack.at[i];
    }
    if constexpr (kNormalizesRows<P>) {
      squares.add(x);
      auto scale = *reinterpret_cast<const Pack<uint32_t, 4> *>(
          part + offsetOf(kBlockRows<P>, at / 8));
#pragma unroll
      for (int j = 0; j < kColumnTiles<P>; ++j)
#pragma unroll
        for (int i = 0; i < 4; ++i)
          // A product plus -0 is the product.
          x[j][i] = multiplyAddPairs<typename P::A>(x[j][i], scale.at[i],
                                                    twice(0x8000));
    }
  }
};

} // namespace frit

#endif // FRIT_CODEGEN_CUDA_ROWS_ROWS_PART_CUH
