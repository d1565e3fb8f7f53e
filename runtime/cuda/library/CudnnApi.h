//===- CudnnApi.h - Declarations of the cuDNN 9 API in use ----------------===//
//
// cuDNN API, declared by hand like CudaApi.h; test/runtime/layout_test.cpp
// compares it with the library's headers.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_RUNTIME_CUDA_LIBRARY_CUDNNAPI_H
#define FRIT_RUNTIME_CUDA_LIBRARY_CUDNNAPI_H

#include "runtime/cuda/CudaApi.h"

namespace frit::cuda {

using DnnStatus = int;
using DnnHandle = struct cudnnContext *;
using DnnTensor = struct cudnnTensorStruct *;
using DnnFilter = struct cudnnFilterStruct *;
using DnnConvolution = struct cudnnConvolutionStruct *;
using DnnActivation = struct cudnnActivationStruct *;
using DnnDescriptor = void *; ///< cudnnBackendDescriptor_t

enum DnnType {
  kDnnFloat = 0,
  kDnnHalf = 2,
  kDnnInt32 = 4,
  kDnnBfloat16 = 9,
  kDnnBoolean = 11
};
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

/// cudnnBackendDescriptorType_t
enum DnnDescriptorKind {
  kDnnPointwise = 0,
  kDnnConvolutionKind = 1,
  kDnnEngine = 2,
  kDnnEngineConfig = 3,
  kDnnEngineHeuristics = 4,
  kDnnExecutionPlan = 5,
  kDnnKnobChoice = 7,
  kDnnGradWeightOperation = 11,
  kDnnGradInputOperation = 12,
  kDnnPointwiseOperation = 13,
  kDnnOperationGraph = 15,
  kDnnVariantPack = 16,
  kDnnTensorDescriptor = 17,
  kDnnMatmul = 18,
  kDnnMatmulOperation = 19,
  kDnnReduction = 21,
  kDnnReductionOperation = 22,
  kDnnReshapeOperation = 31
};

/// cudnnBackendAttributeName_t
enum DnnAttribute {
  kDnnPointwiseMode = 0,
  kDnnPointwiseType = 1,
  kDnnPointwiseAxis = 9,
  kDnnConvolutionType = 100,
  kDnnConvolutionMode = 101,
  kDnnConvolutionDilations = 102,
  kDnnConvolutionStrides = 103,
  kDnnConvolutionPadsAfter = 104,
  kDnnConvolutionPadsBefore = 105,
  kDnnConvolutionRank = 106,
  kDnnHeuristicsMode = 200,
  kDnnHeuristicsGraph = 201,
  kDnnHeuristicsResults = 202,
  kDnnConfigEngine = 300,
  kDnnConfigKnobs = 302,
  kDnnPlanHandle = 400,
  kDnnPlanConfig = 401,
  kDnnPlanWorkspace = 402,
  kDnnKnobValue = 601,
  kDnnGradInputAlpha = 706,
  kDnnGradInputBeta = 707,
  kDnnGradInputDescriptor = 708,
  kDnnGradInputW = 709,
  kDnnGradInputDx = 710,
  kDnnGradInputDy = 711,
  kDnnGradWeightAlpha = 712,
  kDnnGradWeightBeta = 713,
  kDnnGradWeightDescriptor = 714,
  kDnnGradWeightDw = 715,
  kDnnGradWeightX = 716,
  kDnnGradWeightDy = 717,
  kDnnPointwiseDescriptor = 750,
  kDnnPointwiseX = 751,
  kDnnPointwiseB = 752,
  kDnnPointwiseY = 753,
  kDnnPointwiseT = 758,
  kDnnGraphHandle = 800,
  kDnnGraphOperations = 801,
  kDnnTensorAlignment = 900,
  kDnnTensorType = 901,
  kDnnTensorDims = 902,
  kDnnTensorStrides = 903,
  kDnnTensorId = 906,
  kDnnTensorIsVirtual = 907,
  kDnnTensorIsByValue = 908,
  kDnnPackIds = 1000,
  kDnnPackPointers = 1001,
  kDnnPackWorkspace = 1003,
  kDnnEngineIndex = 1301,
  kDnnEngineNotes = 1303,
  kDnnMatmulType = 1500,
  kDnnMatmulA = 1520,
  kDnnMatmulB = 1521,
  kDnnMatmulC = 1522,
  kDnnMatmulDescriptor = 1523,
  kDnnMatmulM = 1525,
  kDnnMatmulN = 1526,
  kDnnMatmulK = 1527,
  kDnnReductionOperator = 1600,
  kDnnReductionType = 1601,
  kDnnReductionX = 1610,
  kDnnReductionY = 1611,
  kDnnReductionDescriptor = 1612,
  kDnnReshapeX = 2200,
  kDnnReshapeY = 2201
};

/// cudnnBackendAttributeType_t
enum DnnAttributeType {
  kDnnOfHandle = 0,
  kDnnOfDataType = 1,
  kDnnOfBoolean = 2,
  kDnnOfInt64 = 3,
  kDnnOfFloat = 4,
  kDnnOfPointer = 6,
  kDnnOfConvolutionMode = 7,
  kDnnOfHeuristicsMode = 8,
  kDnnOfNote = 11,
  kDnnOfPointwiseMode = 14,
  kDnnOfDescriptor = 15,
  kDnnOfReduction = 18
};

/// cudnnPointwiseMode_t
enum DnnPointwiseMode {
  kDnnAdd = 0,
  kDnnMultiply = 1,
  kDnnDivide = 6,
  kDnnSubtract = 9,
  kDnnExponential = 13,
  kDnnLogarithm = 15,
  kDnnIdentity = 21,
  kDnnGreaterOrEqual = 303,
  kDnnLess = 304,
  kDnnAnd = 400,
  kDnnIndex = 501,
  kDnnSelect = 601
};

enum DnnReduction { kDnnReduceAdd = 0, kDnnReduceMax = 3 };

/// cudnnBackendHeurMode_t
enum DnnHeuristics { kDnnHeuristicsFallback = 2, kDnnHeuristicsA = 3 };

/// cudnnBackendNumericalNote_t: properties of an engine.
enum DnnNote {
  kDnnTensorCore = 0,
  kDnnDownConverts = 1,
  kDnnReducedPrecision = 2,
  kDnnUsesFft = 3,
  kDnnNondeterministic = 4,
  kDnnWinograd = 5,
  kDnnWinograd13 = 8,
  kDnnNoteCount = 10
};

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
  DnnStatus (*descriptorCreate)(int kind, DnnDescriptor *);
  DnnStatus (*descriptorDestroy)(DnnDescriptor);
  DnnStatus (*descriptorSet)(DnnDescriptor, int attribute, int type,
                             int64_t count, const void *values);
  DnnStatus (*descriptorGet)(DnnDescriptor, int attribute, int type,
                             int64_t wanted, int64_t *found, void *values);
  DnnStatus (*descriptorFinalize)(DnnDescriptor);
  DnnStatus (*execute)(DnnHandle, DnnDescriptor plan, DnnDescriptor pack);
};

} // namespace frit::cuda

#endif // FRIT_RUNTIME_CUDA_LIBRARY_CUDNNAPI_H
