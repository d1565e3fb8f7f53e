//===- wgmma_bench.h - Shared code of the wgmma benchmarks ----------------===//
//
// Compiles tilings of products with NVRTC, and times launches in CUDA graphs.
// Each launch of a graph has its own weights, so that these come from DRAM as
// in a model. Numbers are normally distributed (activations with deviation 1,
// weights 0.02), because they determine power draw and so the clock.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_TEST_CODEGEN_SKELETONS_WGMMA_BENCH_H
#define FRIT_TEST_CODEGEN_SKELETONS_WGMMA_BENCH_H

#include "wgmma_shapes.h"

#include <cublasLt.h>
#include <nvrtc.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <sstream>
#include <thread>

namespace harness {

//===----------------------------------------------------------------------===//
// Compiling
//===----------------------------------------------------------------------===//

inline std::string sourceOf(const Shape &shape, const Cut &cut) {
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
      << ";\n  using Epilogue = frit::" << shape.epilogue() << ";\n"
      << "  static constexpr int tileM = " << cut.tileM
      << ", tileN = " << cut.tileN << ", stages = " << cut.stages
      << ", cluster = " << cut.cluster << ", split = " << cut.split
      << ", blocks = " << cut.blocks << ", raster = " << cut.rasterRows(kSms)
      << ";\n"
      << "  static constexpr bool pingPong = "
      << cut.pingPongs(shape.m, shape.n, 1, kSms) << ";\n"
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
      << "&c"
      << ", " << (shape.residual ? "&e" : "nullptr") << ", "
      << (shape.wide ? "nullptr" : "bias") << ", "
      << (shape.residual ? "r" : "nullptr") << ", d);\n}\n";
  return out.str();
}

/// Header texts by include name.
using Headers = std::map<std::string, std::string>;

inline Headers readHeaders(const char *folder) {
  Headers headers;
  for (auto &entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".cuh")
      continue;
    std::stringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    headers["frit/" + entry.path().filename().string()] = text.str();
  }
  return headers;
}

inline std::vector<char> compile(const std::string &source,
                                 const Headers &headers) {
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

/// A product and its compiled tilings.
struct Job {
  Shape shape;
  std::vector<Cut> cuts;
  std::vector<std::vector<char>> cubins;
};

/// Compiles all tilings of all shapes on all cores.
inline std::vector<Job> compileAll(const std::vector<Shape> &shapes,
                                   const Headers &headers) {
  std::vector<Job> jobs;
  std::vector<std::pair<size_t, size_t>> items;
  for (const Shape &shape : shapes) {
    std::vector<Cut> cuts = cutsOf(shape);
    for (size_t i = 0; i < cuts.size(); ++i)
      items.push_back({jobs.size(), i});
    jobs.push_back({shape, cuts, {}});
    jobs.back().cubins.resize(cuts.size());
  }
  std::atomic<size_t> next = 0;
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency());
       ++i)
    threads.emplace_back([&] {
      for (size_t at; (at = next++) < items.size();) {
        auto [job, cut] = items[at];
        jobs[job].cubins[cut] =
            compile(sourceOf(jobs[job].shape, jobs[job].cuts[cut]), headers);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  return jobs;
}

//===----------------------------------------------------------------------===//
// Timing
//===----------------------------------------------------------------------===//

/// A graph of launches.
class Replay {
public:
  /// Empty if a launch fails.
  Replay(int count, cudaStream_t stream, const std::function<bool(int)> &launch)
      : count(count), stream(stream) {
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

  void launch() { require(cudaGraphLaunch(exec, stream)); }
  int launches() const { return count; }

  /// Returns the median microseconds per launch over `times` replays.
  double time(int times) {
    static cudaEvent_t start, stop;
    if (!start) {
      require(cudaEventCreate(&start));
      require(cudaEventCreate(&stop));
    }
    std::vector<float> all;
    for (int i = -1; i < times; ++i) {
      require(cudaEventRecord(start, stream));
      launch();
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
  cudaStream_t stream;
  cudaGraphExec_t exec = nullptr;
};

static __global__ void randomize(f16 *to, size_t count, unsigned seed,
                                 float deviation) {
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count;
       i += size_t(gridDim.x) * blockDim.x) {
    uint64_t x = (i + seed * 0x9e3779b97f4a7c15ull) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 29) * 0x94d049bb133111ebull;
    x ^= x >> 32;
    // Box–Muller transform.
    float u = (float(x & 0xffffff) + 0.5f) * 0x1p-24f;
    float angle = float(x >> 40) * (0x1p-24f * 6.2831853f);
    frit::store(to[i], deviation * sqrtf(-2 * logf(u)) * cosf(angle));
  }
}

/// Operands and results of products, and their stream.
struct Memory {
  static constexpr size_t room = size_t(1) << 30;
  static constexpr size_t workspaceSize = 32 << 20;
  unsigned char *a, *b, *bias, *r, *d;
  void *workspace;
  cudaStream_t stream;
  cublasLtHandle_t handle;
  /// Number of weight tensors used in rotation.
  int weights = 1;

  Memory() {
    require(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    cublasLtCreate(&handle);
    require(cudaMalloc(&workspace, workspaceSize));
    unsigned seed = 0;
    auto allocate = [&](unsigned char *&at, float deviation) {
      require(cudaMalloc(&at, room));
      randomize<<<1024, 256>>>(reinterpret_cast<f16 *>(at), room / 2, ++seed,
                               deviation);
    };
    allocate(a, 1);
    allocate(b, 0.02f);
    allocate(bias, 0.02f);
    allocate(r, 1);
    allocate(d, 1);
    require(cudaDeviceSynchronize());
  }
};

/// Returns the number of launches for a graph of about half a millisecond whose
/// weights exceed L2.
inline int launchesOf(const Shape &shape, Memory &memory) {
  double estimate = shape.work() / 600e6 + 3;
  int count = std::clamp(int(400 / estimate), 3, 64);
  memory.weights =
      std::min<int>(count, (150 << 20) / (shape.n * shape.k * 2) + 1);
  return count;
}

} // namespace harness

#endif // FRIT_TEST_CODEGEN_SKELETONS_WGMMA_BENCH_H
