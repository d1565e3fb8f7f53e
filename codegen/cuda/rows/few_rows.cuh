//===- few_rows.cuh - Constants of products of a few rows -----------------===//

#ifndef FRIT_CODEGEN_CUDA_ROWS_FEW_ROWS_CUH
#define FRIT_CODEGEN_CUDA_ROWS_FEW_ROWS_CUH

#include "frit/base.cuh"

namespace frit {

/// Tiles of 8 rows of A.
template <class P> inline constexpr int kColumnTiles = (P::m + 7) / 8;

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
