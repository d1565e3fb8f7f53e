//===- CublasLt.cpp - Matrix products by cuBLASLt -------------------------===//
//
// cuBLASLt is column-major, a plan is row-major. A row-major matrix is the
// transpose of the column-major one in the same memory, so D = A·B is computed
// as Dᵀ = Bᵀ·Aᵀ. The bias then runs along the same dimension in both.
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/library/CublasLt.h"

#include <climits>

using namespace frit;
using namespace frit::cuda;
using artifact::Compute;
using artifact::DType;
using artifact::Gemm;

/// Algorithms to query. All but the first serve tuning, and as a fallback if
/// earlier ones fail.
static constexpr int kCandidates = 8;

CublasLt::~CublasLt() {
  if (handle)
    destroy(handle);
}

bool CublasLt::load() {
  if (!library.open(kCublasLt) ||
      !library.find({{create, "cublasLtCreate"},
                     {destroy, "cublasLtDestroy"},
                     {getVersion, "cublasLtGetVersion"},
                     {descCreate, "cublasLtMatmulDescCreate"},
                     {descDestroy, "cublasLtMatmulDescDestroy"},
                     {descSet, "cublasLtMatmulDescSetAttribute"},
                     {layoutCreate, "cublasLtMatrixLayoutCreate"},
                     {layoutDestroy, "cublasLtMatrixLayoutDestroy"},
                     {layoutSet, "cublasLtMatrixLayoutSetAttribute"},
                     {preferenceCreate, "cublasLtMatmulPreferenceCreate"},
                     {preferenceDestroy, "cublasLtMatmulPreferenceDestroy"},
                     {preferenceSet, "cublasLtMatmulPreferenceSetAttribute"},
                     {getHeuristic, "cublasLtMatmulAlgoGetHeuristic"},
                     {algoGet, "cublasLtMatmulAlgoConfigGetAttribute"},
                     {matmul, "cublasLtMatmul"}}))
    return false;
  version = getVersion();
  return true;
}

bool CublasLt::open() {
  if (create(&handle) == 0)
    return true;
  handle = nullptr;
  return false;
}

namespace {
/// Descriptors and algorithms for one gemm.
class GemmCall final : public ListedCall<LtHeuristic> {
public:
  GemmCall(CublasLt &lt, const Gemm &problem) : lt(lt), problem(problem) {}
  ~GemmCall() override;

  bool open(std::span<const uint32_t> alignments);
  bool enqueue(std::span<const DevicePointer> arguments,
               Stream stream) override;
  std::string name() const override;

private:
  uint32_t numberOf(const LtHeuristic &candidate) const override;
  bool describe();
  bool makeLayout(LtLayout &layout, int type, int64_t rows, int64_t columns,
                  int64_t ld, int64_t stride);
  bool findAlgorithms(std::span<const uint32_t> alignments);

  /// Return positions in the step's arguments.
  unsigned residualIndex() const { return 2 + (problem.hasBias ? 1 : 0); }
  unsigned resultIndex() const {
    return residualIndex() + (problem.hasResidual ? 1 : 0);
  }

  CublasLt &lt;
  const Gemm &problem;
  LtMatmulDesc desc = nullptr;
  LtLayout layoutA = nullptr, layoutB = nullptr, layoutD = nullptr;
};
} // namespace

/// Returns the cudaDataType of `type`; -1 if cuBLASLt does not multiply it.
static int ltTypeOf(DType type) {
  switch (type) {
  case DType::f32:
    return kLtR32F;
  case DType::f64:
    return kLtR64F;
  case DType::f16:
    return kLtR16F;
  case DType::bf16:
    return kLtR16BF;
  case DType::i8:
    return kLtR8I;
  case DType::i32:
    return kLtR32I;
  default:
    return -1;
  }
}

std::unique_ptr<LibraryCall>
CublasLt::prepare(const Gemm &problem, std::span<const uint32_t> alignments) {
  auto call = std::make_unique<GemmCall>(*this, problem);
  if (!call->open(alignments))
    return nullptr;
  return call;
}

GemmCall::~GemmCall() {
  for (LtLayout layout : {layoutA, layoutB, layoutD})
    if (layout)
      lt.layoutDestroy(layout);
  if (desc)
    lt.descDestroy(desc);
}

bool GemmCall::open(std::span<const uint32_t> alignments) {
  if (ltTypeOf(problem.typeA) < 0 || ltTypeOf(problem.typeD) < 0 ||
      problem.typeA != problem.typeB || problem.batch > INT_MAX)
    return false;
  return describe() && findAlgorithms(alignments);
}

bool GemmCall::makeLayout(LtLayout &layout, int type, int64_t rows,
                          int64_t columns, int64_t ld, int64_t stride) {
  if (lt.layoutCreate(&layout, type, uint64_t(rows), uint64_t(columns), ld))
    return false;
  int32_t batch = int32_t(problem.batch);
  return batch == 1 ||
         (lt.layoutSet(layout, kLtBatchCount, &batch, sizeof batch) == 0 &&
          lt.layoutSet(layout, kLtBatchStride, &stride, sizeof stride) == 0);
}

