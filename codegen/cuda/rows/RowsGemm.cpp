//===- RowsGemm.cpp - Products of a few rows on the tensor cores ----------===//

#include "codegen/cuda/rows/Codes.h"
#include "codegen/cuda/target/Skeleton.h"
#include "dialects/nn/rewrites/FoldNorms.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

/// Rows of A. Up to kFewestPlainRows, multiply-adds are as fast for numbers.
static constexpr int64_t kMostTiledRows = 16, kFewestPlainRows = 5;
/// Warps of a block that share k, and per SM whose copies hide the latency of
/// memory.
static constexpr int64_t kMostSplit = 16, kCopyingWarps = 28;
/// Parts of k of a warp in shared memory.
static constexpr int64_t kMostParts = 4;
/// Warps of a block that need not share k.
static constexpr int64_t kBlockWarps = 8;
/// Tiles that a warp multiplies by what it has read of A: up to this many, if
/// each SM has so many groups of warps. Codes of 4 bits need more of them, as
/// their parts of k are copied sooner.
static constexpr int64_t kMostTiles = 4, kGroups = 1, kFineGroups = 4;
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

/// Returns whether two matrices of equal shapes differ in their codes alone.
static bool haveSameFormat(nn::DequantizeOp a, nn::DequantizeOp b) {
  return a.getCode() == b.getCode() && a.getTiled() == b.getTiled() &&
         a.getScales().getType() == b.getScales().getType() &&
         bool(a.getOffsets()) == bool(b.getOffsets());
}

/// Returns why rows_gemm.cuh does not compute a product, by numbers or codes.
/// Those that are not yet in tiles `mayTile`.
static nn::Legality checkRows(const nn::GemmInfo &info, bool mayTile = false) {
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
  // In f16 an element times its scale might overflow.
  if (info.norm && !type.isBF16())
    return nn::Mismatch("the rows that it normalizes are no bf16");
  if (auto codes = info.b.getDefiningOp<nn::DequantizeOp>()) {
    nn::QuantizedMatrix matrix = nn::describeQuantized(codes);
    if (!codes.getTiled() && !(mayTile && nn::hasWholeTiles(matrix)))
      return nn::Mismatch("its codes are not in tiles");
    return checkCodes(matrix, type);
  }
  if (info.m < kFewestPlainRows && !info.norm && !info.pairedB)
    return nn::Mismatch("it has too few rows");
  if (info.ldb % 8 || info.k % 8)
    return nn::Mismatch("rows do not begin at multiples of 16 bytes");
  return std::nullopt;
}

/// Returns whether the scale of normalized rows has their type.
static bool hasScaleOfRows(const nn::GemmInfo &info) {
  return elementType(info.norm->scale) == elementType(info.a);
}

/// Returns a product by numbers or codes that rows_gemm.cuh computes.
static nn::Match<nn::GemmInfo> describeRows(Problem &problem) {
  const nn::Match<nn::GemmInfo> &info = problem.preparedGemm();
  if (!info)
    return info.mismatch();
  if (nn::Legality why = checkRows(*info))
    return *why;
  if (info->norm && !hasScaleOfRows(*info))
    return nn::Mismatch("the scale of its rows has another type");
  return *info;
}

static nn::Match<nn::GemmInfo> describeRows(nn::MatmulOp product) {
  auto info = nn::describeMatmul(product);
  return info ? info : nn::describeQuantizedMatmul(product);
}

/// Likewise describes a product with the norm of its operand A, if it is one.
static nn::Match<nn::GemmInfo> describeNormed(nn::MatmulOp product) {
  return nn::describePrepared(product, product.getA().getDefiningOp());
}

/// Returns whether a product's kernel can normalize its operand A, an
/// nn.rms_norm, if the scale has the right type.
static bool mayNormalize(nn::MatmulOp product) {
  auto info = describeNormed(product);
  return info && info->norm && !checkRows(*info, /*mayTile=*/true);
}

/// Returns whether all readers of a norm are products that `takes` accepts.
static bool onlyProductsRead(nn::RmsNormOp norm,
                             llvm::function_ref<bool(nn::MatmulOp)> takes) {
  return llvm::all_of(norm->getUsers(), [&](Operation *user) {
    auto product = dyn_cast<nn::MatmulOp>(user);
    return product && takes(product);
  });
}

static int64_t countMatrices(const nn::GemmInfo &info) {
  return info.pairedB ? 2 : 1;
}

/// Returns the bytes of shared memory of a block, as rowsGemmShared does.
static int64_t sharedBytesOf(const nn::GemmInfo &info, RowsGemmAttr schedule) {
  int64_t warps = schedule.getThreads() / 32;
  int64_t tiles = schedule.getTiles() * countMatrices(info);
  int64_t depth = depthOf(info), tile = nn::kTileRows * depth * 2;
  if (auto codes = codesOf(info)) {
    int64_t scale = nn::tensorType(codes->scales).getElementTypeBitWidth() / 8;
    int64_t scales = (codes->block % depth ? 2 : 1) * nn::kTileRows * scale;
    tile = nn::kTileBytes + scales * (codes->offsets ? 2 : 1);
  }
  int64_t stage = tiles * tile + (info.m + (info.norm ? 1 : 0)) * depth * 2;
  int64_t sums = ceilDiv(info.m, 8) * 8 *
                 (nn::kTileRows * tiles + 4 + (info.norm ? 1 : 0)) *
                 sizeof(float);
  return warps * std::max(schedule.getStages() * stage, sums);
}

