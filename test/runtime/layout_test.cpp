//===- layout_test.cpp - Hand-written declarations equal NVIDIA's ---------===//
//
// Compiled if the toolkit's headers are present; compiling is the test.
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/CudaApi.h"
#include "runtime/cuda/TensorMaps.h"
#include "runtime/cuda/library/CublasLtApi.h"
#include "runtime/cuda/library/CudnnApi.h"

#include <cublasLt.h>
#include <cuda.h>
#include <cudnn.h>
#include <type_traits>

using namespace frit::cuda;

// The driver.
static_assert(sizeof(KernelNodeParams) == sizeof(CUDA_KERNEL_NODE_PARAMS_v2));
#define SAME_PLACE(ours, theirs)                                               \
  static_assert(offsetof(KernelNodeParams, ours) ==                            \
                offsetof(CUDA_KERNEL_NODE_PARAMS_v2, theirs))
SAME_PLACE(func, func);
SAME_PLACE(gridX, gridDimX);
SAME_PLACE(gridZ, gridDimZ);
SAME_PLACE(blockX, blockDimX);
SAME_PLACE(sharedBytes, sharedMemBytes);
SAME_PLACE(kernelParams, kernelParams);
SAME_PLACE(extra, extra);
SAME_PLACE(kern, kern);
SAME_PLACE(ctx, ctx);
static_assert(sizeof(ConditionalNodeParams) == sizeof(CUgraphNodeParams));
#define SAME_FIELD(ours, theirs)                                               \
  static_assert(offsetof(ConditionalNodeParams, ours) ==                       \
                offsetof(CUgraphNodeParams, theirs))
SAME_FIELD(nodeType, type);
SAME_FIELD(handle, conditional.handle);
SAME_FIELD(type, conditional.type);
SAME_FIELD(size, conditional.size);
SAME_FIELD(bodies, conditional.phGraph_out);
SAME_FIELD(ctx, conditional.ctx);
static_assert(kConditionalNode == CU_GRAPH_NODE_TYPE_CONDITIONAL &&
              kConditionalIf == CU_GRAPH_COND_TYPE_IF &&
              sizeof(ConditionalHandle) == sizeof(CUgraphConditionalHandle));
static_assert(std::is_same_v<DevicePointer, CUdeviceptr>);
static_assert(sizeof(Device) == sizeof(CUdevice) &&
              sizeof(Result) == sizeof(CUresult));
static_assert(kOutOfMemory == CUDA_ERROR_OUT_OF_MEMORY &&
              kNoDevice == CUDA_ERROR_NO_DEVICE);
