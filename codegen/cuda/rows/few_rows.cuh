//===- few_rows.cuh - Constants of products of a few rows -----------------===//

#ifndef FRIT_CODEGEN_CUDA_ROWS_FEW_ROWS_CUH
#define FRIT_CODEGEN_CUDA_ROWS_FEW_ROWS_CUH

#include "frit/base.cuh"

namespace frit {

/// Rows of A of a block, and their tiles of 8.
template <class P> __device__ constexpr int countBlockRows() {
  if constexpr (requires { P::rows; })
    return P::rows;
  return int(P::m);
}
template <class P> inline constexpr int kBlockRows = countBlockRows<P>();
template <class P> inline constexpr int kColumnTiles = (kBlockRows<P> + 7) / 8;

/// Where a block's rows of A and columns of the result begin. Blocks of the
/// same columns are neighbours.
template <class P> struct RowsBlock {
  static constexpr int64_t count = (P::m + kBlockRows<P> - 1) / kBlockRows<P>;
  __device__ static int64_t columns() { return blockIdx.x / count; }
  __device__ static int64_t firstRow() {
    return blockIdx.x % count * kBlockRows<P>;
  }
};
/// Groups of tiles of a warp, one after another.
template <class P> __device__ constexpr int countRounds() {
  if constexpr (requires { P::rounds; })
    return P::rounds;
  return 1;
}
template <class P> inline constexpr int kRounds = countRounds<P>();
/// Whether the last block of rows has fewer of them.
template <class P>
inline constexpr bool kHasPartialRows = P::m % kBlockRows<P> != 0;

/// Whether rows of A are normalized.
template <class P>
inline constexpr bool kNormalizesRows = requires { P::epsilon; };
/// Matrices B, and the tiles of all of them that a warp has.
template <class P> __device__ constexpr int countMatrices() {
  if constexpr (requires { P::isPair; })
    return P::isPair ? 2 : 1;
  return 1;
}
template <class P> inline constexpr int kMatrices = countMatrices<P>();
template <class P> inline constexpr int kWarpTiles = kMatrices<P> * P::tiles;

} // namespace frit

#endif // FRIT_CODEGEN_CUDA_ROWS_FEW_ROWS_CUH
