//===- cudnn_test.cpp - cuDNN supports frit's attention graphs ------------===//
//
// Asks cuDNN for engines for frit's attention graphs. Since 9.8 this needs only
// a description of a GPU; compiling a plan would need a driver, so no plan is
// created. Skipped (77) without such a library or any libcuda.
//
//===----------------------------------------------------------------------===//

#include "Check.h"
#include "runtime/cuda/library/Cudnn.h"

#include <dlfcn.h>
#include <map>
#include <set>

using namespace frit;
using namespace frit::test;
using namespace frit::cuda;
using artifact::Attention;
using artifact::Compute;
using artifact::Conv;
using artifact::ConvPass;
using artifact::DType;
using artifact::StridedOperand;

/// An H200 as a CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION.
static constexpr char kDevice[] = R"({
  "deviceName": "NVIDIA H200", "cudaDeviceId": 0, "pciDeviceId": 0,
  "deviceVer": 900, "driverVer": 13000, "isTccDriver": 0,
  "supportCoopLaunch": 1, "multiProcessorCount": 132, "warpSize": 32,
  "maxGridSize": [2147483647, 65535, 65535], "maxBlockSize": [1024, 1024, 64],
  "maxThreadsPerBlock": 1024, "maxThreadsPerSM": 2048, "maxCtasPerSM": 32,
  "regsPerBlock": 65536, "maxRegistersPerSM": 65536,
  "maxSharedMemoryPerBlock": 49152, "maxSharedMemoryPerBlockOptin": 232448,
  "reservedSharedMemoryPerBlock": 1024, "l2CacheSize": 62914560,
  "totalGlobalMem": 150109880320, "smClockRateKHz": 1980000,
  "memClockRateKHz": 3201000})";

/// Values of cudnn_graph.h that the runtime does not use.
enum {
  kDevicePropertiesKind = 38,
  kHeuristicsDevice = 204,
  kDeviceJson = 2702,
  kOfChar = 24
};

static Cudnn library;
static DnnDescriptor device;
static std::map<DnnDescriptor, int> kinds;
/// Ids and columns of tensors, in the order of their description.
static std::vector<int64_t> ids, columns;
/// Ids and pointers of the last variant pack.
static std::vector<int64_t> packedIds;
static std::vector<void *> packed;

//===----------------------------------------------------------------------===//
// The library without a handle
//===----------------------------------------------------------------------===//

static DnnStatus create(int kind, DnnDescriptor *created) {
  DnnStatus status = library.descriptorCreate(kind, created);
  kinds[*created] = kind;
  return status;
}

static DnnStatus set(DnnDescriptor to, int attribute, int type, int64_t count,
                     const void *values) {
  if (type == kDnnOfHandle)
    return 0;
  auto integers = static_cast<const int64_t *>(values);
  auto pointers = static_cast<void *const *>(values);
  if (attribute == kDnnTensorDims)
    columns.push_back(integers[3]);
  else if (attribute == kDnnTensorId)
    ids.push_back(integers[0]);
  else if (attribute == kDnnPackIds)
    packedIds.assign(integers, integers + count);
  else if (attribute == kDnnPackPointers)
    packed.assign(pointers, pointers + count);
  return library.descriptorSet(to, attribute, type, count, values);
}

static DnnStatus get(DnnDescriptor from, int attribute, int type,
                     int64_t wanted, int64_t *found, void *values) {
  if (kinds[from] != kDnnExecutionPlan)
    return library.descriptorGet(from, attribute, type, wanted, found, values);
  *found = 1;
  memset(values, 0, sizeof(int64_t));
  return 0;
}

static DnnStatus finalize(DnnDescriptor descriptor) {
  if (kinds[descriptor] == kDnnExecutionPlan)
    return 0;
  if (kinds[descriptor] == kDnnEngineHeuristics)
    library.descriptorSet(descriptor, kHeuristicsDevice, kDnnOfDescriptor, 1,
                          &device);
  return library.descriptorFinalize(descriptor);
}

