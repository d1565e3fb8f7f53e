//===- norm.cuh - Norms of rows in the kernels of products ----------------===//
//
// An element of D is the epilogue of
//
//   NormOfProduct   (sum - mean * column) * inverse + bias + R
//   NormOfResidual  sum + bias + (R - mean) * inverse * column
//
// with mean and inverse deviation of a row from its moments (moments.cuh),
// which another product gives (compiler/transform/folding/FoldNorms).
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_EPILOGUE_NORM_CUH
#define FRIT_CODEGEN_CUDA_EPILOGUE_NORM_CUH

#include "frit/end_stages.cuh"
#include "frit/moments.cuh"

namespace frit {

/// Mean and inverse deviation that normalize a row.
struct RowNorm {
  float mean, inverse;
};

/// Returns the merged moments of row `row`, clamped to the last row.
template <class P>
__device__ inline Moments momentsOf(const float *moments, int64_t row) {
  row = row < P::m ? row : P::m - 1;
  return mergeMoments<P::parts, P::partWidth>(moments + row * P::parts * 2);
}

template <class P> __device__ inline RowNorm normOfRow(Moments row) {
  constexpr float count = P::parts * P::partWidth;
  return {row.mean, rsqrt(fma(row.squares, 1.0f / count, P::epsilon))};
}

/// Normalizes the product, before its bias is added.
struct NormOfProduct {
  /// Returns the epilogue's argument for an element of D; absent bias and
  /// residual are kNothing.
  __device__ static float apply(float sum, float bias, float residual,
                                float column, RowNorm row) {
    return fma(fma(-row.mean, column, sum), row.inverse, bias) + residual;
  }
};

/// Normalizes the residual.
struct NormOfResidual {
  __device__ static float apply(float sum, float bias, float residual,
                                float column, RowNorm row) {
    return fma(fma(residual, row.inverse, -row.mean * row.inverse), column,
               sum + bias);
  }
};

} // namespace frit

#endif // FRIT_CODEGEN_CUDA_EPILOGUE_NORM_CUH
