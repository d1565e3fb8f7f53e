//===- store.cuh - Second results of the kernels of products --------------===//

#ifndef FRIT_CODEGEN_CUDA_EPILOGUE_STORE_CUH
#define FRIT_CODEGEN_CUDA_EPILOGUE_STORE_CUH

#include "frit/end_stages.cuh"

namespace frit {

/// Stores the number that the epilogue is applied to.
struct StoredSum {
  /// Computes an element of D from the epilogue's argument, and what is stored
  /// beside it.
  template <class Epilogue>
  __device__ static float apply(float sum, float &second) {
    second = sum;
    return Epilogue()(sum);
  }
};

/// Stores the slope of the epilogue there.
struct StoredSlope {
  template <class Epilogue>
  __device__ static float apply(float sum, float &second) {
    return Epilogue()(sum, second);
  }
};

} // namespace frit

#endif // FRIT_CODEGEN_CUDA_EPILOGUE_STORE_CUH
