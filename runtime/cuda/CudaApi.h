//===- CudaApi.h - Declarations of the CUDA driver API in use -------------===//
//
// CUDA driver API, declared by hand so that the runtime builds without a CUDA
// toolkit. Names are the driver's without their prefix. Layouts and values are
// those of cuda.h; test/runtime/layout_test.cpp compares them if a toolkit is
// present.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_RUNTIME_CUDA_CUDAAPI_H
#define FRIT_RUNTIME_CUDA_CUDAAPI_H

#include <cstddef>
#include <cstdint>

namespace frit::cuda {

using Result = int;
using Device = int;
using DevicePointer = unsigned long long;
using Context = struct CUctx_st *;
using Module = struct CUmod_st *;
using Function = struct CUfunc_st *;
using Stream = struct CUstream_st *;
using Event = struct CUevent_st *;
using Graph = struct CUgraph_st *;
using GraphNode = struct CUgraphNode_st *;
using GraphExec = struct CUgraphExec_st *;
using ConditionalHandle = unsigned long long;

/// Returns the device address of a pointer to device memory.
inline DevicePointer addressOf(const void *data) {
  return DevicePointer(reinterpret_cast<uintptr_t>(data));
}

inline constexpr Result kSuccess = 0;
inline constexpr Result kOutOfMemory = 2;
inline constexpr Result kNoDevice = 100;
inline constexpr Result kContextDestroyed = 709;
inline constexpr Result kCaptureInvalidated = 901;

inline constexpr int kAttributeClock = 13; ///< kHz
inline constexpr int kAttributeMultiprocessors = 16;
inline constexpr int kAttributeIntegrated = 18;
inline constexpr int kAttributeMemoryClock = 36; ///< kHz
inline constexpr int kAttributeMemoryBusWidth = 37;
inline constexpr int kAttributeL2Bytes = 38;
inline constexpr int kAttributeThreadsPerSm = 39;
inline constexpr int kAttributeCapabilityMajor = 75;
inline constexpr int kAttributeCapabilityMinor = 76;
inline constexpr int kAttributeSharedPerSm = 81;
inline constexpr int kAttributeRegistersPerSm = 82;
inline constexpr int kAttributeSharedPerBlock = 97; ///< with opting in
inline constexpr int kAttributeSharedReserved = 111;
inline constexpr int kFunctionStaticShared = 1; ///< bytes of its variables
inline constexpr int kFunctionMaxDynamicShared = 8;
inline constexpr int kFunctionPreferredShared = 9; ///< percent of an SM's
inline constexpr unsigned kStreamNonBlocking = 1;
inline constexpr unsigned kEventDisableTiming = 2;
inline constexpr int kCaptureThreadLocal = 1;
inline constexpr unsigned kSetCaptureDependencies = 1;
inline constexpr int kPointerMemoryType = 2;
inline constexpr unsigned kMemoryTypeHost = 1;
inline constexpr int kJitErrorLog = 5;
inline constexpr int kJitErrorLogBytes = 6;

/// CUtensorMapDataType and the other enumerations of tensor maps.
enum MapType {
  kMapUint8 = 0,
  kMapUint16,
  kMapUint32,
  kMapInt32,
  kMapUint64,
  kMapInt64,
  kMapFloat16,
  kMapFloat32,
  kMapFloat64,
  kMapBfloat16
};
inline constexpr int kMapNotInterleaved = 0;
inline constexpr int kMapPromote256 = 3;
inline constexpr int kMapFillZero = 0;

/// CUgraphEdgeData
struct EdgeData {
  unsigned char fromPort, toPort, type;
  unsigned char reserved[5];
};
/// An edge for programmatic dependent launch (PDL): the second kernel may start
/// once every block of the first has triggered it.
inline constexpr EdgeData kProgrammaticEdge = {1, 0, 1, {}};

/// CUDA_KERNEL_NODE_PARAMS_v2
struct KernelNodeParams {
  Function func;
  unsigned gridX, gridY, gridZ;
  unsigned blockX, blockY, blockZ;
  unsigned sharedBytes;
  void **kernelParams;
  void **extra;
  void *kern;
  Context ctx;
};

inline constexpr int kConditionalNode = 13;
inline constexpr int kConditionalIf = 0;

/// CUgraphNodeParams of a conditional node.
struct ConditionalNodeParams {
  int nodeType = kConditionalNode;
  int reserved[3] = {};
  ConditionalHandle handle = 0;
  int type = kConditionalIf;
  unsigned size = 1;
  Graph *bodies = nullptr; ///< owned by the driver; set when the node is added
  Context ctx = nullptr;
  long long padding[26] = {};
};

/// The driver's functions, looked up by name.
struct Api {
  Result (*getErrorString)(Result, const char **);
  Result (*init)(unsigned flags);
  Result (*driverGetVersion)(int *version);
  Result (*deviceGetCount)(int *count);
  Result (*deviceGet)(Device *, int ordinal);
  Result (*deviceGetName)(char *name, int length, Device);
  Result (*deviceGetUuid)(unsigned char uuid[16], Device);
  Result (*deviceGetAttribute)(int *value, int attribute, Device);
  Result (*deviceTotalMem)(size_t *bytes, Device);
  Result (*primaryCtxRetain)(Context *, Device);
  Result (*primaryCtxRelease)(Device);
  Result (*ctxPushCurrent)(Context);
  Result (*ctxPopCurrent)(Context *);
  Result (*ctxGetId)(Context, unsigned long long *id);

