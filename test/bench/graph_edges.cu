//===- graph_edges.cu - The cost of a fork and join in a CUDA graph -------===//
//
// Usage: graph_edges; built by `nvcc -std=c++17 -O3 -arch=sm_90a`.
//
// Kernels that wait for and trigger each other as ours do (PDL) and spin for a
// given time in between: in one chain, and as repeated diamonds of several
// branches, with programmatic and full edges at forks and joins. Prints
// microseconds per diamond. Every kernel checks that its predecessors, and
// theirs, have ended, which tests waiting for several kernels.
//
//===----------------------------------------------------------------------===//

#include <algorithm>
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

constexpr int kMostBefore = 16;

struct Work {
  int self, blocks, nanoseconds, first;
  int beforeCount;
  int before[kMostBefore], beforeBlocks[kMostBefore];
};

/// `ended` counts the blocks of each kernel that have ended since the program
/// began; the first kernel of a graph counts the calls.
__global__ void spin(Work work, int *ended, int *calls, int *errors) {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  asm volatile("griddepcontrol.wait;" ::: "memory");
  if (threadIdx.x)
    return;
  if (work.first)
    atomicAdd(calls, 1);
  int call = *(volatile int *)calls;
  for (int i = 0; i < work.beforeCount; ++i)
    if (*(volatile int *)&ended[work.before[i]] != call * work.beforeBlocks[i])
      atomicAdd(errors, 1);
  long long start = clock64();
  while (clock64() - start < work.nanoseconds * 18 / 10)
    ;
  __threadfence();
  atomicAdd(&ended[work.self], 1);
}

enum Edges { programmatic, full, oneChain, joinsFull };

struct Shape {
  int width, depth, blocks, nanoseconds, shared;
};

class Bench {
public:
  Bench() {
    CHECK(cudaMalloc(&ended, 4096 * sizeof(int)));
    CHECK(cudaMalloc(&calls, sizeof(int)));
    CHECK(cudaMalloc(&errors, sizeof(int)));
    CHECK(cudaMemset(errors, 0, sizeof(int)));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaFuncSetAttribute(
        spin, cudaFuncAttributeMaxDynamicSharedMemorySize, 220 << 10));
  }

  /// Returns microseconds per diamond of a graph with `repeats` of them, or per
  /// equally many kernels in one chain.
  double time(const Shape &shape, Edges edges, bool chain) {
    constexpr int repeats = 20;
    CHECK(cudaMemset(ended, 0, 4096 * sizeof(int)));
    CHECK(cudaMemset(calls, 0, sizeof(int)));
    CHECK(cudaGraphCreate(&graph, 0));
    nodes.clear();
    works.clear();
    int tail = add(shape, {}, edges, 1);
    for (int i = 0; i < repeats; ++i) {
      if (chain) {
        for (int j = 0; j < shape.width * shape.depth + 1; ++j)
          tail = add(shape, {tail}, edges);
        continue;
      }
      std::vector<int> ends;
      for (int branch = 0; branch < shape.width; ++branch) {
        int last = tail;
        for (int j = 0; j < shape.depth; ++j)
          last = add(shape, {last}, branch && edges == oneChain ? full : edges);
        ends.push_back(last);
      }
      tail = add(shape, ends, edges);
    }
    cudaGraphExec_t exec;
    cudaError_t made = cudaGraphInstantiate(&exec, graph, 0);
    if (made != cudaSuccess) {
      std::printf("(%s) ", cudaGetErrorString(made));
      cudaGraphDestroy(graph);
      return -1;
    }
    cudaEvent_t from, to;
    CHECK(cudaEventCreate(&from));
    CHECK(cudaEventCreate(&to));
    std::vector<float> times;
    for (int run = 0; run < 25; ++run) {
      CHECK(cudaEventRecord(from, stream));
      CHECK(cudaGraphLaunch(exec, stream));
      CHECK(cudaEventRecord(to, stream));
      CHECK(cudaStreamSynchronize(stream));
      float milliseconds;
      CHECK(cudaEventElapsedTime(&milliseconds, from, to));
      times.push_back(milliseconds);
    }
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    std::sort(times.begin(), times.end());
    return times[times.size() / 2] * 1e3 / repeats;
  }

  int errorCount() {
    int count;
    CHECK(cudaMemcpy(&count, errors, sizeof(int), cudaMemcpyDeviceToHost));
    return count;
  }

private:
  int add(const Shape &shape, const std::vector<int> &before, Edges edges,
          int blocks = 0) {
    Work work = {};
    work.self = int(nodes.size());
    work.first = before.empty();
    work.blocks = blocks ? blocks : shape.blocks;
    work.nanoseconds = shape.nanoseconds;
    auto follow = [&](int other) {
      if (work.beforeCount == kMostBefore)
        return;
      work.before[work.beforeCount] = other;
      work.beforeBlocks[work.beforeCount++] = works[other].blocks;
    };
    for (int other : before) {
      follow(other);
      // And its predecessors.
      for (int i = 0; i < works[other].beforeCount && i < 4; ++i)
        follow(works[other].before[i]);
    }
    void *arguments[] = {&work, &ended, &calls, &errors};
    cudaKernelNodeParams params = {};
    params.func = reinterpret_cast<void *>(spin);
    params.gridDim = dim3(work.blocks);
    params.blockDim = dim3(128);
    params.sharedMemBytes = shape.shared;
    params.kernelParams = arguments;
    cudaGraphNode_t node;
    CHECK(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &params));
    for (size_t i = 0; i < before.size(); ++i) {
      bool isFull = edges == full || (edges == oneChain && i > 0) ||
                    (edges == joinsFull && before.size() > 1);
      cudaGraphEdgeData edge = {};
      if (!isFull) {
        edge.from_port = cudaGraphKernelNodePortProgrammatic;
        edge.type = cudaGraphDependencyTypeProgrammatic;
      }
#if CUDART_VERSION >= 13000
      CHECK(
          cudaGraphAddDependencies(graph, &nodes[before[i]], &node, &edge, 1));
#else
      CHECK(cudaGraphAddDependencies_v2(graph, &nodes[before[i]], &node, &edge,
                                        1));
#endif
    }
    nodes.push_back(node);
    works.push_back(work);
    return work.self;
  }

  cudaStream_t stream;
  cudaGraph_t graph;
  std::vector<cudaGraphNode_t> nodes;
  std::vector<Work> works;
  int *ended, *calls, *errors;
};

int main() {
  Bench bench;
  std::printf("%-32s %9s %9s | %9s %9s %9s %9s\n",
              "width depth blocks work shared", "chain", "full", "forked",
              "full", "one chain", "joins full");
  for (int shared : {0, 100 << 10, 200 << 10})
    for (int nanoseconds : {0, 1000, 3000})
      for (int blocks : {16, 32, 64})
        for (auto [width, depth] :
             {std::pair(2, 1), std::pair(2, 2), std::pair(3, 1),
              std::pair(4, 1), std::pair(4, 2)}) {
          if (shared && blocks == 16)
            continue;
          Shape shape = {width, depth, blocks, nanoseconds, shared};
          std::printf("%5d %5d %6d %5d %4dK %12.2f %9.2f | ", width, depth,
                      blocks, nanoseconds, shared >> 10,
                      bench.time(shape, programmatic, true),
                      bench.time(shape, full, true));
          for (Edges edges : {programmatic, full, oneChain, joinsFull})
            std::printf("%9.2f ", bench.time(shape, edges, false));
          std::printf("\n");
        }
  int errors = bench.errorCount();
  std::printf("%d kernels ran before those that they follow had ended\n",
              errors);
  return errors != 0;
}
