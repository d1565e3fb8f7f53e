//===- wgmma_tune.cu - Times every way to cut the products of models ------===//
//
// Usage: wgmma_tune HEADERS [WORD], where HEADERS is codegen/cuda/device; built
// by nvcc -std=c++20 -gencode arch=compute_90a,code=sm_90a -I DIR -lnvrtc
// -lcublasLt, where DIR/frit is HEADERS.
//
// For each product and convolution of the models (those whose name contains
// WORD) compiles wgmma_gemm.cuh or wgmma_conv.cuh with NVRTC for every cut that
// makes sense, holds the results to each other, and prints the fastest cuts
// beside the best that cuBLASLt's heuristics know. A time is one launch's share
// of a CUDA graph of many, each with its own weights, so that weights come from
// memory as they do in a model.
//
//===----------------------------------------------------------------------===//

#include "wgmma_shapes.h"

#include <cublasLt.h>
#include <nvrtc.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <thread>

using namespace harness;

//===----------------------------------------------------------------------===//
// Compiling
//===----------------------------------------------------------------------===//

static std::string sourceOf(const Shape &shape, const Cut &cut) {
  std::ostringstream out;
  auto field = [&](const char *name, auto value) {
    out << "  static constexpr decltype(" << value << "l) " << name << " = "
        << value << ";\n";
  };
  const char *d = shape.wide ? "float" : "frit::f16";
  out << "#include \"frit/tile.cuh\"\n#include \"frit/wgmma_"
      << (shape.taps ? "conv" : "gemm") << ".cuh\"\nstruct P {\n"
      << "  using T = frit::f16;\n  using A = T;\n  using B = T;\n"
      << "  using Bias = T;\n  using D = " << d
      << ";\n  using Epilogue = frit::" << (shape.wide ? "Identity" : "Relu")
      << ";\n"
      << "  static constexpr int tileM = " << cut.tileM
      << ", tileN = " << cut.tileN << ", stages = " << cut.stages
      << ", cluster = " << cut.cluster << ", split = " << cut.split
      << ", blocks = " << cut.blocks << ";\n"
      << "  static constexpr bool constantB = true;\n";
  if (shape.taps) {
    out << "  static constexpr int n = " << shape.images
        << ", c = " << shape.channels() << ", h = " << shape.size
        << ", w = " << shape.size << ", k = " << shape.n
        << ", r = " << shape.taps << ", s = " << shape.taps
        << ", p = " << shape.out() << ", q = " << shape.out()
        << ", strideH = " << shape.stride << ", strideW = " << shape.stride
        << ", dilationH = 1, dilationW = 1, padTop = " << shape.pad()
        << ", padLeft = " << shape.pad() << ";\n";
  } else {
    out << "  static constexpr bool transposeA = false, transposeB = true;\n";
    field("m", shape.m);
    field("n", shape.n);
    field("k", shape.k);
    field("ldd", shape.n);
    field("batch", 1);
    field("strideA", 0);
    field("strideB", 0);
    field("strideD", 0);
  }
  out << "};\nusing Map = const frit::TensorMap;\n"
      << "extern \"C\" __global__ void __launch_bounds__(" << cut.threads()
      << ", " << cut.blocks
      << ") product(const frit::f16 *bias, const P::D *r, P::D *d,\n"
      << "    __grid_constant__ Map a, __grid_constant__ Map b,\n"
      << "    __grid_constant__ Map c, __grid_constant__ Map e) {\n  "
         "frit::wgmma"
      << (shape.taps ? "Conv" : "Gemm") << "<P>(&a, &b, "
      << "&c" << ", " << (shape.residual ? "&e" : "nullptr") << ", "
      << (shape.wide ? "nullptr" : "bias") << ", "
      << (shape.residual ? "r" : "nullptr") << ", d);\n}\n";
  return out.str();
}

static std::map<std::string, std::string> headers;