  Result (*memGetInfo)(size_t *free, size_t *total);
  Result (*memAlloc)(DevicePointer *, size_t bytes);
  Result (*memFree)(DevicePointer);
  Result (*memHostAlloc)(void **, size_t bytes, unsigned flags);
  Result (*memFreeHost)(void *);
  Result (*memcpyHtoD)(DevicePointer, const void *, size_t bytes);
  Result (*memcpyHtoDAsync)(DevicePointer, const void *, size_t bytes, Stream);
  Result (*memcpyDtoHAsync)(void *, DevicePointer, size_t bytes, Stream);
  Result (*memcpyDtoDAsync)(DevicePointer, DevicePointer, size_t bytes, Stream);
  Result (*memsetD8Async)(DevicePointer, unsigned char, size_t bytes, Stream);
  Result (*memsetD32Async)(DevicePointer, unsigned, size_t count, Stream);
  /// Unlike cuPointerGetAttribute, succeeds for memory that is not CUDA's.
  Result (*pointerGetAttributes)(unsigned count, int *attributes, void **values,
                                 DevicePointer);

  Result (*moduleLoadDataEx)(Module *, const void *image, unsigned optionCount,
                             int *options, void **values);
  Result (*moduleUnload)(Module);
  Result (*moduleGetFunction)(Function *, Module, const char *name);
  Result (*funcGetAttribute)(int *value, int attribute, Function);
  Result (*funcSetAttribute)(Function, int attribute, int value);
  Result (*launchKernel)(Function, unsigned gridX, unsigned gridY,
                         unsigned gridZ, unsigned blockX, unsigned blockY,
                         unsigned blockZ, unsigned sharedBytes, Stream,
                         void **params, void **extra);

  Result (*streamCreate)(Stream *, unsigned flags);
  Result (*streamDestroy)(Stream);
  Result (*streamSynchronize)(Stream);
  Result (*streamWaitEvent)(Stream, Event, unsigned flags);
  Result (*streamBeginCapture)(Stream, int mode);
  Result (*streamEndCapture)(Stream, Graph *);
  Result (*eventCreate)(Event *, unsigned flags);
  Result (*eventDestroy)(Event);
  Result (*eventRecord)(Event, Stream);
  Result (*eventSynchronize)(Event);
  Result (*eventElapsedTime)(float *milliseconds, Event from, Event to);

  Result (*graphCreate)(Graph *, unsigned flags);
  Result (*graphDestroy)(Graph);
  Result (*graphAddKernelNode)(GraphNode *, Graph, const GraphNode *before,
                               size_t beforeCount, const KernelNodeParams *);
  Result (*graphAddChildGraphNode)(GraphNode *, Graph, const GraphNode *before,
                                   size_t beforeCount, Graph child);
  Result (*graphAddEventRecordNode)(GraphNode *, Graph, const GraphNode *before,
                                    size_t beforeCount, Event);
  Result (*graphInstantiate)(GraphExec *, Graph, unsigned long long flags);
  Result (*graphExecDestroy)(GraphExec);
  Result (*graphExecKernelNodeSetParams)(GraphExec, GraphNode,
                                         const KernelNodeParams *);
  Result (*graphUpload)(GraphExec, Stream);
  Result (*graphLaunch)(GraphExec, Stream);

  Result (*tensorMapEncodeTiled)(void *map, int type, uint32_t rank,
                                 void *address, const uint64_t *dims,
                                 const uint64_t *strides, const uint32_t *box,
                                 const uint32_t *elementStrides, int interleave,
                                 int swizzle, int promotion, int fill);
  Result (*tensorMapEncodeIm2col)(
      void *map, int type, uint32_t rank, void *address, const uint64_t *dims,
      const uint64_t *strides, const int *lower, const int *upper,
      uint32_t channels, uint32_t pixels, const uint32_t *elementStrides,
      int interleave, int swizzle, int promotion, int fill);

  // Since CUDA 12.3; null in older drivers.
  Result (*graphAddDependencies)(Graph, const GraphNode *from,
                                 const GraphNode *to, const EdgeData *edges,
                                 size_t count);
  Result (*streamBeginCaptureToGraph)(Stream, Graph, const GraphNode *before,
                                      const void *edges, size_t beforeCount,
                                      int mode);
  Result (*streamGetCaptureInfo)(Stream, int *status, uint64_t *id, Graph *,
                                 const GraphNode **last, const void **edges,
                                 size_t *lastCount);
  Result (*streamUpdateCaptureDependencies)(Stream, const GraphNode *last,
                                            size_t lastCount, unsigned flags);
  // For conditional nodes, since CUDA 12.4; null in older drivers.
  Result (*graphConditionalHandleCreate)(ConditionalHandle *, Graph, Context,
                                         unsigned initially, unsigned flags);
  Result (*graphAddNode)(GraphNode *, Graph, const GraphNode *before,
                         const EdgeData *edges, size_t beforeCount,
                         ConditionalNodeParams *);
};

} // namespace frit::cuda

#endif // FRIT_RUNTIME_CUDA_CUDAAPI_H
