//===- kernel_boundaries.cu - The cost of a boundary between kernels ------===//
//
// Usage: kernel_boundaries; built by `nvcc -std=c++17 -O3 -arch=sm_90a`.
//
// Chains of kernels of which each needs 4 KB that all blocks of the one before
// wrote, or nothing of it, and reads weights of its own, which it may start
// before it waits. Prints microseconds a kernel of each way to hand over:
//
//   plain      a kernel starts when the one before has ended
//   pdl        it starts early, and waits for the end (griddepcontrol.wait)
//   late       likewise, but triggered after the last store
//   counter    it starts early, and spins until all blocks have counted
//   tagged     it starts early, and reads again until each value has this
//              call's tag beside it
//   barrier    one kernel, whose blocks meet at a counter
//   in tags    one kernel, whose blocks hand over by tags
//
// Each value is one more than the mean of those before, so that a kernel that
// reads too early gives a wrong end.
//
//===----------------------------------------------------------------------===//

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cuda_runtime.h>
#include <vector>

#define CHECK(call)                                                            \
  do {                                                                         \
    cudaError_t error = (call);                                                \
    if (error != cudaSuccess) {                                                \
      std::printf("%s: %s\n", #call, cudaGetErrorString(error));               \
      std::exit(1);                                                            \
    }                                                                          \
  } while (0)

enum Way { plain, pdl, late, counter, tagged, barrier, inTags };
static const char *const kNames[] = {"plain",  "pdl",     "late",   "counter",
                                     "tagged", "barrier", "in tags"};

constexpr int kThreads = 256, kValues = 1024, kLength = 80;
/// Weights in flight: 16 bytes of a thread.
constexpr int kInFlight = 4;

/// Values with tags, or without in the first half.
struct Buffers {
  uint2 *values; ///< [kLength + 1][kValues]
  int *counters; ///< of each kernel
  int *call;     ///< number of the call, from 1 on
  const uint4 *weights;
  int loads; ///< of a thread and kernel, 16 bytes each
};

__device__ inline void trigger() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}
__device__ inline void waitForGrids() {
  asm volatile("griddepcontrol.wait;" ::: "memory");
}
__device__ inline void raise(int *counter) {
  asm volatile("red.release.gpu.global.add.s32 [%0], 1;" ::"l"(counter)
               : "memory");
}
__device__ inline int acquire(const int *counter) {
  int value;
  asm volatile("ld.acquire.gpu.global.s32 %0, [%1];"
               : "=r"(value)
               : "l"(counter)
               : "memory");
  return value;
}
__device__ inline uint4 loadRelaxed(const uint2 *from) {
  uint4 value;
  asm volatile("ld.relaxed.gpu.global.v4.b32 {%0, %1, %2, %3}, [%4];"
               : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
               : "l"(from)
               : "memory");
  return value;
}
__device__ inline void storeRelaxed(uint2 *to, uint2 value) {
  asm volatile("st.relaxed.gpu.global.v2.b32 [%0], {%1, %2};" ::"l"(to),
               "r"(value.x), "r"(value.y)
               : "memory");
}

/// Weights that a thread reads: the first ones before it waits.
struct Weights {
  const uint4 *from;
  int loads;
  uint4 held[kInFlight];

  __device__ Weights(const Buffers &buffers, int kernel)
      : from(buffers.weights +
             int64_t(kernel) * buffers.loads * gridDim.x * kThreads +
             blockIdx.x * kThreads + threadIdx.x),
        loads(buffers.loads) {
#pragma unroll
    for (int i = 0; i < kInFlight; ++i)
      if (i < loads)
        held[i] = read(i);
  }
  __device__ uint4 read(int i) const {
    return __ldcs(from + int64_t(i) * gridDim.x * kThreads);
  }
  /// Returns zero, which compilers do not know.
  __device__ float finish() {
    uint32_t all = 0;
    for (int i = 0; i < loads; i += kInFlight)
#pragma unroll
      for (int j = 0; j < kInFlight; ++j) {
        if (i + j < loads)
          all |= held[j].x & held[j].y & held[j].z & held[j].w;
        if (i + j + kInFlight < loads)
          held[j] = read(i + j + kInFlight);
      }
    return all == ~0u ? 1.0f : 0.0f;
  }
};