static std::vector<char> compile(const std::string &source) {
  std::vector<const char *> names, texts;
  for (auto &[name, text] : headers) {
    names.push_back(name.c_str());
    texts.push_back(text.c_str());
  }
  nvrtcProgram program;
  nvrtcCreateProgram(&program, source.c_str(), "p.cu", int(names.size()),
                     texts.data(), names.data());
  const char *options[] = {"-arch=sm_90a", "-std=c++20", "-default-device"};
  bool ok = nvrtcCompileProgram(program, 3, options) == NVRTC_SUCCESS;
  size_t size = 0;
  if (!ok) {
    nvrtcGetProgramLogSize(program, &size);
    std::string log(size, ' ');
    nvrtcGetProgramLog(program, log.data());
    fprintf(stderr, "%s\n%s\n", source.c_str(), log.c_str());
    exit(1);
  }
  nvrtcGetCUBINSize(program, &size);
  std::vector<char> cubin(size);
  nvrtcGetCUBIN(program, cubin.data());
  nvrtcDestroyProgram(&program);
  return cubin;
}

//===----------------------------------------------------------------------===//
// Timing
//===----------------------------------------------------------------------===//

static cudaStream_t stream;

namespace {
/// A graph of launches.
class Replay {
public:
  /// Empty where a launch is refused.
  Replay(int count, const std::function<bool(int)> &launch) : count(count) {
    cudaGraph_t graph;
    require(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    bool ok = true;
    for (int i = 0; ok && i < count; ++i)
      ok = launch(i);
    require(cudaStreamEndCapture(stream, &graph));
    if (ok)
      require(cudaGraphInstantiate(&exec, graph, 0));
    cudaGraphDestroy(graph);
  }
  Replay(const Replay &) = delete;
  ~Replay() {
    if (exec)
      cudaGraphExecDestroy(exec);
  }
  explicit operator bool() const { return exec; }

  /// Microseconds per launch, the median of `times`.
  double time(int times) {
    static cudaEvent_t start, stop;
    if (!start) {
      require(cudaEventCreate(&start));
      require(cudaEventCreate(&stop));
    }
    std::vector<float> all;
    for (int i = -1; i < times; ++i) {
      require(cudaEventRecord(start, stream));
      require(cudaGraphLaunch(exec, stream));
      require(cudaEventRecord(stop, stream));
      require(cudaStreamSynchronize(stream));
      float time;
      require(cudaEventElapsedTime(&time, start, stop));
      if (i >= 0)
        all.push_back(time);
    }
    std::sort(all.begin(), all.end());
    return all[all.size() / 2] * 1e3 / count;
  }

private:
  int count;
  cudaGraphExec_t exec = nullptr;
};
} // namespace

static __global__ void randomize(uint16_t *to, size_t count, unsigned seed) {
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count;
       i += size_t(gridDim.x) * blockDim.x) {
    uint64_t x = (i + seed * 0x9e3779b97f4a7c15ull) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 29) * 0x94d049bb133111ebull;
    // Any sign, magnitudes from 1/8 to 1.
    to[i] = uint16_t((x >> 40 & 0x8000) | (12 + (x >> 20) % 3) << 10 |
                     (x >> 50 & 1023));
  }
}

namespace {
struct Memory {
  unsigned char *a, *b, *bias, *r, *d;
  int weights;
};
struct Result {
  Cut cut;
  std::shared_ptr<Replay> replay;
  double time;
  bool right;
};
} // namespace

static constexpr size_t kRoom = size_t(1) << 30;

