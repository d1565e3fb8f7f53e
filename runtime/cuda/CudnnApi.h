//===- CudnnApi.h - The part of cuDNN 9 that frit uses --------------------===//
//
// Declared by hand, as CudaApi.h is; test/runtime/layout_test.cpp compares.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CUDA_CUDNNAPI_H
#define FRIT_CUDA_CUDNNAPI_H

#include "runtime/cuda/CudaApi.h"

namespace frit::cuda {

using DnnStatus = int;
using DnnHandle = struct cudnnContext *;
using DnnTensor = struct cudnnTensorStruct *;
using DnnFilter = struct cudnnFilterStruct *;
using DnnConvolution = struct cudnnConvolutionStruct *;
using DnnActivation = struct cudnnActivationStruct *;

enum DnnType { kDnnFloat = 0, kDnnHalf = 2, kDnnBfloat16 = 9 };
enum DnnFormat { kDnnNchw = 0, kDnnNhwc = 1 };
enum DnnMath { kDnnDefaultMath = 0, kDnnTensorOp = 1, kDnnFma = 3 };
enum DnnAlgorithm {
  kDnnImplicitGemm = 0,
  kDnnImplicitPrecompGemm = 1,
  kDnnFft = 4,
  kDnnAlgorithmCount = 8
};
inline constexpr int kDnnCrossCorrelation = 1;
inline constexpr int kDnnActivationRelu = 1;
inline constexpr int kDnnActivationIdentity = 5;

/// cudnnConvolutionFwdAlgoPerf_t
struct DnnPerformance {
  int algorithm;
  DnnStatus status;
  float time;
  size_t memory;
  int determinism;
  int mathType;
  int reserved[3];
};

struct CudnnApi {
  size_t (*getVersion)();
  DnnStatus (*create)(DnnHandle *);
  DnnStatus (*destroy)(DnnHandle);
  DnnStatus (*setStream)(DnnHandle, Stream);
  DnnStatus (*tensorCreate)(DnnTensor *);
  DnnStatus (*tensorDestroy)(DnnTensor);
  DnnStatus (*tensorSet)(DnnTensor, int format, int type, int n, int c, int h,
                         int w);
  DnnStatus (*filterCreate)(DnnFilter *);
  DnnStatus (*filterDestroy)(DnnFilter);
  DnnStatus (*filterSet)(DnnFilter, int type, int format, int k, int c, int h,
                         int w);
  DnnStatus (*convolutionCreate)(DnnConvolution *);
  DnnStatus (*convolutionDestroy)(DnnConvolution);
  DnnStatus (*convolutionSet)(DnnConvolution, int padH, int padW, int strideH,
                              int strideW, int dilationH, int dilationW,
                              int mode, int computeType);
  DnnStatus (*convolutionSetGroups)(DnnConvolution, int groups);
  DnnStatus (*convolutionSetMath)(DnnConvolution, int math);
  DnnStatus (*activationCreate)(DnnActivation *);
  DnnStatus (*activationDestroy)(DnnActivation);
  DnnStatus (*activationSet)(DnnActivation, int mode, int nanPropagation,
                             double coefficient);
  DnnStatus (*getAlgorithms)(DnnHandle, DnnTensor x, DnnFilter, DnnConvolution,
                             DnnTensor y, int wanted, int *found,
                             DnnPerformance *);
  DnnStatus (*getWorkspaceSize)(DnnHandle, DnnTensor x, DnnFilter,
                                DnnConvolution, DnnTensor y, int algorithm,
                                size_t *bytes);
  DnnStatus (*convolve)(DnnHandle, const void *alpha, DnnTensor, const void *x,
                        DnnFilter, const void *w, DnnConvolution, int algorithm,
                        void *workspace, size_t workspaceBytes,
                        const void *beta, DnnTensor, void *y);
  DnnStatus (*convolveFused)(DnnHandle, const void *alpha1, DnnTensor,
                             const void *x, DnnFilter, const void *w,
                             DnnConvolution, int algorithm, void *workspace,
                             size_t workspaceBytes, const void *alpha2,
                             DnnTensor, const void *z, DnnTensor,
                             const void *bias, DnnActivation, DnnTensor,
                             void *y);
};

} // namespace frit::cuda

#endif // FRIT_CUDA_CUDNNAPI_H