template <Way way, bool reads>
__device__ void step(const Buffers &buffers, int kernel, int call,
                     Weights &weights, float *shared) {
  constexpr bool hasTags = way == tagged || way == inTags;
  const uint2 *in = buffers.values + kernel * kValues;
  uint2 *out = buffers.values + (kernel + 1) * kValues;
  if constexpr (way == pdl || way == late)
    waitForGrids();
  if constexpr (way == counter || way == barrier) {
    if (threadIdx.x == 0 && kernel)
      while (acquire(buffers.counters + kernel - 1) != int(gridDim.x))
        ;
    __syncthreads();
  }
  float sum = 0;
  if constexpr (hasTags) {
    // 8 KB with tags; without `reads` the first value alone.
    constexpr int loads = kValues / kThreads / 2;
    for (int i = 0; i < (reads ? loads : 1); ++i) {
      const uint2 *from = in + 2 * (reads ? i * kThreads + threadIdx.x : 0);
      uint4 pair;
      do
        pair = loadRelaxed(from);
      while (int(pair.y) != call || int(pair.w) != call);
      sum += __uint_as_float(pair.x) + __uint_as_float(pair.z);
    }
  } else if constexpr (reads) {
    float4 four = __ldcg(reinterpret_cast<const float4 *>(in) + threadIdx.x);
    sum = four.x + four.y + four.z + four.w;
  }
  sum += weights.finish();
  for (int lane = 16; lane; lane /= 2)
    sum += __shfl_xor_sync(~0u, sum, lane);
  if (threadIdx.x % 32 == 0)
    shared[threadIdx.x / 32] = sum;
  __syncthreads();
  const int each = (kValues + gridDim.x - 1) / gridDim.x;
  const int at = blockIdx.x * each + threadIdx.x;
  if (threadIdx.x < each && at < kValues) {
    float all = 0;
    for (int i = 0; i < kThreads / 32; ++i)
      all += shared[i];
    // Weights are needed in any case.
    float value = reads ? all / kValues + 1 : float(kernel + 1) + all * 0.0f;
    if constexpr (hasTags)
      storeRelaxed(out + at, {__float_as_uint(value), uint32_t(call)});
    else
      reinterpret_cast<float *>(out)[at] = value;
  }
  if constexpr (way == counter || way == barrier) {
    __syncthreads();
    if (threadIdx.x == 0)
      raise(buffers.counters + kernel);
  }
  if constexpr (way == inTags)
    __syncthreads();
}

template <Way way, bool reads>
__global__ void __launch_bounds__(kThreads) one(Buffers buffers, int kernel) {
  __shared__ float shared[kThreads / 32];
  if constexpr (way != plain && way != late)
    trigger();
  Weights weights(buffers, kernel);
  step<way, reads>(buffers, kernel, way == tagged ? *buffers.call : 0, weights,
                   shared);
  if constexpr (way == late)
    trigger();
}

template <Way way, bool reads>
__global__ void __launch_bounds__(kThreads) all(Buffers buffers) {
  __shared__ float shared[2][kThreads / 32];
  const int call = *buffers.call;
  for (int kernel = 0; kernel < kLength; ++kernel) {
    Weights weights(buffers, kernel);
    step<way, reads>(buffers, kernel, call, weights, shared[kernel % 2]);
  }
}

/// Prepares a call: its number, counters, and the values before the first
/// kernel.
__global__ void begin(Buffers buffers) {
  const int call = *buffers.call + 1;
  __syncthreads();
  if (threadIdx.x == 0)
    *buffers.call = call;
  if (threadIdx.x < kLength)
    buffers.counters[threadIdx.x] = 0;
  for (int i = threadIdx.x; i < kValues; i += blockDim.x)
    buffers.values[i] = {0u, uint32_t(call)};
}

