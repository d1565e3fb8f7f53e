//===- Driver.cpp - A fake CUDA driver without a GPU ----------------------===//
//
// Built as libcuda.so.1, which the runtime opens. Device memory is host memory,
// copies copy, kernels do nothing; a sanitizer finds accesses out of bounds.
// Reports the edges of the last graph. FRIT_FAKE_… variables make it fail or be
// another version; only the kernel of frit-doctor is computed.
//
//===----------------------------------------------------------------------===//

#include "test/fuzz/Driver.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <string>
#include <vector>

using namespace frit::cuda;

/// The target of dummy handles.
static char something;

/// Memory limit per allocation, in bytes.
static constexpr size_t kMemory = 64 << 20;

/// Memory that a reset frees.
static std::mutex allocationMutex;
static std::set<void *> allocations;

static Result allocate(void **pointer, size_t bytes) {
  *pointer =
      bytes <= kMemory ? aligned_alloc(256, (bytes + 255) & ~255ull) : nullptr;
  std::lock_guard lock(allocationMutex);
  allocations.insert(*pointer);
  return *pointer ? kSuccess : kOutOfMemory;
}

static Result release(void *pointer) {
  std::lock_guard lock(allocationMutex);
  allocations.erase(pointer);
  free(pointer);
  return kSuccess;
}

static int setting(const char *variable, int otherwise) {
  const char *value = getenv(variable);
  return value ? atoi(value) : otherwise;
}

template <typename Handle> static Result make(Handle *handle) {
  *handle = reinterpret_cast<Handle>(&something);
  return kSuccess;
}

/// Number of nodes, counted from 1, and edges of the last graph.
static uintptr_t nodes;
static std::vector<FakeEdge> edges;

/// Number of the primary context, and of the next one after a reset.
static std::atomic<unsigned long long> contextId = 1;

/// Streams of the last copy on the device, of the last event recorded, and of
/// the last wait for one.
static Stream copyStream, waitingStream, waitedStream;
/// Several threads record events while a module is opened.
static std::atomic<Stream> recordedStream;

/// Whether a graph is being made, and the nodes that its capture, if it is one,
/// has come to; whether something has been captured after them.
static bool isGraphOpen, capturesMore;
static size_t captures;
static std::vector<GraphNode> capturedLast;

static void openGraph() {
  isGraphOpen = true;
  capturesMore = false;
  captures = 0;
  capturedLast.clear();
  nodes = 0;
  edges.clear();
}

static void addEdge(const GraphNode from, const GraphNode to, bool full) {
  edges.push_back({unsigned(reinterpret_cast<uintptr_t>(from)),
                   unsigned(reinterpret_cast<uintptr_t>(to)), full});
}

static Result addNode(GraphNode *node, const GraphNode *before, size_t count) {
  *node = reinterpret_cast<GraphNode>(++nodes);
  for (size_t i = 0; i < count; ++i)
    addEdge(before[i], *node, /*full=*/true);
  return kSuccess;
}

static Result copy(void *to, const void *from, size_t bytes) {
  memmove(to, from, bytes);
  return kSuccess;
}

static void *host(DevicePointer pointer) {
  return reinterpret_cast<void *>(pointer);
}

/// Reads all arguments of a tensor map and fills its 128 bytes.
static Result encode(void *map, uint32_t rank, const uint64_t *dims,
                     const uint64_t *strides, const uint32_t *elementStrides) {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < rank; ++i)
    sum += dims[i] + elementStrides[i] + (i ? strides[i - 1] : 0);
  memset(map, int(sum & 0xff), 128);
  return kSuccess;
}

