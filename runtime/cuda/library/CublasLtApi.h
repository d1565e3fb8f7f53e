//===- CublasLtApi.h - Declarations of the cuBLASLt API in use ------------===//
//
// cuBLASLt API, declared by hand like CudaApi.h; test/runtime/layout_test.cpp
// compares it with the library's headers.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_RUNTIME_CUDA_LIBRARY_CUBLASLTAPI_H
#define FRIT_RUNTIME_CUDA_LIBRARY_CUBLASLTAPI_H

#include "runtime/cuda/CudaApi.h"

namespace frit::cuda {

using LtStatus = int;
using LtHandle = struct cublasLtContext *;
using LtMatmulDesc = void *;
using LtLayout = void *;
using LtPreference = void *;

enum LtDescAttribute {
  kLtTransA = 3,
  kLtTransB = 4,
  kLtEpilogue = 7,
  kLtBias = 8
};
enum LtLayoutAttribute { kLtBatchCount = 5, kLtBatchStride = 6 };
enum LtPreferenceAttribute {
  kLtMaxWorkspace = 1,
  kLtAlignA = 5,
  kLtAlignB = 6,
  kLtAlignC = 7,
  kLtAlignD = 8
};
enum LtEpilogue : uint32_t {
  kLtDefault = 1,
  kLtRelu = 2,
  kLtAddBias = 4,
  kLtGelu = 32
};
enum LtCompute { kLt32F = 68, kLt32FFastTf32 = 77, kLt64F = 70, kLt32I = 72 };
enum LtType {
  kLtR32F = 0,
  kLtR64F = 1,
  kLtR16F = 2,
  kLtR8I = 3,
  kLtR32I = 10,
  kLtR16BF = 14
};
/// Attributes of an algorithm: its kernel and tiling.
enum LtAlgoAttribute {
  kLtAlgoId = 0,
  kLtAlgoTile = 1,
  kLtAlgoSplitK = 2,
  kLtAlgoReduction = 3,
  kLtAlgoSwizzle = 4,
  kLtAlgoCustom = 5,
  kLtAlgoStages = 6,
  kLtAlgoInnerShape = 7,
  kLtAlgoCluster = 8
};

struct LtAlgo {
  uint64_t data[8];
};

struct LtHeuristic {
  LtAlgo algo;
  size_t workspaceSize;
  LtStatus state;
  float wavesCount;
  int reserved[4];
};

struct CublasLtApi {
  LtStatus (*create)(LtHandle *);
  LtStatus (*destroy)(LtHandle);
  size_t (*getVersion)();
  LtStatus (*descCreate)(LtMatmulDesc *, int compute, int scaleType);
  LtStatus (*descDestroy)(LtMatmulDesc);
  LtStatus (*descSet)(LtMatmulDesc, int attribute, const void *, size_t bytes);
  LtStatus (*layoutCreate)(LtLayout *, int type, uint64_t rows, uint64_t cols,
                           int64_t ld);
  LtStatus (*layoutDestroy)(LtLayout);
  LtStatus (*layoutSet)(LtLayout, int attribute, const void *, size_t bytes);
  LtStatus (*preferenceCreate)(LtPreference *);
  LtStatus (*preferenceDestroy)(LtPreference);
  LtStatus (*preferenceSet)(LtPreference, int attribute, const void *,
                            size_t bytes);
  LtStatus (*getHeuristic)(LtHandle, LtMatmulDesc, LtLayout a, LtLayout b,
                           LtLayout c, LtLayout d, LtPreference, int wanted,
                           LtHeuristic *, int *found);
  LtStatus (*algoGet)(const LtAlgo *, int attribute, void *, size_t bytes,
                      size_t *written);
  LtStatus (*matmul)(LtHandle, LtMatmulDesc, const void *alpha, const void *a,
                     LtLayout, const void *b, LtLayout, const void *beta,
                     const void *c, LtLayout, void *d, LtLayout, const LtAlgo *,
                     void *workspace, size_t workspaceBytes, Stream);
};

} // namespace frit::cuda

#endif // FRIT_RUNTIME_CUDA_LIBRARY_CUBLASLTAPI_H