/// The fastest of what cuBLASLt proposes, or null.
static std::shared_ptr<Replay> bestOfCublas(const Shape &shape,
                                            const Memory &memory, int count) {
  static cublasLtHandle_t handle = [] {
    cublasLtHandle_t handle;
    cublasLtCreate(&handle);
    return handle;
  }();
  static void *workspace = [] {
    void *workspace;
    require(cudaMalloc(&workspace, 32 << 20));
    return workspace;
  }();
  cublasLtMatmulDesc_t operation;
  cublasLtMatmulDescCreate(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F);
  cublasOperation_t transposed = CUBLAS_OP_T;
  auto set = [&](cublasLtMatmulDescAttributes_t which, auto value) {
    cublasLtMatmulDescSetAttribute(operation, which, &value, sizeof value);
  };
  set(CUBLASLT_MATMUL_DESC_TRANSA, transposed);
  if (!shape.wide) {
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_RELU_BIAS);
    set(CUBLASLT_MATMUL_DESC_BIAS_POINTER,
        static_cast<const void *>(memory.bias));
  }
  auto out = shape.wide ? CUDA_R_32F : CUDA_R_16F;
  cublasLtMatrixLayout_t w, x, y;
  cublasLtMatrixLayoutCreate(&w, CUDA_R_16F, shape.k, shape.n, shape.k);
  cublasLtMatrixLayoutCreate(&x, CUDA_R_16F, shape.k, shape.m, shape.k);
  cublasLtMatrixLayoutCreate(&y, out, shape.n, shape.m, shape.n);
  cublasLtMatmulPreference_t preference;
  cublasLtMatmulPreferenceCreate(&preference);
  size_t room = 32 << 20;
  cublasLtMatmulPreferenceSetAttribute(
      preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &room, sizeof room);
  cublasLtMatmulHeuristicResult_t found[12];
  int many = 0;
  cublasLtMatmulAlgoGetHeuristic(handle, operation, w, x, y, y, preference, 12,
                                 found, &many);
  std::shared_ptr<Replay> best;
  double bestTime = 0;
  float one = 1, scale = shape.residual ? 1 : 0;
  for (int i = 0; i < many; ++i) {
    auto replay = std::make_shared<Replay>(count, [&](int j) {
      return cublasLtMatmul(
                 handle, operation, &one,
                 memory.b + size_t(j % memory.weights) * shape.n * shape.k * 2,
                 w, memory.a, x, &scale, shape.residual ? memory.r : memory.d,
                 y, memory.d, y, &found[i].algo, workspace, room,
                 stream) == CUBLAS_STATUS_SUCCESS;
    });
    double time = *replay ? replay->time(3) : 0;
    if (time > 0 && (!best || time < bestTime)) {
      best = replay;
      bestTime = time;
    }
  }
  return best;
}

static std::shared_ptr<Replay> replayOf(const Shape &shape, const Cut &cut,
                                        const Memory &memory, int count,
                                        const void *kernel) {
  auto *a = reinterpret_cast<const f16 *>(memory.a);
  auto *b = reinterpret_cast<const f16 *>(memory.b);
  auto *bias = reinterpret_cast<const f16 *>(memory.bias);
  auto *r = memory.r, *d = memory.d;
  frit::TensorMap mapA, mapD, mapR;
  auto mapOut = [&](unsigned char *at) {
    return shape.wide
               ? tiledMap(reinterpret_cast<float *>(at), {shape.n, shape.m, 1},
                          {shape.n, 0}, {32, 16, 1})
               : tiledMap(reinterpret_cast<f16 *>(at), {shape.n, shape.m, 1},
                          {shape.n, 0}, {64, 16, 1});
  };
  if (shape.taps) {
    int upper = (shape.out() - 1) * shape.stride - shape.pad() + 1 - shape.size;
    int64_t line = int64_t(shape.channels()) * shape.size;
    mapA = pixelMap(a, {shape.channels(), shape.size, shape.size, shape.images},
                    {shape.channels(), line, line * shape.size},
                    {-shape.pad(), -shape.pad()}, {upper, upper},
                    {shape.stride, shape.stride}, cut.tileM);
  } else {
    mapA = tiledMap(a, {shape.k, shape.m, 1}, {shape.k, 0}, {64, cut.tileM, 1});
  }
  mapD = mapOut(d);
  mapR = mapOut(r);
  int partN = cut.tileN / cut.cluster;
  std::vector<frit::TensorMap> mapsB;
  for (int i = 0; i < memory.weights; ++i) {
    const f16 *at = b + size_t(i) * shape.n * shape.k;
    mapsB.push_back(
        shape.taps
            ? tiledMap(at, {shape.channels(), shape.taps * shape.taps, shape.n},
                       {shape.channels(), shape.k}, {64, 1, partN})
            : tiledMap(at, {shape.k, shape.n, 1}, {shape.k, 0},
                       {64, partN, 1}));
  }
  int grid = cut.grid(shape.m, shape.n, 1, processorCount());
  return std::make_shared<Replay>(count, [&](int i) {
    void *arguments[] = {&bias, &r,   &d, &mapA, &mapsB[i % memory.weights],
                         &mapD, &mapR};
    launchCut(kernel, cut, grid, arguments, stream, true);
    return true;
  });
}