static bool describeDevice() {
  return !library.descriptorCreate(kDevicePropertiesKind, &device) &&
         !library.descriptorSet(device, kDeviceJson, kOfChar,
                                sizeof kDevice - 1, kDevice) &&
         !library.descriptorFinalize(device);
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

static Attention attention(DType type, int64_t length, int64_t size) {
  Attention a;
  a.type = type;
  a.batch = 2;
  a.heads = a.groups = 6;
  a.queries = a.keys = length;
  a.size = a.valueSize = size;
  a.scale = 0.125f;
  a.workspaceBytes = 32 << 20;
  return a;
}

/// Prepares a call whose operands are [batch][row][head].
static std::unique_ptr<LibraryCall> prepare(CudnnHandle &handle, Attention a) {
  uint32_t argument = 0;
  auto lay = [&](StridedOperand &operand, int64_t heads, int64_t rows,
                 int64_t size) {
    operand = {argument++,
               0,
               operand.offset,
               {rows * heads * size, size, heads * size, 1}};
  };
  lay(a.q, a.heads, a.queries, a.size);
  lay(a.k, a.groups, a.keys, a.size);
  lay(a.v, a.groups, a.keys, a.valueSize);
  if (a.hasMask)
    a.mask.argument = argument++;
  if (a.gradient) {
    lay(a.y, a.heads, a.queries, a.valueSize);
    lay(a.dy, a.heads, a.queries, a.valueSize);
    a.stats = {argument++, 0, 0, {a.heads * a.queries, a.queries, 1, 1}};
  }
  a.inputs = argument;
  if (a.gradient) {
    // One result.
    int64_t offset = 0;
    auto place = [&](StridedOperand &operand, int64_t heads, int64_t rows) {
      int64_t width = heads * a.size;
      operand = {argument, 0, offset, {rows * width, a.size, width, 1}};
      offset += a.batch * rows * width;
    };
    place(a.dq, a.heads, a.queries);
    place(a.dk, a.groups, a.keys);
    place(a.dv, a.groups, a.keys);
  } else {
    lay(a.y, a.heads, a.queries, a.valueSize);
  }
  const uint32_t alignments[] = {256, 256, 256, 256, 256, 256, 256, 256};
  return handle.prepare(a, alignments);
}

/// Returns the engine numbers of cuDNN.
static std::vector<uint32_t> enginesFor(CudnnHandle &handle,
                                        const Attention &a) {
  auto call = prepare(handle, a);
  return call ? call->algorithms() : std::vector<uint32_t>();
}

static void testSizes(CudnnHandle &handle) {
  for (DType type : {DType::f16, DType::bf16})
    for (uint32_t causal : {0, 1})
      for (int64_t length : {131, 1024})
        for (int64_t size : {8, 40, 64, 72, 128, 256}) {
          Attention a = attention(type, length, size);
          a.causal = causal;
          CHECK(!enginesFor(handle, a).empty());
        }
  Attention uneven = attention(DType::f16, 61, 64);
  uneven.keys = 197;
  uneven.groups = 2;
  uneven.valueSize = 128;
  CHECK(!enginesFor(handle, uneven).empty());
  Attention one = attention(DType::f16, 197, 64);
  one.queries = 1;
  CHECK(!enginesFor(handle, one).empty());
}

static void testMasks(CudnnHandle &handle) {
  Attention a = attention(DType::f16, 127, 64);
  a.hasMask = 1;
  for (DType type : {DType::f16, DType::f32})
    for (bool batch : {false, true})
      for (bool heads : {false, true})
        for (bool queries : {false, true}) {
          a.typeMask = type;
          int64_t *strides = a.mask.strides;
          strides[3] = 1;
          strides[2] = queries ? a.keys : 0;
          strides[1] = heads ? a.queries * a.keys : 0;
          strides[0] = batch ? a.heads * a.queries * a.keys : 0;
          CHECK(!enginesFor(handle, a).empty());
        }
  a.typeMask = DType::boolean;
  CHECK(enginesFor(handle, a).empty());
}

/// Checks that problems are refused that the library would compute wrongly or
/// not at all.
static void testRefused(CudnnHandle &handle) {
  CHECK(enginesFor(handle, attention(DType::f32, 64, 64)).empty());
  CHECK(enginesFor(handle, attention(DType::f16, 64, 60)).empty());
  CHECK(enginesFor(handle, attention(DType::f16, 64, 264)).empty());
  Attention a = attention(DType::f16, 64, 64);
  a.k.offset = 4;
  CHECK(enginesFor(handle, a).empty());
}

/// Checks that a requested algorithm is first and others follow.
static void testAlgorithms(CudnnHandle &handle) {
  Attention a = attention(DType::f16, 384, 64);
  std::vector<uint32_t> favourites = enginesFor(handle, a);
  std::set<uint32_t> all(favourites.begin(), favourites.end());
  CHECK(all.size() > 1 && all.size() == favourites.size() && !all.count(0));
  for (uint32_t number : favourites) {
    a.algorithm = number;
    std::vector<uint32_t> numbers = enginesFor(handle, a);
    CHECK(numbers.size() == favourites.size() && numbers.front() == number);
  }
  a.algorithm = 1;
  CHECK(enginesFor(handle, a) == favourites);
}

/// Checks that each tensor of the graph gets the pointer of its own argument.
static void testArguments(CudnnHandle &handle) {
  Attention a = attention(DType::f16, 97, 64);
  a.keys = 131;
  a.valueSize = 128;
  a.causal = a.hasMask = 1;
  a.mask.strides[3] = 1;
  a.k.offset = 16;
  ids.clear();
  columns.clear();
  auto call = prepare(handle, a);
  CHECK(call);
  const DevicePointer arguments[] = {0x10000, 0x20000, 0x30000,
                                     0x40000, 0x50000, 0x60000};
  if (!call)
    return;
  CHECK(call->enqueue(arguments, nullptr) && packed.size() == 7);
  // Q, Kᵀ, V, y, the scale, the masked score, the mask.
  const int64_t expected[] = {64, 131, 128, 128, 1, 1, 131};
  const uint64_t addresses[] = {0x10000, 0x20020, 0x30000, 0x50000,
                                0,       0,       0x40000};
  for (size_t i = 0; i < packed.size(); ++i) {
    size_t place = 0;
    while (place < ids.size() && ids[place] != packedIds[i])
      ++place;
    CHECK(place < ids.size() && columns[place] == expected[i]);
    auto address = reinterpret_cast<uint64_t>(packed[i]);
    CHECK(addresses[i] ? address == addresses[i] : address > 0x60000);
  }
}

/// Checks that there are engines for the gradient if there are for attention.
static void testGradients(CudnnHandle &handle) {
  for (DType type : {DType::f16, DType::bf16})
    for (uint32_t causal : {0, 1})
      for (int64_t length : {77, 131, 512, 1024})
        for (int64_t size : {8, 64, 80, 128, 256})
          for (int64_t groups : {6, 2}) {
            Attention a = attention(type, length, size);
            a.gradient = 1;
            a.causal = causal;
            a.groups = groups;
            CHECK(!enginesFor(handle, a).empty());
          }
  Attention masked = attention(DType::f16, 128, 64);
  masked.gradient = masked.hasMask = 1;
  masked.mask.strides[3] = 1;
  for (int64_t keys : {128, 77})
    for (DType type : {DType::f16, DType::f32}) {
      masked.keys = keys;
      masked.typeMask = type;
      masked.mask.strides[0] = keys;
      CHECK(!enginesFor(handle, masked).empty());
    }
  Attention crossed = attention(DType::bf16, 61, 64);
  crossed.gradient = 1;
  crossed.keys = 197;
  crossed.groups = 2;
  CHECK(!enginesFor(handle, crossed).empty());
  // There is no call without room for intermediate results.
  Attention cramped = attention(DType::f16, 512, 64);
  cramped.gradient = 1;
  cramped.workspaceBytes = artifact::AttentionScratch(cramped).bytes - 1;
  CHECK(enginesFor(handle, cramped).empty());
}

//===----------------------------------------------------------------------===//
// Gradients of convolutions
//===----------------------------------------------------------------------===//

static std::vector<uint32_t> enginesFor(CudnnHandle &handle, const Conv &conv) {
  const uint32_t alignments[] = {256, 256, 256, 256};
  auto call = handle.prepare(conv, /*zeros=*/0, alignments);
  return call ? call->algorithms() : std::vector<uint32_t>();
}

static Conv makeConv(int64_t channels, int64_t filters, int64_t size,
                     int64_t window, int64_t stride, int64_t pad,
                     int64_t groups = 1, int64_t dilation = 1) {
  Conv c;
  c.n = 4;
  c.c = channels;
  c.h = c.w = size;
  c.k = filters;
  c.r = c.s = window;
  c.strideH = c.strideW = stride;
  c.dilationH = c.dilationW = dilation;
  c.padTop = c.padLeft = c.padBottom = c.padRight = pad;
  c.p = c.q = (size + 2 * pad - (window - 1) * dilation - 1) / stride + 1;
  c.groups = groups;
  c.workspaceBytes = 256 << 20;
  return c;
}

/// Checks that there are engines for both gradients in all types and layouts.
static void testConvGradients(CudnnHandle &handle) {
  const struct {
    Compute compute;
    DType type;
  } precisions[] = {{Compute::f32, DType::f32},
                    {Compute::tf32, DType::f32},
                    {Compute::f16, DType::f16},
                    {Compute::f16, DType::bf16}};
  const Conv shapes[] = {
      makeConv(64, 256, 56, 1, 1, 0),      makeConv(256, 512, 56, 1, 2, 0),
      makeConv(64, 64, 56, 3, 1, 1),       makeConv(128, 128, 56, 3, 2, 1),
      makeConv(3, 64, 224, 7, 2, 3),       makeConv(3, 96, 224, 4, 4, 0),
      makeConv(128, 128, 28, 3, 1, 1, 4),  makeConv(64, 64, 28, 3, 1, 1, 64),
      makeConv(32, 64, 28, 3, 1, 2, 1, 2), makeConv(5, 7, 17, 3, 1, 1),
      makeConv(3, 768, 224, 16, 16, 0)};
  for (const auto &precision : precisions)
    for (const Conv &shape : shapes)
      for (uint32_t last : {0, 1})
        for (ConvPass pass : {ConvPass::gradInput, ConvPass::gradWeight}) {
          Conv conv = shape;
          conv.compute = precision.compute;
          conv.type = precision.type;
          conv.channelsLast = last;
          conv.pass = pass;
          std::vector<uint32_t> engines = enginesFor(handle, conv);
          std::set<uint32_t> all(engines.begin(), engines.end());
          CHECK(!engines.empty() && all.size() == engines.size());
        }
}

int main() {
  if (!library.load() || library.version < 90800 || !describeDevice()) {
    printf("skipped: no cuDNN of 9.8 or newer\n");
    return 77;
  }
  Cudnn described;
  CHECK(described.load());
  described.descriptorCreate = create;
  described.descriptorSet = set;
  described.descriptorGet = get;
  described.descriptorFinalize = finalize;
  described.setStream = [](DnnHandle, Stream) { return 0; };
  described.execute = [](DnnHandle, DnnDescriptor, DnnDescriptor) { return 0; };
  Api driver = {};
  driver.memsetD32Async = [](DevicePointer, unsigned, size_t, Stream) {
    return kSuccess;
  };
  described.create = [](DnnHandle *handle) {
    *handle = reinterpret_cast<DnnHandle>(&device);
    return 0;
  };
  described.destroy = [](DnnHandle) { return 0; };
  driver.ctxGetId = [](Context, unsigned long long *id) {
    *id = 1;
    return kSuccess;
  };
  auto handles = CudnnHandles::of(described, driver, /*context=*/nullptr);
  auto opened = CudnnHandle::open(described, *handles, driver);
  CHECK(opened);
  CudnnHandle &handle = *opened;
  if (enginesFor(handle, attention(DType::f16, 384, 64)).empty() &&
      !dlopen("libcuda.so.1", RTLD_LAZY)) {
    printf("skipped: no driver, nor anything in its place\n");
    return 77;
  }
  testSizes(handle);
  testMasks(handle);
  testRefused(handle);
  testAlgorithms(handle);
  testArguments(handle);
  testGradients(handle);
  testConvGradients(handle);
  return finish("cudnn_test");
}
