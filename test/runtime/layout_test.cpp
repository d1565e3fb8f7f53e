//===- layout_test.cpp - What we declared by hand is what NVIDIA declares -===//
//
// Compiled where the toolkit's headers are; that it compiles is the test.
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/CublasLtApi.h"
#include "runtime/cuda/CudaApi.h"
#include "runtime/cuda/CudnnApi.h"
#include "runtime/cuda/TensorMaps.h"

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
static_assert(kFunctionMaxDynamicShared ==
              CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
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

int main() { return 0; }