/// Some of D's bytes: its beginning and its end.
static std::vector<unsigned char> sample(const Shape &shape,
                                         const Memory &memory) {
  size_t size = size_t(shape.m) * shape.n * (shape.wide ? 4 : 2);
  size_t part = std::min<size_t>(size, 1 << 18);
  std::vector<unsigned char> result(2 * part);
  require(cudaMemcpy(result.data(), memory.d, part, cudaMemcpyDeviceToHost));
  require(cudaMemcpy(result.data() + part, memory.d + size - part, part,
                     cudaMemcpyDeviceToHost));
  return result;
}

static bool agree(const Shape &shape, const std::vector<unsigned char> &x,
                  const std::vector<unsigned char> &y) {
  auto value = [&](const std::vector<unsigned char> &of, size_t i) {
    if (shape.wide)
      return double(reinterpret_cast<const float *>(of.data())[i]);
    return toDouble(reinterpret_cast<const f16 *>(of.data())[i]);
  };
  double scale = 1e-6, worst = 0;
  for (size_t i = 0; i < x.size() / (shape.wide ? 4 : 2); ++i) {
    double p = value(x, i), q = value(y, i);
    scale = std::max(scale, std::fabs(p));
    worst = std::max(worst, p == p && q == q ? std::fabs(p - q) : INFINITY);
  }
  return worst <= 2e-3 * scale;
}