template <Way way, bool reads>
static void addKernels(cudaGraph_t graph, cudaGraphNode_t before,
                       Buffers &buffers, int blocks) {
  cudaKernelNodeParams params = {};
  params.gridDim = blocks;
  params.blockDim = kThreads;
  cudaGraphNode_t node;
  if constexpr (way == barrier || way == inTags) {
    void *arguments[] = {&buffers};
    params.func = reinterpret_cast<void *>(all<way, reads>);
    params.kernelParams = arguments;
    CHECK(cudaGraphAddKernelNode(&node, graph, &before, 1, &params));
    // All blocks must run at once.
    cudaKernelNodeAttrValue value = {};
    value.cooperative = 1;
    CHECK(cudaGraphKernelNodeSetAttribute(
        node, cudaKernelNodeAttributeCooperative, &value));
  } else {
    for (int kernel = 0; kernel < kLength; ++kernel) {
      void *arguments[] = {&buffers, &kernel};
      params.func = reinterpret_cast<void *>(one<way, reads>);
      params.kernelParams = arguments;
      bool isFull = way == plain || kernel == 0;
      CHECK(cudaGraphAddKernelNode(&node, graph, &before, isFull, &params));
      if (!isFull) {
        cudaGraphEdgeData edge = {};
        edge.from_port = cudaGraphKernelNodePortProgrammatic;
        edge.type = cudaGraphDependencyTypeProgrammatic;
#if CUDART_VERSION >= 13000
        CHECK(cudaGraphAddDependencies(graph, &before, &node, &edge, 1));
#else
        CHECK(cudaGraphAddDependencies_v2(graph, &before, &node, &edge, 1));
#endif
      }
      before = node;
    }
  }
}

/// Returns microseconds a kernel, or -1 if the last values are wrong.
template <Way way, bool reads>
static double measure(Buffers buffers, int blocks, int loads) {
  buffers.loads = loads;
  cudaStream_t stream;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  cudaGraph_t graph;
  CHECK(cudaGraphCreate(&graph, 0));
  cudaKernelNodeParams first = {};
  void *arguments[] = {&buffers};
  first.func = reinterpret_cast<void *>(begin);
  first.gridDim = 1;
  first.blockDim = kThreads;
  first.kernelParams = arguments;
  cudaGraphNode_t start;
  CHECK(cudaGraphAddKernelNode(&start, graph, nullptr, 0, &first));
  addKernels<way, reads>(graph, start, buffers, blocks);
  cudaGraphExec_t exec;
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  cudaEvent_t from, to;
  CHECK(cudaEventCreate(&from));
  CHECK(cudaEventCreate(&to));
  std::vector<float> times;
  bool right = true;
  for (int call = 0; call < 25; ++call) {
    CHECK(cudaEventRecord(from, stream));
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaEventRecord(to, stream));
    CHECK(cudaStreamSynchronize(stream));
    float milliseconds;
    CHECK(cudaEventElapsedTime(&milliseconds, from, to));
    times.push_back(milliseconds);
    std::vector<uint32_t> ends(2 * kValues);
    CHECK(cudaMemcpy(ends.data(), buffers.values + kLength * kValues,
                     ends.size() * 4, cudaMemcpyDeviceToHost));
    constexpr int stride = way == tagged || way == inTags ? 2 : 1;
    for (int i = 0; i < kValues; ++i) {
      float value;
      std::copy_n(reinterpret_cast<char *>(&ends[i * stride]), 4,
                  reinterpret_cast<char *>(&value));
      right &= std::abs(value - kLength) < 0.01f;
    }
  }
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
  std::sort(times.begin(), times.end());
  return right ? times[times.size() / 2] * 1e3 / kLength : -1;
}

template <Way way> static void print(const Buffers &buffers) {
  std::printf("%-8s", kNames[way]);
  for (int blocks : {132, 264})
    for (int loads : {0, 4, 8}) {
      std::printf(" %6.2f", measure<way, false>(buffers, blocks, loads));
      std::printf(" %6.2f", measure<way, true>(buffers, blocks, loads));
    }
  std::printf("\n");
  std::fflush(stdout);
}

int main() {
  Buffers buffers = {};
  CHECK(cudaMalloc(&buffers.values, (kLength + 1) * kValues * 8));
  CHECK(cudaMalloc(&buffers.counters, kLength * sizeof(int)));
  CHECK(cudaMalloc(&buffers.call, sizeof(int)));
  CHECK(cudaMemset(buffers.call, 0, sizeof(int)));
  size_t bytes = size_t(kLength) * 8 * 264 * kThreads * 16;
  void *weights;
  CHECK(cudaMalloc(&weights, bytes));
  CHECK(cudaMemset(weights, 0, bytes));
  buffers.weights = static_cast<const uint4 *>(weights);
  std::printf("us a kernel, without and with 4 KB of the one before, for 0, 16 "
              "and 32 KB of weights a block\n         132 blocks%31s264 "
              "blocks\n",
              "");
  print<plain>(buffers);
  print<pdl>(buffers);
  print<late>(buffers);
  print<counter>(buffers);
  print<tagged>(buffers);
  print<barrier>(buffers);
  print<inTags>(buffers);
  return 0;
}
