//===- SparseRows.cpp - Products of a few rows by sparse matrices ---------===//

#include "codegen/cuda/contraction/Wgmma.h"
#include "codegen/cuda/rows/FewRows.h"
#include "codegen/cuda/sparse/SparseProducts.h"
#include "dialects/nn/rewrites/CompressWeights.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

/// Warps of a block that share k, per SM whose copies hide the latency of
/// memory, and of a block that need not share k.
static constexpr int64_t kMostSharing = 16, kReadingSparse = 28,
                         kWholeWarps = 8;
/// Parts of k of a warp in shared memory, and tiles of a warp.
static constexpr int64_t kMostSparseStages = 4, kMostSparseTiles = 4;
/// A product of many rows is sparse if it is estimated to take at most this
/// part of the dense one's time, since estimates are not exact.
static constexpr double kSparseMargin = 0.95;

static int64_t countSparse(const nn::GemmInfo &info) {
  return info.pairedB ? 2 : 1;
}

/// Returns why a product of numbers or codes is no faster by a sparse matrix.
static nn::Legality checkCompression(nn::MatmulOp product,
                                     const Machine &machine) {
  auto info = describeWithNorm(product);
  if (!info)
    return info.mismatch();
  if (nn::Legality why = checkSparseRows(*info, machine)) {
    if (checkWgmmaSparse(*info, machine))
      return why;
    // Codes would become numbers first.
    auto dense = rankWgmmaTiles(workOf(*info, 2), machine.arch, /*most=*/1);
    if (!dense.empty() && wgmmaSparseMicroseconds(*info, machine) >
                              kSparseMargin * dense.front().microseconds)
      return nn::Mismatch("WGMMA takes as long by the dense matrix");
  }
  auto codes = product.getB().getDefiningOp<nn::DequantizeOp>();
  if (!codes)
    return std::nullopt;
  nn::QuantizedMatrix matrix = nn::describeQuantized(codes);
  if (codes.getTiled() || !info->transposeB || matrix.offsets ||
      matrix.block != info->k ||
      (matrix.code != nn::Code::int8 && matrix.code != nn::Code::e4m3))
    return nn::Mismatch("its codes are no int8 or fp8 with a scale for each "
                        "row");
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Schedules
//===----------------------------------------------------------------------===//

/// Returns the bytes of shared memory of a block, as rowsGemmShared does.
static int64_t sharedOf(const nn::GemmInfo &info, SparseRowsAttr schedule) {
  int64_t warps = schedule.getThreads() / 32;
  int64_t tiles = schedule.getTiles() * countSparse(info);
  int64_t value = sparseOf(info.b)->code ? 1 : 2;
  int64_t tile = nn::kSparseValues * value + nn::kSparsePlaces;
  int64_t rows = info.m + (info.norm ? 1 : 0);
  int64_t stage = tiles * tile + rows * nn::kSparseColumns * 2;
  int64_t sums = ceilDiv(info.m, 8) * 8 *
                 (nn::kTileRows * tiles + 4 + (info.norm ? 1 : 0)) *
                 int64_t(sizeof(float));
  return warps * std::max(schedule.getStages() * stage, sums);
}

static SparseRowsAttr chooseSparse(const nn::GemmInfo &info,
                                   const Machine &machine) {
  int64_t sms = machine.arch.sms, groups = ceilDiv(info.n, nn::kTileRows);
  int64_t chunks = info.k / nn::kSparseColumns, split = 1;
  while (split < kMostSharing && 2 * split <= chunks &&
         groups * split < kReadingSparse * sms)
    split *= 2;
  int64_t parts = ceilDiv(chunks, split);
  // As in rows_gemm: copies begin before the kernel waits for A, and leave room
  // for another block.
  int64_t room = machine.arch.sharedPerBlock / (split > 1 ? 2 : 1);
  int64_t stages =
      llvm::bit_floor(uint64_t(std::min(parts, kMostSparseStages)));
  while (true) {
    auto chosen = SparseRowsAttr::get(info.a.getContext(), /*tiles=*/1, stages,
                                      split, std::max(split, kWholeWarps) * 32);
    if (sharedOf(info, chosen) <= room || split * stages == 1)
      return chosen;
    int64_t &less = stages > 1 ? stages : split;
    less /= 2;
  }
}

LogicalResult
SparseRowsAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                       int64_t tiles, int64_t stages, int64_t split,
                       int64_t threads) {
  if (failed(requireBlock(emitError, threads)) ||
      failed(require(emitError,
                     isPowerOf2UpTo(split, threads / 32) &&
                         threads / 32 % split == 0,
                     "split", "a power of 2 that divides the warps")) ||
      failed(require(emitError, isPowerOf2UpTo(tiles, kMostSparseTiles),
                     "tiles", "1, 2 or 4")))
    return failure();
  return require(emitError, isPowerOf2UpTo(stages, 16), "stages",
                 "a power of 2 up to 16");
}

