//===- wgmma_candidates.h - Frit's and cuBLASLt's kernels of a product ----===//
//
// Graphs of frit's kernel in any tiling, and of cuBLASLt's algorithms for the
// same product. Their results are compared.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_TEST_CODEGEN_SKELETONS_WGMMA_CANDIDATES_H
#define FRIT_TEST_CODEGEN_SKELETONS_WGMMA_CANDIDATES_H

#include "wgmma_bench.h"

namespace harness {

/// A loaded kernel of a tiling.
class Loaded {
public:
  Loaded(const std::vector<char> &cubin, const Cut &cut) {
    cudaKernel_t kernel;
    require(cudaLibraryLoadData(&library, cubin.data(), nullptr, nullptr, 0,
                                nullptr, nullptr, 0));
    require(cudaLibraryGetKernel(&kernel, library, "product"));
    function = reinterpret_cast<const void *>(kernel);
    require(cudaFuncSetAttribute(function,
                                 cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 cut.sharedBytes()));
  }
  Loaded(const Loaded &) = delete;
  ~Loaded() { cudaLibraryUnload(library); }

  const void *get() const { return function; }

private:
  cudaLibrary_t library;
  const void *function;
};

/// One way to compute a product.
struct Candidate {
  std::string name;
  std::shared_ptr<Loaded> kernel; // null for a library's
  std::shared_ptr<Replay> replay;
  double time = 0;
  bool right = true;
};

inline std::string nameOf(const Cut &cut) {
  std::ostringstream out;
  out << cut.tileM << "x" << cut.tileN << " stages " << cut.stages
      << " cluster " << cut.cluster << " split " << cut.split << " blocks "
      << cut.blocks;
  return out.str();
}

inline std::string nameOf(const cublasLtMatmulAlgo_t &algorithm) {
  std::ostringstream out;
  auto attribute = [&](const char *name,
                       cublasLtMatmulAlgoConfigAttributes_t which) {
    // The attribute is 2 or 4 bytes wide.
    uint32_t value = 0;
    uint16_t half = 0;
    size_t size = 0;
    if (cublasLtMatmulAlgoConfigGetAttribute(&algorithm, which, &value,
                                             sizeof value,
                                             &size) != CUBLAS_STATUS_SUCCESS &&
        cublasLtMatmulAlgoConfigGetAttribute(&algorithm, which, &half,
                                             sizeof half,
                                             &size) == CUBLAS_STATUS_SUCCESS)
      value = half;
    out << name << value;
  };
  attribute("cublasLt ", CUBLASLT_ALGO_CONFIG_ID);
  attribute(" tile ", CUBLASLT_ALGO_CONFIG_TILE_ID);
  attribute(" stages ", CUBLASLT_ALGO_CONFIG_STAGES_ID);
  attribute(" cluster ", CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID);
  attribute(" split ", CUBLASLT_ALGO_CONFIG_SPLITK_NUM);
  return out.str();
}

/// Work to run after each library call.
using After = std::function<void()>;

/// Returns up to `most` (at most 64) algorithms of cuBLASLt, with the shape's
/// epilogue if cuBLASLt has it, otherwise with bias and residual only.
inline std::vector<Candidate> cublasCandidates(const Shape &shape,
                                               const Memory &memory, int count,
                                               int most,
                                               const After &after = nullptr) {
  cublasLtMatmulDesc_t operation;
  cublasLtMatmulDescCreate(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F);
  cublasOperation_t transposed = CUBLAS_OP_T;
  auto set = [&](cublasLtMatmulDescAttributes_t which, auto value) {
    cublasLtMatmulDescSetAttribute(operation, which, &value, sizeof value);
  };
  set(CUBLASLT_MATMUL_DESC_TRANSA, transposed);
  if (!shape.wide) {
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, shape.epilogue() == "Relu"
                                           ? CUBLASLT_EPILOGUE_RELU_BIAS
                                           : CUBLASLT_EPILOGUE_BIAS);
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
  cublasLtMatmulPreferenceSetAttribute(
      preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
      &memory.workspaceSize, sizeof memory.workspaceSize);
  cublasLtMatmulHeuristicResult_t found[64];
  int many = 0;
  cublasLtMatmulAlgoGetHeuristic(memory.handle, operation, w, x, y, y,
                                 preference, std::min(most, 64), found, &many);
  std::vector<Candidate> result;
  float one = 1, scale = shape.residual ? 1 : 0;
  for (int i = 0; i < many; ++i) {
    auto replay = std::make_shared<Replay>(count, memory.stream, [&](int j) {
      bool ok =
          cublasLtMatmul(
              memory.handle, operation, &one,
              memory.b + size_t(j % memory.weights) * shape.n * shape.k * 2, w,
              memory.a, x, &scale, shape.residual ? memory.r : memory.d, y,
              memory.d, y, &found[i].algo, memory.workspace,
              memory.workspaceSize, memory.stream) == CUBLAS_STATUS_SUCCESS;
      if (ok && after)
        after();
      return ok;
    });
    if (!*replay)
      continue;
    Candidate candidate;
    candidate.name = nameOf(found[i].algo);
    candidate.replay = replay;
    result.push_back(candidate);
  }
  cublasLtMatmulPreferenceDestroy(preference);
  for (cublasLtMatrixLayout_t layout : {w, x, y})
    cublasLtMatrixLayoutDestroy(layout);
  cublasLtMatmulDescDestroy(operation);
  return result;
}

/// Returns the candidate for a tiling.
inline Candidate cutCandidate(const Shape &shape, const Cut &cut,
                              const std::vector<char> &cubin,
                              const Memory &memory, int count) {
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
  int grid = cut.gridOf(shape.m, shape.n, 1, processorCount());
  auto kernel = std::make_shared<Loaded>(cubin, cut);
  auto replay = std::make_shared<Replay>(count, memory.stream, [&](int i) {
    void *arguments[] = {&bias, &r,   &d, &mapA, &mapsB[i % memory.weights],
                         &mapD, &mapR};
    launchCut(kernel->get(), cut, grid, arguments, memory.stream, true);
    return true;
  });
  return {nameOf(cut), kernel, replay};
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// Returns the first and last bytes of D.
inline std::vector<unsigned char> sample(const Shape &shape,
                                         const Memory &memory) {
  size_t size = size_t(shape.m) * shape.n * (shape.wide ? 4 : 2);
  size_t part = std::min<size_t>(size, 1 << 18);
  std::vector<unsigned char> result(2 * part);
  require(cudaMemcpy(result.data(), memory.d, part, cudaMemcpyDeviceToHost));
  require(cudaMemcpy(result.data() + part, memory.d + size - part, part,
                     cudaMemcpyDeviceToHost));
  return result;
}

inline bool agree(const Shape &shape, const std::vector<unsigned char> &x,
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

/// Times every tiling. Marks those wrong whose results differ from the first,
/// or from `want` if given.
inline std::vector<Candidate> timeCuts(const Job &job, const Memory &memory,
                                       int count,
                                       std::vector<unsigned char> want) {
  std::vector<Candidate> result;
  for (size_t i = 0; i < job.cuts.size(); ++i) {
    require(cudaMemset(memory.d, 0xff,
                       job.shape.m * job.shape.n * (job.shape.wide ? 4 : 2)));
    Candidate candidate =
        cutCandidate(job.shape, job.cuts[i], job.cubins[i], memory, count);
    candidate.time = candidate.replay->time(3);
    auto got = sample(job.shape, memory);
    if (want.empty())
      want = got;
    candidate.right = agree(job.shape, want, got);
    if (!candidate.right)
      ++failures;
    result.push_back(candidate);
  }
  return result;
}

inline void sortByTime(std::vector<Candidate> &candidates, size_t first) {
  std::sort(candidates.begin(), candidates.begin() + first,
            [](auto &x, auto &y) { return x.time < y.time; });
}

} // namespace harness

#endif // FRIT_TEST_CODEGEN_SKELETONS_WGMMA_CANDIDATES_H