static void tune(const Shape &shape, const std::vector<Cut> &cuts,
                 const std::vector<std::vector<char>> &cubins, Memory memory) {
  double estimate = shape.work() / 600e6 + 3;
  int count = std::clamp(int(400 / estimate), 3, 64);
  memory.weights =
      std::min<int>(count, (150 << 20) / (shape.n * shape.k * 2) + 1);
  std::shared_ptr<Replay> peer;
  std::vector<unsigned char> want;
  if (!shape.taps) {
    require(cudaMemset(memory.d, 0xff, kRoom));
    peer = bestOfCublas(shape, memory, count);
    if (peer)
      want = sample(shape, memory);
  }
  std::vector<Result> results;
  std::vector<cudaLibrary_t> libraries;
  for (size_t i = 0; i < cuts.size(); ++i) {
    cudaLibrary_t library;
    cudaKernel_t kernel;
    require(cudaLibraryLoadData(&library, cubins[i].data(), nullptr, nullptr, 0,
                                nullptr, nullptr, 0));
    require(cudaLibraryGetKernel(&kernel, library, "product"));
    auto *function = reinterpret_cast<const void *>(kernel);
    require(cudaFuncSetAttribute(function,
                                 cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 cuts[i].shared()));
    require(
        cudaMemset(memory.d, 0xff, shape.m * shape.n * (shape.wide ? 4 : 2)));
    Result result = {cuts[i],
                     replayOf(shape, cuts[i], memory, count, function)};
    result.time = result.replay->time(3);
    auto got = sample(shape, memory);
    if (want.empty())
      want = got;
    result.right = agree(shape, want, got);
    if (!result.right)
      ++failures;
    results.push_back(result);
    libraries.push_back(library);
  }
  auto sort = [&](size_t count) {
    std::sort(results.begin(), results.begin() + count,
              [](auto &x, auto &y) { return x.time < y.time; });
  };
  sort(results.size());
  // Once more by turns, so that clocks and heat are the same for all.
  size_t finalists = std::min<size_t>(results.size(), 4);
  double peerTime = 0;
  for (size_t i = 0; i < finalists; ++i)
    results[i].time = 0;
  constexpr int rounds = 4;
  for (int round = 0; round < rounds; ++round) {
    if (peer)
      peerTime += peer->time(3) / rounds;
    for (size_t i = 0; i < finalists; ++i)
      results[i].time += results[i].replay->time(3) / rounds;
  }
  sort(finalists);
  double time = results[0].time, speed = shape.work() / time * 1e-6;
  printf("%-26s %6ld %5ld %5ld %8.2f us %6.1f TFLOP/s, %3.0f%% of 790, %3.0f%% "
         "of 4.3 TB/s",
         shape.name.c_str(), long(shape.m), long(shape.n), long(shape.k), time,
         speed, speed / 7.9, shape.bytes() / time * 1e-6 / 4.3 * 100);
  if (peer)
    printf("; cublasLt %8.2f us, %.2f times", peerTime, peerTime / time);
  printf("\n");
  for (auto &[cut, replay, time, right] : results)
    printf("    %8.2f us  %dx%d stages %d cluster %d split %d blocks %d%s\n",
           time, cut.tileM, cut.tileN, cut.stages, cut.cluster, cut.split,
           cut.blocks, right ? "" : "  WRONG");
  results.clear();
  for (cudaLibrary_t library : libraries)
    cudaLibraryUnload(library);
}

int main(int argc, char **argv) {
  require(argc > 1, "usage: wgmma_tune HEADERS [WORD]");
  for (auto &entry : std::filesystem::directory_iterator(argv[1])) {
    std::stringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    headers["frit/" + entry.path().filename().string()] = text.str();
  }
  struct Job {
    Shape shape;
    std::vector<Cut> cuts;
    std::vector<std::vector<char>> cubins;
  };
  std::vector<Job> jobs;
  std::vector<std::pair<int, int>> items;
  for (const Shape &shape : shapes()) {
    if (argc > 2 && shape.name.find(argv[2]) == std::string::npos)
      continue;
    std::vector<Cut> cuts = cutsOf(shape);
    for (size_t i = 0; i < cuts.size(); ++i)
      items.push_back({int(jobs.size()), int(i)});
    jobs.push_back({shape, cuts, {}});
    jobs.back().cubins.resize(cuts.size());
  }
  // All at once before the first is timed.
  auto begin = std::chrono::steady_clock::now();
  std::vector<std::thread> threads;
  std::atomic<size_t> next = 0;
  for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency());
       ++i)
    threads.emplace_back([&] {
      for (size_t at; (at = next++) < items.size();) {
        Job &job = jobs[items[at].first];
        int cut = items[at].second;
        job.cubins[cut] = compile(sourceOf(job.shape, job.cuts[cut]));
      }
    });
  Memory memory;
  require(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  for (unsigned char **at :
       {&memory.a, &memory.b, &memory.bias, &memory.r, &memory.d}) {
    require(cudaMalloc(at, kRoom));
    randomize<<<1024, 256>>>(reinterpret_cast<uint16_t *>(*at), kRoom / 2,
                             unsigned(at - &memory.a));
  }
  require(cudaDeviceSynchronize());
  for (std::thread &thread : threads)
    thread.join();
  double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
          .count();
  printf("compiled %zu kernels in %.1f s\n", items.size(), seconds);
  for (Job &job : jobs) {
    tune(job.shape, job.cuts, job.cubins, memory);
    fflush(stdout);
  }
  printf("%d wrong results\n", failures);
  return failures != 0;
}