extern "C" {

Result cuGetErrorString(Result, const char **text) {
  *text = "an error";
  return kSuccess;
}
Result cuInit(unsigned) { return setting("FRIT_FAKE_INIT", kSuccess); }
Result cuDriverGetVersion(int *version) {
  *version = setting("FRIT_FAKE_CUDA", 13000);
  return kSuccess;
}
Result cuDeviceGetCount(int *count) {
  *count = setting("FRIT_FAKE_COUNT", 1);
  return kSuccess;
}
Result cuDeviceGet(Device *device, int ordinal) {
  *device = ordinal;
  return kSuccess;
}
Result cuDeviceGetName(char *name, int length, Device) {
  const char *given = getenv("FRIT_FAKE_NAME");
  strncpy(name, given ? given : "none", size_t(length));
  return kSuccess;
}
/// FRIT_FAKE_ATTRIBUTE_16=114 sets the attribute of that number.
Result cuDeviceGetAttribute(int *value, int attribute, Device) {
  std::string variable = "FRIT_FAKE_ATTRIBUTE_" + std::to_string(attribute);
  int usual = 0;
  if (attribute == kAttributeCapabilityMajor)
    usual = setting("FRIT_FAKE_MAJOR", 9);
  else if (attribute == kAttributeMultiprocessors ||
           attribute == kAttributeClock || attribute == kAttributeMemoryClock ||
           attribute == kAttributeMemoryBusWidth)
    usual = 100;
  *value = setting(variable.c_str(), usual);
  return kSuccess;
}
Result cuDeviceGetUuid_v2(unsigned char *uuid, Device device) {
  for (int i = 0; i < 16; ++i)
    uuid[i] = (unsigned char)(i + (i == 15 ? device : 0));
  return kSuccess;
}
Result cuDeviceTotalMem_v2(size_t *bytes, Device) {
  *bytes = kMemory;
  return kSuccess;
}
Result cuDevicePrimaryCtxRetain(Context *context, Device) {
  return make(context);
}
Result cuDevicePrimaryCtxRelease_v2(Device) { return kSuccess; }
Result cuCtxPushCurrent_v2(Context) { return kSuccess; }
Result cuCtxPopCurrent_v2(Context *context) { return make(context); }
Result cuCtxGetId(Context, unsigned long long *id) {
  *id = contextId;
  return kSuccess;
}
Result cuDevicePrimaryCtxReset_v2(Device) {
  ++contextId;
  while (!allocations.empty())
    release(*allocations.begin());
  return kSuccess;
}

Result cuMemGetInfo_v2(size_t *free, size_t *total) {
  const char *left = getenv("FRIT_FAKE_FREE");
  *total = kMemory;
  *free = left ? strtoull(left, nullptr, 10) : kMemory;
  return kSuccess;
}
Result cuMemAlloc_v2(DevicePointer *pointer, size_t bytes) {
  void *memory;
  Result result = allocate(&memory, bytes);
  *pointer = reinterpret_cast<DevicePointer>(memory);
  return result;
}
Result cuMemFree_v2(DevicePointer pointer) { return release(host(pointer)); }
Result cuMemHostAlloc(void **pointer, size_t bytes, unsigned) {
  return allocate(pointer, bytes);
}
Result cuMemFreeHost(void *pointer) { return release(pointer); }
Result cuMemcpyHtoD_v2(DevicePointer to, const void *from, size_t bytes) {
  return copy(host(to), from, bytes);
}
Result cuMemcpyHtoDAsync_v2(DevicePointer to, const void *from, size_t bytes,
                            Stream) {
  return copy(host(to), from, bytes);
}
Result cuMemcpyDtoHAsync_v2(void *to, DevicePointer from, size_t bytes,
                            Stream) {
  return copy(to, host(from), bytes);
}
Result cuMemcpyDtoDAsync_v2(DevicePointer to, DevicePointer from, size_t bytes,
                            Stream stream) {
  copyStream = stream;
  return copy(host(to), host(from), bytes);
}
Result cuMemsetD8Async(DevicePointer to, unsigned char value, size_t bytes,
                       Stream) {
  memset(host(to), value, bytes);
  return kSuccess;
}
Result cuMemsetD32Async(DevicePointer to, unsigned value, size_t count,
                        Stream) {
  for (size_t i = 0; i < count; ++i)
    memcpy(static_cast<unsigned *>(host(to)) + i, &value, sizeof value);
  return kSuccess;
}
Result cuPointerGetAttributes(unsigned, int *, void **values, DevicePointer) {
  memset(*values, 0, sizeof(unsigned));
  return kSuccess;
}

Result cuModuleLoadDataEx(Module *module, const void *, unsigned, int *,
                          void **) {
  return make(module);
}
Result cuModuleUnload(Module) { return kSuccess; }
Result cuModuleGetFunction(Function *function, Module, const char *name) {
  static char probe;
  if (strcmp(name, "frit_probe"))
    return *name ? make(function) : 500;
  *function = reinterpret_cast<Function>(&probe);
  return kSuccess;
}
Result cuFuncGetAttribute(int *value, int, Function) {
  *value = 0;
  return kSuccess;
}
Result cuFuncSetAttribute(Function, int, int) { return kSuccess; }
Result cuLaunchKernel(Function kernel, unsigned, unsigned, unsigned,
                      unsigned threads, unsigned, unsigned, unsigned, Stream,
                      void **arguments, void **) {
  if (reinterpret_cast<char *>(kernel) == &something)
    return kSuccess;
  unsigned error = unsigned(setting("FRIT_FAKE_ERROR", 0));
  auto *y = static_cast<unsigned *>(
      host(*static_cast<DevicePointer *>(arguments[0])));
  for (unsigned i = 0; i < threads; ++i)
    y[i] = i * i + 7 + error;
  return kSuccess;
}

Result cuStreamCreate(Stream *stream, unsigned) { return make(stream); }
Result cuStreamDestroy_v2(Stream) { return kSuccess; }
Result cuStreamSynchronize(Stream) {
  return setting("FRIT_FAKE_LOST", kSuccess);
}
Result cuStreamWaitEvent(Stream stream, Event, unsigned) {
  waitingStream = stream;
  waitedStream = recordedStream;
  return kSuccess;
}
/// A capture that is no part of a graph is one.
Result cuStreamBeginCapture_v2(Stream, int) {
  if (!isGraphOpen)
    openGraph();
  ++captures;
  return kSuccess;
}
Result cuStreamEndCapture(Stream, Graph *graph) {
  static unsigned ended = 0;
  if (ended++ < unsigned(setting("FRIT_FAKE_INVALID_CAPTURES", 0)))
    return kCaptureInvalidated;
  return make(graph);
}
/// Makes the next captured call a node after these, of any kind.
Result cuStreamUpdateCaptureDependencies(Stream, const GraphNode *last,
                                         size_t count, unsigned) {
  capturedLast.assign(last, last + count);
  capturesMore = true;
  return kSuccess;
}
Result cuStreamGetCaptureInfo_v3(Stream, int *, uint64_t *, Graph *graph,
                                 const GraphNode **last, const void **,
                                 size_t *count) {
  if (capturesMore) {
    GraphNode node;
    addNode(&node, capturedLast.data(), capturedLast.size());
    capturedLast = {node};
    capturesMore = false;
  }
  *last = capturedLast.data();
  *count = capturedLast.size();
  return make(graph);
}
Result cuEventCreate(Event *event, unsigned) { return make(event); }
Result cuEventDestroy_v2(Event) { return kSuccess; }
Result cuEventRecord(Event, Stream stream) {
  recordedStream = stream;
  return kSuccess;
}
Result cuEventSynchronize(Event) { return kSuccess; }
Result cuEventElapsedTime(float *milliseconds, Event, Event) {
  *milliseconds = 1;
  return kSuccess;
}

Result cuGraphCreate(Graph *graph, unsigned) {
  openGraph();
  return make(graph);
}
Result cuGraphDestroy(Graph) { return kSuccess; }
Result cuGraphAddKernelNode_v2(GraphNode *node, Graph, const GraphNode *before,
                               size_t count, const KernelNodeParams *) {
  return addNode(node, before, count);
}
Result cuGraphAddChildGraphNode(GraphNode *node, Graph, const GraphNode *before,
                                size_t count, Graph) {
  return addNode(node, before, count);
}
Result cuGraphAddEventRecordNode(GraphNode *node, Graph,
                                 const GraphNode *before, size_t count, Event) {
  return addNode(node, before, count);
}
Result cuGraphInstantiateWithFlags(GraphExec *graph, Graph,
                                   unsigned long long) {
  isGraphOpen = false;
  return make(graph);
}
Result cuGraphExecDestroy(GraphExec) { return kSuccess; }
Result cuGraphExecKernelNodeSetParams_v2(GraphExec, GraphNode,
                                         const KernelNodeParams *) {
  return kSuccess;
}
Result cuGraphUpload(GraphExec, Stream) { return kSuccess; }
Result cuGraphLaunch(GraphExec, Stream) { return kSuccess; }
Result cuGraphAddDependencies_v2(Graph, const GraphNode *from,
                                 const GraphNode *to, const EdgeData *data,
                                 size_t count) {
  for (size_t i = 0; i < count; ++i)
    addEdge(from[i], to[i], /*full=*/data[i].type == 0);
  return kSuccess;
}
/// Fails as where there are no conditional nodes if a test asks for that.
Result cuGraphConditionalHandleCreate(ConditionalHandle *handle, Graph, Context,
                                      unsigned, unsigned) {
  if (getenv("FRIT_FAKE_NO_CONDITIONS"))
    return 801; // not supported
  *handle = 1;
  return kSuccess;
}
/// Nodes in a body continue the numbering and have no edges from outside.
Result cuGraphAddNode_v2(GraphNode *node, Graph, const GraphNode *before,
                         const EdgeData *, size_t count,
                         ConditionalNodeParams *params) {
  static Graph body = reinterpret_cast<Graph>(&body);
  params->bodies = &body;
  return addNode(node, before, count);
}
Stream fritFakeCopyStream() { return copyStream; }
void fritFakeWait(Stream *waiting, Stream *recorded) {
  *waiting = waitingStream;
  *recorded = waitedStream;
}
size_t fritFakeCaptures() { return captures; }
size_t fritFakeEdges(const FakeEdge **all) {
  *all = edges.data();
  return edges.size();
}

Result cuTensorMapEncodeTiled(void *map, int, uint32_t rank, void *,
                              const uint64_t *dims, const uint64_t *strides,
                              const uint32_t *, const uint32_t *elementStrides,
                              int, int, int, int) {
  return encode(map, rank, dims, strides, elementStrides);
}
Result cuTensorMapEncodeIm2col(void *map, int, uint32_t rank, void *,
                               const uint64_t *dims, const uint64_t *strides,
                               const int *, const int *, uint32_t, uint32_t,
                               const uint32_t *elementStrides, int, int, int,
                               int) {
  return encode(map, rank, dims, strides, elementStrides);
}

} // extern "C"
