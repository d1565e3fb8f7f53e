//===- few_rows.cuh - Elements of a few rows as fragments -----------------===//

#ifndef FRIT_CODEGEN_CUDA_ROWS_FEW_ROWS_CUH
#define FRIT_CODEGEN_CUDA_ROWS_FEW_ROWS_CUH

#include "frit/copy.cuh"
#include "frit/mma.cuh"

namespace frit {

/// Tiles of 8 rows of A.
template <class P> inline constexpr int kColumnTiles = (P::m + 7) / 8;

/// The kinds of tiles that rows_gemm.cuh reads B by, chosen by P's fields.
template <class P> struct TilesFor;
template <class P> using TilesOf = typename TilesFor<P>::Type;

/// Part of the rows of A in shared memory: `Depth` elements of each. Pieces of
/// 16 bytes are swizzled so that rows next to each other are in different
/// banks.
template <class P, int Depth> struct RowsPart {
  static constexpr int pieces = Depth / 8, bytes = int(P::m) * Depth * 2;

  static __device__ int offsetOf(int row, int piece) {
    return (row * pieces + (piece ^ row % 2 * (pieces / 2))) * 16;
  }

  /// Copies the part that begins at element `k`; beyond the rows' ends are
  /// zeros.
  static __device__ void fetch(char *to, const typename P::A *a, int64_t k) {
#pragma unroll
    for (int i = 0; i < int(P::m) * pieces; i += 32) {
      int at = i + threadIdx.x % 32, row = at / pieces, piece = at % pieces;
      if (int(P::m) * pieces % 32 != 0 && at >= int(P::m) * pieces)
        break;
      bool isInside = P::k % Depth == 0 || k + piece * 8 < P::k;
      copyAsync(to + offsetOf(row, piece),
                a + row * P::lda + (isInside ? k + piece * 8 : 0),
                isInside ? 16 : 0);
    }
  }

  /// Reads `count` elements, 4 or 8, from `at` on, of the rows that are the
  /// lane's columns: those that meet the lane's elements of B. What columns
  /// beyond the last row get is not stored.
  template <int count>
  static __device__ void read(uint32_t (&x)[kColumnTiles<P>][count / 2],
                              const char *part, int at) {
    const int lane = threadIdx.x % 32;
    at += lane % 4 * count;
#pragma unroll
    for (int j = 0; j < kColumnTiles<P>; ++j) {
      int row = j * 8 + lane / 4;
      if (P::m % 8 != 0 && row >= P::m)
        row = int(P::m) - 1;
      auto pack = *reinterpret_cast<const Pack<uint32_t, count / 2> *>(
          part + offsetOf(row, at / 8) + at % 8 * 2);
#pragma unroll
      for (int i = 0; i < count / 2; ++i)
        x[j][i] = pack.at[i];
    }
  }
};

} // namespace frit

#endif // FRIT_CODEGEN_CUDA_ROWS_FEW_ROWS_CUH