static RowsGemmAttr chooseRows(const nn::GemmInfo &info,
                               const Machine &machine) {
  int64_t matrices = countMatrices(info);
  int64_t columnTiles = matrices * ceilDiv(info.n, nn::kTileRows);
  int64_t chunks = ceilDiv(info.k, depthOf(info)), sms = machine.arch.sms;
  auto codes = codesOf(info);
  bool isFine = codes && nn::bitsOf(codes->code) < 8;
  // Neighbours share what a warp reads of A, but all SMs need blocks. Numbers
  // take more shared memory than codes.
  int64_t tiles = matrices, most = codes ? kMostTiles : kMostTiles / 2;
  while (tiles < most &&
         columnTiles / (2 * tiles) >= (isFine ? kFineGroups : kGroups) * sms)
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
  // Copies of B begin before the kernel waits for A: as many as leave room for
  // another block, which may be one of the next kernel. A long kernel hides
  // the latency by itself.
  int64_t room = machine.arch.sharedPerBlock / (split > 1 ? 2 : 1);
  int64_t stages = llvm::bit_floor(uint64_t(std::min(parts, kMostParts)));
  while (true) {
    auto chosen =
        RowsGemmAttr::get(info.a.getContext(), tiles / matrices, stages, split,
                          std::max(split, kBlockWarps) * 32);
    if (sharedBytesOf(info, chosen) <= room ||
        split * stages * tiles == matrices)
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

  void populateRewrites(nn::TargetRewrites &rewrites,
                        const Machine &machine) const override {
    rewrites.add(nn::FoldScalesRewrite{[](nn::RmsNormOp norm) {
      return onlyProductsRead(norm, mayNormalize);
    }});
  }

  bool keepsWhole(nn::CompositeOp composite,
                  const Machine &machine) const override {
    auto norm = dyn_cast<nn::RmsNormOp>(*composite);
    return norm && onlyProductsRead(norm, [&](nn::MatmulOp product) {
             return takesNorm(product, machine);
           });
  }

  bool takesNorm(nn::MatmulOp product, const Machine &machine) const override {
    return mayNormalize(product) && hasScaleOfRows(*describeNormed(product));
  }

  bool takesPair(ArrayRef<Operation *> operators,
                 const Machine &machine) const override {
    auto info = nn::describePair(operators);
    if (!info || checkRows(*info))
      return false;
    auto first = info->b.getDefiningOp<nn::DequantizeOp>(),
         other = info->pairedB.getDefiningOp<nn::DequantizeOp>();
    return bool(first) == bool(other) &&
           (!first || haveSameFormat(first, other));
  }

  bool takesChain(const Chain &chain, const Machine &machine) const override {
    auto matmul = dyn_cast<nn::MatmulOp>(chain.contraction());
    if (!matmul || !chain.epilogue)
      return false;
    auto info = takesNorm(matmul, machine) ? describeNormed(matmul)
                                           : describeRows(matmul);
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
    if (auto codes = codesOf(info))
      addCodes(text, *codes);
    else
      text.addConstants("int64_t", {{"ldb", info.ldb}});
    if (info.norm)
      text.addField(llvm::formatv("static constexpr float epsilon = {0:e9};",
                                  info.norm->epsilon)
                        .str());
    if (info.pairedB)
      text.addConstants("bool", {{"isPair", 1}});
    std::string matrices;
    bool early = true;
    for (Value b : {info.b, info.pairedB}) {
      if (!b)
        continue;
      Value read = b;
      std::string operand;
      if (auto codes = b.getDefiningOp<nn::DequantizeOp>()) {
        nn::QuantizedMatrix matrix = nn::describeQuantized(codes);
        read = matrix.codes;
        operand = "{" + text.parameter(matrix.codes) + ", " +
                  text.parameter(matrix.scales) + ", " +
                  text.parameter(matrix.offsets) + "}";
      } else {
        operand = text.parameter(b);
      }
      early &= text.isConstant(read);
      matrices += (matrices.empty() ? "{" : ", ") + operand;
    }
    matrices += "}";
    text.addFunction(info.epilogue);
    text.addConstants("int", {{"tiles", schedule.getTiles()},
                              {"stages", schedule.getStages()},
                              {"split", schedule.getSplit()},
                              {"threads", schedule.getThreads()},
                              {"sharedBytes", kernel.sharedBytes}});
    text.addConstants("bool", {{"early", early}});
    std::string call =
        "frit::rowsGemm<" + text.problem() + ">(" + text.parameter(info.a) +
        ", " + text.parameter(info.norm ? info.norm->scale : Value()) + ", " +
        matrices + ", " + text.parameter(info.epilogue.bias()) + ", " +
        text.parameter(info.pairedB ? Value() : info.epilogue.residual()) +
        ", y0);\n";
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
