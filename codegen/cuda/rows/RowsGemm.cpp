//===- RowsGemm.cpp - Products of a few rows on the tensor cores ----------===//

#include "codegen/cuda/rows/Codes.h"
#include "codegen/cuda/target/Skeleton.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

/// Rows of A. Up to kFewestPlainRows, multiply-adds are as fast for numbers.
static constexpr int64_t kMostTiledRows = 16, kFewestPlainRows = 5;
/// Warps of a block that share k, and per SM whose copies hide the latency of
/// memory.
static constexpr int64_t kMostSplit = 16, kCopyingWarps = 14;
/// Warps of a block that need not share k.
static constexpr int64_t kBlockWarps = 8;
/// Tiles that a warp multiplies by what it has read of A.
static constexpr int64_t kMostTiles = 4;
/// Elements of a row of numbers in a tile: kDepth of plain_tiles.cuh.
static constexpr int64_t kPlainDepth = 64;

static std::optional<nn::QuantizedMatrix> codesOf(const nn::GemmInfo &info) {
  auto codes = info.b.getDefiningOp<nn::DequantizeOp>();
  if (!codes)
    return std::nullopt;
  return nn::describeQuantized(codes);
}

/// Returns the elements of a row of B in a tile.
static int64_t depthOf(const nn::GemmInfo &info) {
  auto codes = codesOf(info);
  return codes ? nn::kTileRowBytes * 8 / nn::bitsOf(codes->code) : kPlainDepth;
}

/// Returns why rows_gemm.cuh does not compute a product, by numbers or codes.
static nn::Legality checkRows(const nn::GemmInfo &info) {
  if (info.m > kMostTiledRows || info.batch != 1)
    return nn::Mismatch("it has many rows or several matrices");
  if (info.transposeA || !info.transposeB)
    return nn::Mismatch("it reads its operands across rows");
  if (info.epilogue.isExtended())
    return nn::Mismatch("a kernel of a few rows stores no statistics");
  Type type = elementType(info.a);
  if (!isHalf(type) || elementType(info.b) != type)
    return nn::Mismatch("its elements are no 16-bit numbers of one type");
  if (info.lda % 8)
    return nn::Mismatch("rows do not begin at multiples of 16 bytes");
  if (auto codes = info.b.getDefiningOp<nn::DequantizeOp>()) {
    if (!codes.getTiled())
      return nn::Mismatch("its codes are not in tiles");
    return checkCodes(nn::describeQuantized(codes), type);
  }
  if (info.m < kFewestPlainRows)
    return nn::Mismatch("it has too few rows");
  if (info.ldb % 8 || info.k % 8)
    return nn::Mismatch("rows do not begin at multiples of 16 bytes");
  return std::nullopt;
}

/// Returns a product by numbers or codes that rows_gemm.cuh computes.
static nn::Match<nn::GemmInfo> describeRows(Problem &problem) {
  const nn::Match<nn::GemmInfo> &info =
      problem.gemm() ? problem.gemm() : problem.quantizedGemm();
  if (!info)
    return info.mismatch();
  if (nn::Legality why = checkRows(*info))
    return *why;
  return *info;
}

static nn::Match<nn::GemmInfo> describeRows(nn::MatmulOp product) {
  auto info = nn::describeMatmul(product);
  return info ? info : nn::describeQuantizedMatmul(product);
}

/// Returns the bytes of shared memory of a block, as rowsGemmShared does.
static int64_t sharedBytesOf(const nn::GemmInfo &info, RowsGemmAttr schedule) {
  int64_t warps = schedule.getThreads() / 32, tiles = schedule.getTiles();
  int64_t depth = depthOf(info), tile = nn::kTileRows * depth * 2;
  if (auto codes = codesOf(info)) {
    int64_t scale = nn::tensorType(codes->scales).getElementTypeBitWidth() / 8;
    int64_t scales = (codes->block % depth ? 2 : 1) * nn::kTileRows * scale;
    tile = nn::kTileBytes + scales * (codes->offsets ? 2 : 1);
  }
  int64_t stage = tiles * tile + info.m * depth * 2;
  int64_t sums =
      ceilDiv(info.m, 8) * 8 * (nn::kTileRows * tiles + 4) * sizeof(float);
  return warps * std::max(schedule.getStages() * stage, sums);
}

static RowsGemmAttr chooseRows(const nn::GemmInfo &info,
                               const Machine &machine) {
  int64_t columnTiles = ceilDiv(info.n, nn::kTileRows);
  int64_t chunks = ceilDiv(info.k, depthOf(info)), sms = machine.arch.sms;
  // Neighbours share what a warp reads of A, but all SMs need blocks. Numbers
  // take more shared memory than codes.
  int64_t tiles = 1, most = codesOf(info) ? kMostTiles : kMostTiles / 2;
  while (tiles < most && columnTiles / (2 * tiles) >= sms)
    tiles *= 2;
  // The order of sums, which `split` decides, is the same for any rows.
  int64_t split = 1, groups = ceilDiv(columnTiles, tiles);
  while (split < kMostSplit && 2 * split <= chunks &&
         groups * split < kCopyingWarps * sms)
    split *= 2;
  // Sums of more than 8 rows take twice the registers.
  if (info.m > 8 && tiles == kMostTiles)
    tiles /= 2;
  int64_t parts = ceilDiv(chunks, split);
  int64_t stages = parts >= 8 ? 4 : std::min<int64_t>(parts, 2);
  while (true) {
    auto chosen = RowsGemmAttr::get(info.a.getContext(), tiles, stages, split,
                                    std::max(split, kBlockWarps) * 32);
    if (sharedBytesOf(info, chosen) <= machine.arch.sharedPerBlock ||
        split * stages * tiles == 1)
      return chosen;
    int64_t &less = stages > 1 ? stages : split > 1 ? split : tiles;
    less /= 2;
  }
}