static_assert(kAttributeCapabilityMajor ==
                  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR &&
              kAttributeCapabilityMinor ==
                  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
static_assert(kAttributeClock == CU_DEVICE_ATTRIBUTE_CLOCK_RATE &&
              kAttributeMultiprocessors ==
                  CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT &&
              kAttributeMemoryClock == CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE &&
              kAttributeMemoryBusWidth ==
                  CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
static_assert(kAttributeIntegrated == CU_DEVICE_ATTRIBUTE_INTEGRATED &&
              kAttributeL2Bytes == CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE &&
              kAttributeThreadsPerSm ==
                  CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR &&
              kAttributeSharedPerSm ==
                  CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR &&
              kAttributeRegistersPerSm ==
                  CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR &&
              kAttributeSharedPerBlock ==
                  CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN &&
              kAttributeSharedReserved ==
                  CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK);
static_assert(kFunctionStaticShared == CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES &&
              kFunctionMaxDynamicShared ==
                  CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES &&
              kFunctionPreferredShared ==
                  CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT);
static_assert(kStreamNonBlocking == CU_STREAM_NON_BLOCKING &&
              kEventDisableTiming == CU_EVENT_DISABLE_TIMING &&
              kCaptureThreadLocal == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
static_assert(kPointerMemoryType == CU_POINTER_ATTRIBUTE_MEMORY_TYPE &&
              kMemoryTypeHost == CU_MEMORYTYPE_HOST);
static_assert(kJitErrorLog == CU_JIT_ERROR_LOG_BUFFER &&
              kJitErrorLogBytes == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
static_assert(sizeof(EncodedMap) == sizeof(CUtensorMap) &&
              alignof(EncodedMap) >= alignof(CUtensorMap));
static_assert(int(kMapUint8) == CU_TENSOR_MAP_DATA_TYPE_UINT8 &&
              int(kMapUint16) == CU_TENSOR_MAP_DATA_TYPE_UINT16 &&
              int(kMapUint32) == CU_TENSOR_MAP_DATA_TYPE_UINT32 &&
              int(kMapInt32) == CU_TENSOR_MAP_DATA_TYPE_INT32 &&
              int(kMapUint64) == CU_TENSOR_MAP_DATA_TYPE_UINT64 &&
              int(kMapInt64) == CU_TENSOR_MAP_DATA_TYPE_INT64 &&
              int(kMapFloat16) == CU_TENSOR_MAP_DATA_TYPE_FLOAT16 &&
              int(kMapFloat32) == CU_TENSOR_MAP_DATA_TYPE_FLOAT32 &&
              int(kMapFloat64) == CU_TENSOR_MAP_DATA_TYPE_FLOAT64 &&
              int(kMapBfloat16) == CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 &&
              kMapNotInterleaved == CU_TENSOR_MAP_INTERLEAVE_NONE &&
              kMapPromote256 == CU_TENSOR_MAP_L2_PROMOTION_L2_256B &&
              kMapFillZero == CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
static_assert(CU_TENSOR_MAP_SWIZZLE_32B == 1 &&
              CU_TENSOR_MAP_SWIZZLE_64B == 2 &&
              CU_TENSOR_MAP_SWIZZLE_128B == 3);
static_assert(sizeof(EdgeData) == sizeof(CUgraphEdgeData) &&
              offsetof(EdgeData, toPort) ==
                  offsetof(CUgraphEdgeData, to_port) &&
              offsetof(EdgeData, type) == offsetof(CUgraphEdgeData, type) &&
              kProgrammaticEdge.fromPort ==
                  CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC &&
              kProgrammaticEdge.type == CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC);

// cuBLASLt.
static_assert(sizeof(LtAlgo) == sizeof(cublasLtMatmulAlgo_t) &&
              sizeof(LtHeuristic) == sizeof(cublasLtMatmulHeuristicResult_t));
static_assert(offsetof(LtHeuristic, workspaceSize) ==
                  offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize) &&
              offsetof(LtHeuristic, state) ==
                  offsetof(cublasLtMatmulHeuristicResult_t, state));
static_assert(int(kLtTransA) == CUBLASLT_MATMUL_DESC_TRANSA &&
              int(kLtTransB) == CUBLASLT_MATMUL_DESC_TRANSB &&
              int(kLtEpilogue) == CUBLASLT_MATMUL_DESC_EPILOGUE &&
              int(kLtBias) == CUBLASLT_MATMUL_DESC_BIAS_POINTER);
static_assert(int(kLtBatchCount) == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT &&
              int(kLtBatchStride) ==
                  CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
static_assert(int(kLtMaxWorkspace) ==
                  CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES &&
              int(kLtAlignA) == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES &&
              int(kLtAlignB) == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES &&
              int(kLtAlignC) == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES &&
              int(kLtAlignD) == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);
static_assert(int(kLtDefault) == CUBLASLT_EPILOGUE_DEFAULT &&
              int(kLtRelu) == CUBLASLT_EPILOGUE_RELU &&
              int(kLtAddBias) == CUBLASLT_EPILOGUE_BIAS &&
              int(kLtGelu) == CUBLASLT_EPILOGUE_GELU &&
              int(kLtRelu) + int(kLtAddBias) == CUBLASLT_EPILOGUE_RELU_BIAS &&
              int(kLtGelu) + int(kLtAddBias) == CUBLASLT_EPILOGUE_GELU_BIAS);
static_assert(int(kLt32F) == CUBLAS_COMPUTE_32F &&
              int(kLt32FFastTf32) == CUBLAS_COMPUTE_32F_FAST_TF32 &&
              int(kLt64F) == CUBLAS_COMPUTE_64F &&
              int(kLt32I) == CUBLAS_COMPUTE_32I);
static_assert(int(kLtR32F) == CUDA_R_32F && int(kLtR64F) == CUDA_R_64F &&
              int(kLtR16F) == CUDA_R_16F && int(kLtR16BF) == CUDA_R_16BF &&
              int(kLtR8I) == CUDA_R_8I && int(kLtR32I) == CUDA_R_32I);
static_assert(int(kLtAlgoId) == CUBLASLT_ALGO_CONFIG_ID &&
              int(kLtAlgoTile) == CUBLASLT_ALGO_CONFIG_TILE_ID &&
              int(kLtAlgoSplitK) == CUBLASLT_ALGO_CONFIG_SPLITK_NUM &&
              int(kLtAlgoReduction) == CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME &&
              int(kLtAlgoSwizzle) == CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING &&
              int(kLtAlgoCustom) == CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION &&
              int(kLtAlgoStages) == CUBLASLT_ALGO_CONFIG_STAGES_ID &&
              int(kLtAlgoInnerShape) == CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID &&
              int(kLtAlgoCluster) == CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID);
static_assert(CUBLAS_OP_N == 0 && CUBLAS_OP_T == 1);

// cuDNN.
static_assert(sizeof(DnnPerformance) == sizeof(cudnnConvolutionFwdAlgoPerf_t) &&
              offsetof(DnnPerformance, memory) ==
                  offsetof(cudnnConvolutionFwdAlgoPerf_t, memory) &&
              offsetof(DnnPerformance, mathType) ==
                  offsetof(cudnnConvolutionFwdAlgoPerf_t, mathType));
static_assert(int(kDnnFloat) == CUDNN_DATA_FLOAT &&
              int(kDnnHalf) == CUDNN_DATA_HALF &&
              int(kDnnBfloat16) == CUDNN_DATA_BFLOAT16);
static_assert(int(kDnnNchw) == CUDNN_TENSOR_NCHW &&
              int(kDnnNhwc) == CUDNN_TENSOR_NHWC);
static_assert(int(kDnnTensorOp) == CUDNN_TENSOR_OP_MATH &&
              int(kDnnFma) == CUDNN_FMA_MATH);
static_assert(int(kDnnImplicitGemm) ==
                  CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM &&
              int(kDnnImplicitPrecompGemm) ==
                  CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM &&
              int(kDnnFft) == CUDNN_CONVOLUTION_FWD_ALGO_FFT &&
              int(kDnnAlgorithmCount) == CUDNN_CONVOLUTION_FWD_ALGO_COUNT);
static_assert(kDnnCrossCorrelation == CUDNN_CROSS_CORRELATION &&
              kDnnActivationRelu == CUDNN_ACTIVATION_RELU &&
              kDnnActivationIdentity == CUDNN_ACTIVATION_IDENTITY);
static_assert(int(kDnnInt32) == CUDNN_DATA_INT32 &&
              int(kDnnBoolean) == CUDNN_DATA_BOOLEAN);
static_assert(
    int(kDnnPointwise) == CUDNN_BACKEND_POINTWISE_DESCRIPTOR &&
    int(kDnnEngine) == CUDNN_BACKEND_ENGINE_DESCRIPTOR &&
    int(kDnnEngineConfig) == CUDNN_BACKEND_ENGINECFG_DESCRIPTOR &&
    int(kDnnEngineHeuristics) == CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR &&
    int(kDnnExecutionPlan) == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR &&
    int(kDnnKnobChoice) == CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR &&
    int(kDnnPointwiseOperation) ==
        CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR &&
    int(kDnnOperationGraph) == CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR &&
    int(kDnnVariantPack) == CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR &&
    int(kDnnTensorDescriptor) == CUDNN_BACKEND_TENSOR_DESCRIPTOR &&
    int(kDnnMatmul) == CUDNN_BACKEND_MATMUL_DESCRIPTOR &&
    int(kDnnMatmulOperation) == CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR &&
    int(kDnnReduction) == CUDNN_BACKEND_REDUCTION_DESCRIPTOR &&
    int(kDnnReductionOperation) ==
        CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
static_assert(
    int(kDnnPointwiseMode) == CUDNN_ATTR_POINTWISE_MODE &&
    int(kDnnPointwiseType) == CUDNN_ATTR_POINTWISE_MATH_PREC &&
    int(kDnnPointwiseAxis) == CUDNN_ATTR_POINTWISE_AXIS &&
    int(kDnnPointwiseDescriptor) ==
        CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR &&
    int(kDnnPointwiseX) == CUDNN_ATTR_OPERATION_POINTWISE_XDESC &&
    int(kDnnPointwiseB) == CUDNN_ATTR_OPERATION_POINTWISE_BDESC &&
    int(kDnnPointwiseY) == CUDNN_ATTR_OPERATION_POINTWISE_YDESC &&
    int(kDnnPointwiseT) == CUDNN_ATTR_OPERATION_POINTWISE_TDESC &&
    int(kDnnMatmulType) == CUDNN_ATTR_MATMUL_COMP_TYPE &&
    int(kDnnMatmulA) == CUDNN_ATTR_OPERATION_MATMUL_ADESC &&
    int(kDnnMatmulB) == CUDNN_ATTR_OPERATION_MATMUL_BDESC &&
    int(kDnnMatmulC) == CUDNN_ATTR_OPERATION_MATMUL_CDESC &&
    int(kDnnMatmulDescriptor) == CUDNN_ATTR_OPERATION_MATMUL_DESC &&
    int(kDnnMatmulM) == CUDNN_ATTR_OPERATION_MATMUL_GEMM_M_OVERRIDE_DESC &&
    int(kDnnMatmulN) == CUDNN_ATTR_OPERATION_MATMUL_GEMM_N_OVERRIDE_DESC &&
    int(kDnnMatmulK) == CUDNN_ATTR_OPERATION_MATMUL_GEMM_K_OVERRIDE_DESC &&
    int(kDnnLess) == CUDNN_POINTWISE_CMP_LT &&
    int(kDnnAnd) == CUDNN_POINTWISE_LOGICAL_AND &&
    int(kDnnReductionOperator) == CUDNN_ATTR_REDUCTION_OPERATOR &&
    int(kDnnReductionType) == CUDNN_ATTR_REDUCTION_COMP_TYPE &&
    int(kDnnReductionX) == CUDNN_ATTR_OPERATION_REDUCTION_XDESC &&
    int(kDnnReductionY) == CUDNN_ATTR_OPERATION_REDUCTION_YDESC &&
    int(kDnnReductionDescriptor) == CUDNN_ATTR_OPERATION_REDUCTION_DESC);
static_assert(
    int(kDnnReshapeOperation) == CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR &&
    int(kDnnReshapeX) == CUDNN_ATTR_OPERATION_RESHAPE_XDESC &&
    int(kDnnReshapeY) == CUDNN_ATTR_OPERATION_RESHAPE_YDESC &&
    int(kDnnIdentity) == CUDNN_POINTWISE_IDENTITY &&
    int(kDnnConvolutionKind) == CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR &&
    int(kDnnGradWeightOperation) ==
        CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR &&
    int(kDnnGradInputOperation) ==
        CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR &&
    int(kDnnConvolutionType) == CUDNN_ATTR_CONVOLUTION_COMP_TYPE &&
    int(kDnnConvolutionMode) == CUDNN_ATTR_CONVOLUTION_CONV_MODE &&
    int(kDnnConvolutionDilations) == CUDNN_ATTR_CONVOLUTION_DILATIONS &&
    int(kDnnConvolutionStrides) == CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES &&
    int(kDnnConvolutionPadsAfter) == CUDNN_ATTR_CONVOLUTION_POST_PADDINGS &&
    int(kDnnConvolutionPadsBefore) == CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS &&
    int(kDnnConvolutionRank) == CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS);
static_assert(
    int(kDnnGradInputAlpha) ==
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA &&
    int(kDnnGradInputBeta) == CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA &&
    int(kDnnGradInputDescriptor) ==
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC &&
    int(kDnnGradInputW) == CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W &&
    int(kDnnGradInputDx) == CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX &&
    int(kDnnGradInputDy) == CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY);
static_assert(
    int(kDnnGradWeightAlpha) ==
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA &&
    int(kDnnGradWeightBeta) ==
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA &&
    int(kDnnGradWeightDescriptor) ==
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC &&
    int(kDnnGradWeightDw) == CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW &&
    int(kDnnGradWeightX) == CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X &&
    int(kDnnGradWeightDy) == CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY);
static_assert(int(kDnnHeuristicsFallback) == CUDNN_HEUR_MODE_FALLBACK &&
              int(kDnnEngineNotes) == CUDNN_ATTR_ENGINE_NUMERICAL_NOTE &&
              int(kDnnTensorCore) == CUDNN_NUMERICAL_NOTE_TENSOR_CORE &&
              int(kDnnDownConverts) ==
                  CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS &&
              int(kDnnReducedPrecision) ==
                  CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION &&
              int(kDnnUsesFft) == CUDNN_NUMERICAL_NOTE_FFT &&
              int(kDnnNondeterministic) ==
                  CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC &&
              int(kDnnWinograd) == CUDNN_NUMERICAL_NOTE_WINOGRAD &&
              int(kDnnWinograd13) == CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13);
static_assert(int(kDnnHeuristicsMode) == CUDNN_ATTR_ENGINEHEUR_MODE &&
              int(kDnnHeuristicsGraph) ==
                  CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH &&
              int(kDnnHeuristicsResults) == CUDNN_ATTR_ENGINEHEUR_RESULTS &&
              int(kDnnConfigEngine) == CUDNN_ATTR_ENGINECFG_ENGINE &&
              int(kDnnConfigKnobs) == CUDNN_ATTR_ENGINECFG_KNOB_CHOICES &&
              int(kDnnEngineIndex) == CUDNN_ATTR_ENGINE_GLOBAL_INDEX &&
              int(kDnnKnobValue) == CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE &&
              int(kDnnPlanHandle) == CUDNN_ATTR_EXECUTION_PLAN_HANDLE &&
              int(kDnnPlanConfig) == CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG &&
              int(kDnnPlanWorkspace) ==
                  CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE &&
              int(kDnnGraphHandle) == CUDNN_ATTR_OPERATIONGRAPH_HANDLE &&
              int(kDnnGraphOperations) == CUDNN_ATTR_OPERATIONGRAPH_OPS &&
              int(kDnnPackIds) == CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS &&
              int(kDnnPackPointers) == CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS &&
              int(kDnnPackWorkspace) == CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
static_assert(int(kDnnTensorAlignment) == CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT &&
              int(kDnnTensorType) == CUDNN_ATTR_TENSOR_DATA_TYPE &&
              int(kDnnTensorDims) == CUDNN_ATTR_TENSOR_DIMENSIONS &&
              int(kDnnTensorStrides) == CUDNN_ATTR_TENSOR_STRIDES &&
              int(kDnnTensorId) == CUDNN_ATTR_TENSOR_UNIQUE_ID &&
              int(kDnnTensorIsVirtual) == CUDNN_ATTR_TENSOR_IS_VIRTUAL &&
              int(kDnnTensorIsByValue) == CUDNN_ATTR_TENSOR_IS_BY_VALUE);
static_assert(int(kDnnOfHandle) == CUDNN_TYPE_HANDLE &&
              int(kDnnOfDataType) == CUDNN_TYPE_DATA_TYPE &&
              int(kDnnOfBoolean) == CUDNN_TYPE_BOOLEAN &&
              int(kDnnOfInt64) == CUDNN_TYPE_INT64 &&
              int(kDnnOfFloat) == CUDNN_TYPE_FLOAT &&
              int(kDnnOfConvolutionMode) == CUDNN_TYPE_CONVOLUTION_MODE &&
              int(kDnnOfNote) == CUDNN_TYPE_NUMERICAL_NOTE &&
              int(kDnnOfPointer) == CUDNN_TYPE_VOID_PTR &&
              int(kDnnOfHeuristicsMode) == CUDNN_TYPE_HEUR_MODE &&
              int(kDnnOfPointwiseMode) == CUDNN_TYPE_POINTWISE_MODE &&
              int(kDnnOfDescriptor) == CUDNN_TYPE_BACKEND_DESCRIPTOR &&
              int(kDnnOfReduction) == CUDNN_TYPE_REDUCTION_OPERATOR_TYPE);
static_assert(int(kDnnAdd) == CUDNN_POINTWISE_ADD &&
              int(kDnnMultiply) == CUDNN_POINTWISE_MUL &&
              int(kDnnDivide) == CUDNN_POINTWISE_DIV &&
              int(kDnnSubtract) == CUDNN_POINTWISE_SUB &&
              int(kDnnExponential) == CUDNN_POINTWISE_EXP &&
              int(kDnnLogarithm) == CUDNN_POINTWISE_LOG &&
              int(kDnnGreaterOrEqual) == CUDNN_POINTWISE_CMP_GE &&
              int(kDnnIndex) == CUDNN_POINTWISE_GEN_INDEX &&
              int(kDnnSelect) == CUDNN_POINTWISE_BINARY_SELECT);
static_assert(int(kDnnReduceAdd) == CUDNN_REDUCE_TENSOR_ADD &&
              int(kDnnReduceMax) == CUDNN_REDUCE_TENSOR_MAX &&
              int(kDnnHeuristicsA) == CUDNN_HEUR_MODE_A);

int main() { return 0; }