bool GemmCall::describe() {
  int compute = 0, scale = kLtR32F;
  switch (problem.compute) {
  case Compute::f32:
  case Compute::f16:
    compute = kLt32F;
    break;
  case Compute::tf32:
    compute = kLt32FFastTf32;
    break;
  case Compute::f64:
    compute = kLt64F;
    scale = kLtR64F;
    break;
  case Compute::i32:
    compute = kLt32I;
    scale = kLtR32I;
    break;
  }
  uint32_t epilogue = problem.hasBias ? kLtAddBias : 0u;
  switch (problem.activation) {
  case Activation::none:
    epilogue = problem.hasBias ? kLtAddBias : kLtDefault;
    break;
  case Activation::relu:
    epilogue |= kLtRelu;
    break;
  case Activation::geluTanh: // the library's GELU is the tanh form
    epilogue |= kLtGelu;
    break;
  default:
    return false;
  }

  int32_t transA = problem.transposeB ? 1 : 0;
  int32_t transB = problem.transposeA ? 1 : 0;
  if (lt.descCreate(&desc, compute, scale) ||
      lt.descSet(desc, kLtTransA, &transA, sizeof transA) ||
      lt.descSet(desc, kLtTransB, &transB, sizeof transB) ||
      lt.descSet(desc, kLtEpilogue, &epilogue, sizeof epilogue))
    return false;

  // The library's first operand is B, its second A (see above).
  const Gemm &p = problem;
  return makeLayout(layoutA, ltTypeOf(p.typeB), p.transposeB ? p.k : p.n,
                    p.transposeB ? p.n : p.k, p.ldb, p.strideB) &&
         makeLayout(layoutB, ltTypeOf(p.typeA), p.transposeA ? p.m : p.k,
                    p.transposeA ? p.k : p.m, p.lda, p.strideA) &&
         makeLayout(layoutD, ltTypeOf(p.typeD), p.n, p.m, p.ldd, p.strideD);
}

bool GemmCall::findAlgorithms(std::span<const uint32_t> alignments) {
  LtPreference preference = nullptr;
  if (lt.preferenceCreate(&preference))
    return false;
  uint64_t workspace = problem.workspaceBytes;
  uint32_t result = alignments[resultIndex()];
  uint32_t residual =
      problem.hasResidual ? alignments[residualIndex()] : result;
  // The heuristic derives the bias's alignment from the pointer's value.
  const void *bias = reinterpret_cast<const void *>(
      uintptr_t(problem.hasBias ? alignments[2] : 0));
  bool described =
      !lt.preferenceSet(preference, kLtMaxWorkspace, &workspace,
                        sizeof workspace) &&
      !lt.preferenceSet(preference, kLtAlignA, &alignments[1], 4) &&
      !lt.preferenceSet(preference, kLtAlignB, &alignments[0], 4) &&
      !lt.preferenceSet(preference, kLtAlignC, &residual, 4) &&
      !lt.preferenceSet(preference, kLtAlignD, &result, 4) &&
      (!bias || !lt.descSet(desc, kLtBias, &bias, sizeof bias));
  LtHeuristic found[kCandidates];
  int count = 0;
  if (described &&
      lt.getHeuristic(lt.handle, desc, layoutA, layoutB, layoutD, layoutD,
                      preference, kCandidates, found, &count) == 0)
    for (const LtHeuristic &candidate : std::span(found, size_t(count)))
      if (candidate.state == 0 && candidate.workspaceSize <= workspace)
        candidates.push_back(candidate);
  lt.preferenceDestroy(preference);
  prefer(problem.algorithm);
  return !candidates.empty();
}

/// Returns an FNV-1a hash of the algorithm's attributes. It is the same on
/// every machine and version that offers the algorithm, unlike its opaque 64
/// bytes.
uint32_t GemmCall::numberOf(const LtHeuristic &candidate) const {
  uint32_t hash = 2166136261u;
  for (int attribute = kLtAlgoId; attribute <= kLtAlgoCluster; ++attribute) {
    bool isShort =
        attribute == kLtAlgoInnerShape || attribute == kLtAlgoCluster;
    uint32_t value = 0;
    if (lt.algoGet(&candidate.algo, attribute, &value, isShort ? 2 : 4,
                   nullptr))
      value = 0;
    hash = (hash ^ value) * 16777619u;
  }
  return hash ? hash : 1;
}

bool GemmCall::enqueue(std::span<const DevicePointer> arguments,
                       Stream stream) {
  if (problem.hasBias) {
    const void *bias = pointer(arguments[2]);
    if (lt.descSet(desc, kLtBias, &bias, sizeof bias))
      return false;
  }
  // Large enough for every scale type; zero has zero bits in all of them.
  union Scale {
    float single;
    double wide;
    int32_t whole;
  };
  Scale one = {}, beta = {};
  if (problem.compute == Compute::f64)
    one.wide = 1;
  else if (problem.compute == Compute::i32)
    one.whole = 1;
  else
    one.single = 1;
  if (problem.hasResidual)
    beta = one;
  void *result = pointer(arguments[resultIndex()]);
  const void *residual =
      problem.hasResidual ? pointer(arguments[residualIndex()]) : result;
  void *workspace = arguments.size() > resultIndex() + 1
                        ? pointer(arguments[resultIndex() + 1])
                        : nullptr;
  return lt.matmul(lt.handle, desc, &one, pointer(arguments[1]), layoutA,
                   pointer(arguments[0]), layoutB, &beta, residual, layoutD,
                   result, layoutD, &used().algo, workspace,
                   workspace ? problem.workspaceBytes : 0, stream) == 0;
}

std::string GemmCall::name() const {
  int32_t id = -1;
  lt.algoGet(&used().algo, kLtAlgoId, &id, sizeof id, nullptr);
  return format("cuBLASLt %s algorithm %d", versionText(lt.version).c_str(),
                id);
}