//===----------------------------------------------------------------------===//
// The skeleton
//===----------------------------------------------------------------------===//

namespace {
class SparseRows : public SkeletonOf<SparseRowsAttr, nn::GemmInfo> {
  double compileMilliseconds() const override { return 80; }

  nn::Legality offer(Problem &problem, const Machine &machine,
                     Offers &offers) const override {
    if (problem.kind() != Problem::Kind::contraction)
      return std::nullopt;
    if (auto info = describeSparse(problem, machine, checkSparseRows))
      offers.add(chooseSparse(*info, machine));
    return std::nullopt;
  }

  void populateRewrites(nn::TargetRewrites &rewrites,
                        const Machine &machine) const override {
    rewrites.add(nn::CompressWeightsRewrite{[&machine](nn::MatmulOp product) {
      return checkCompression(product, machine);
    }});
  }

  bool canFuseCodes(nn::MatmulOp product,
                    const Machine &machine) const override {
    return takesSparse(nn::describeSparseMatmul(product), machine,
                       checkSparseRows);
  }

  bool canFuseNorm(nn::MatmulOp product,
                   const Machine &machine) const override {
    auto info = describeWithNorm(product);
    return info && info->norm && takesSparse(info, machine, checkSparseRows);
  }

  bool canFusePair(ArrayRef<Operation *> operators,
                   const Machine &machine) const override {
    auto info = nn::describePair(operators);
    if (!takesSparse(info, machine, checkSparseRows))
      return false;
    auto first = sparseOf(info->b), other = sparseOf(info->pairedB);
    return other && first->code == other->code &&
           first->values.getType() == other->values.getType();
  }

  bool takesChain(const Chain &chain, const Machine &machine) const override {
    auto matmul = dyn_cast<nn::MatmulOp>(chain.contraction());
    if (!matmul || !chain.epilogue)
      return false;
    auto info = describeWithNorm(matmul);
    if (!info)
      return false;
    info->epilogue = *chain.epilogue;
    return takesSparse(info, machine, checkSparseRows);
  }

  /// The time to read the matrix.
  std::optional<nn::StepCost> costOf(Problem &problem, SparseRowsAttr,
                                     const Machine &machine) const override {
    return costOfMemory(problem.fusion(), /*perThread=*/1, machine.arch);
  }

  nn::Match<nn::GemmInfo> fit(Problem &problem, SparseRowsAttr schedule,
                              const Machine &machine) const override {
    auto info = describeSparse(problem, machine, checkSparseRows);
    if (!info)
      return info;
    if (sharedOf(*info, schedule) > machine.arch.sharedPerBlock)
      return nn::Mismatch("its stages do not fit into shared memory");
    if (nn::Legality why = checkFunction(info->epilogue, problem.lowered()))
      return *why;
    return info;
  }
  KernelText print(nn::GemmInfo &info, Problem &problem,
                   SparseRowsAttr schedule, StringRef name) const override {
    KernelText kernel;
    kernel.header = "sparse_tiles";
    kernel.sharedBytes = sharedOf(info, schedule);
    const LinalgFusion &lowered = problem.lowered();
    ProblemText text(lowered, name);
    addSparseProduct(text, info);
    printFewRows(kernel, text, info, lowered, fewRowsScheduleOf(schedule), name,
                 "frit::sparseRows", [&](Value b) -> MatrixText {
                   return {sparseOperand(text, b), isConstantSparse(text, b)};
                 });
    kernel.grid[0] =
        ceilDiv(info.n, nn::kTileRows * schedule.getTiles() *
                            (schedule.getThreads() / 32 / schedule.getSplit()));
    return kernel;
  }
};
} // namespace

template <>
std::unique_ptr<Skeleton> frit::cuda::makeSkeleton<SparseRowsAttr>() {
  return std::make_unique<SparseRows>();
}