LogicalResult
RowsGemmAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                     int64_t tiles, int64_t stages, int64_t split,
                     int64_t threads) {
  if (failed(requireBlock(emitError, threads)) ||
      failed(require(emitError,
                     isPowerOf2UpTo(split, threads / 32) &&
                         threads / 32 % split == 0,
                     "split", "a power of 2 that divides the warps")) ||
      failed(require(emitError, isPowerOf2UpTo(tiles, kMostTiles), "tiles",
                     "1, 2 or 4")))
    return failure();
  return require(emitError, isPowerOf2UpTo(stages, 16), "stages",
                 "a power of 2 up to 16");
}

namespace {
class RowsGemm : public SkeletonOf<RowsGemmAttr, nn::GemmInfo> {
  double compileMilliseconds() const override { return 80; }

  nn::Legality offer(Problem &problem, const Machine &machine,
                     Offers &offers) const override {
    if (problem.kind() != Problem::Kind::contraction)
      return std::nullopt;
    if (auto info = describeRows(problem))
      offers.add(chooseRows(*info, machine));
    return std::nullopt;
  }

  bool takesCodes(nn::MatmulOp product, const Machine &machine) const override {
    auto info = nn::describeQuantizedMatmul(product);
    return info && !checkRows(*info);
  }

  bool takesChain(const Chain &chain, const Machine &machine) const override {
    auto matmul = dyn_cast<nn::MatmulOp>(chain.contraction());
    if (!matmul || !chain.epilogue)
      return false;
    auto info = describeRows(matmul);
    if (!info)
      return false;
    info->epilogue = *chain.epilogue;
    return !checkRows(*info);
  }

  /// The time to read the matrix.
  std::optional<nn::StepCost> costOf(Problem &problem, RowsGemmAttr,
                                     const Machine &machine) const override {
    return costOfMemory(problem.fusion(), /*perThread=*/1, machine.arch);
  }

  nn::Match<nn::GemmInfo> fit(Problem &problem, RowsGemmAttr schedule,
                              const Machine &machine) const override {
    nn::Match<nn::GemmInfo> info = describeRows(problem);
    if (!info)
      return info;
    if (sharedBytesOf(*info, schedule) > machine.arch.sharedPerBlock)
      return nn::Mismatch("its stages do not fit into shared memory");
    if (nn::Legality why = checkFunction(info->epilogue, problem.lowered()))
      return *why;
    return info;
  }
  KernelText print(nn::GemmInfo &info, Problem &problem, RowsGemmAttr schedule,
                   StringRef name) const override {
    KernelText kernel;
    kernel.header = "rows_gemm";
    kernel.sharedBytes = sharedBytesOf(info, schedule);
    const LinalgFusion &lowered = problem.lowered();
    ProblemText text(lowered, name);
    text.addType("A", info.a);
    text.addType("D", nullptr);
    text.addType("Bias", info.epilogue.bias());
    text.addConstants("int64_t", {{"m", info.m}, {"n", info.n}, {"k", info.k}});
    text.addConstants("int64_t", {{"lda", info.lda}, {"ldd", info.ldd}});
    std::string b;
    Value early;
    if (auto codes = codesOf(info)) {
      addCodes(text, *codes);
      b = "{" + text.parameter(codes->codes) + ", " +
          text.parameter(codes->scales) + ", " +
          text.parameter(codes->offsets) + "}";
      early = codes->codes;
    } else {
      text.addConstants("int64_t", {{"ldb", info.ldb}});
      b = text.parameter(info.b);
      early = info.b;
    }
    text.addFunction(info.epilogue);
    text.addConstants("int", {{"tiles", schedule.getTiles()},
                              {"stages", schedule.getStages()},
                              {"split", schedule.getSplit()},
                              {"threads", schedule.getThreads()},
                              {"sharedBytes", kernel.sharedBytes}});
    text.addConstants("bool", {{"early", text.isConstant(early)}});
    std::string call = "frit::rowsGemm<" + text.problem() + ">(" +
                       text.parameter(info.a) + ", " + b + ", " +
                       text.parameter(info.epilogue.bias()) + ", " +
                       text.parameter(info.epilogue.residual()) + ", y0);\n";
    KernelFrame frame = {.threads = schedule.getThreads(),
                         .wait = PdlWait::inSkeleton};
    kernel.source =
        text.definition() +
        kernelFunction(name, lowered, frame, startText(lowered) + call);
    kernel.grid[0] =
        ceilDiv(info.n, nn::kTileRows * schedule.getTiles() *
                            (schedule.getThreads() / 32 / schedule.getSplit()));
    kernel.block[0] = schedule.getThreads();
    return kernel;
  }
};
} // namespace

template <> std::unique_ptr<Skeleton> frit::cuda::makeSkeleton<RowsGemmAttr>() {
  return std::make_unique<RowsGemm>();
}
