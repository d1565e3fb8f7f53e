//===- RowsGemm.cpp - Products of a few rows on the tensor cores ----------===//

#include "codegen/cuda/rows/FewRows.h"
#include "codegen/cuda/rows/RowsSchedule.h"
#include "codegen/cuda/target/Skeleton.h"
#include "dialects/nn/rewrites/FoldNorms.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

/// Rows of A from which on multiply-adds are slower for numbers.
static constexpr int64_t kFewestPlainRows = 5;

/// Returns whether two matrices of equal shapes differ in their codes alone.
static bool haveSameFormat(nn::DequantizeOp a, nn::DequantizeOp b) {
  return a.getCode() == b.getCode() && a.getTiled() == b.getTiled() &&
         a.getScales().getType() == b.getScales().getType() &&
         bool(a.getOffsets()) == bool(b.getOffsets());
}

/// Returns why no kernel of few rows computes a product by numbers or codes.
/// With `mayTile`, codes count that can still be put into tiles. A machine that
/// is batch-invariant computes products of any number of rows.
static nn::Legality checkRows(const nn::GemmInfo &info, const Machine &machine,
                              bool mayTile = false) {
  if ((info.m > kMostTiledRows && !machine.batchInvariant) || info.batch != 1)
    return nn::Mismatch("it has many rows or several matrices");
  if (info.transposeA || !info.transposeB)
    return nn::Mismatch("it reads its operands across rows");
  if (info.epilogue.isExtended())
    return nn::Mismatch("a kernel of a few rows stores no statistics");
  for (Value matrix : {info.b, info.pairedB})
    if (matrix && matrix.getDefiningOp<nn::DecompressOp>())
      return nn::Mismatch("its matrix is sparse");
  Type type = elementType(info.a);
  if (!isHalf(type) || elementType(info.b) != type)
    return nn::Mismatch("its elements are no 16-bit numbers of one type");
  if (info.lda % 8)
    return nn::Mismatch("rows do not begin at multiples of 16 bytes");
  // In f16 an element times its scale might overflow. For codes it is in f32.
  if (info.norm && !type.isBF16() && !codesOf(info))
    return nn::Mismatch("the rows that it normalizes are no bf16");
  if (auto codes = info.b.getDefiningOp<nn::DequantizeOp>()) {
    nn::QuantizedMatrix matrix = nn::describeQuantized(codes);
    if (!codes.getTiled() && !(mayTile && nn::hasWholeTiles(matrix)))
      return nn::Mismatch("its codes are not in tiles");
    return checkCodes(matrix, type);
  }
  if (info.m < kFewestPlainRows && !info.norm && !info.pairedB &&
      !machine.batchInvariant)
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
static nn::Match<nn::GemmInfo> describeRows(Problem &problem,
                                            const Machine &machine) {
  const nn::Match<nn::GemmInfo> &info = problem.preparedGemm();
  if (!info)
    return info.mismatch();
  if (nn::Legality why = checkRows(*info, machine))
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
static bool mayNormalize(nn::MatmulOp product, const Machine &machine) {
  auto info = describeNormed(product);
  return info && info->norm && !checkRows(*info, machine, /*mayTile=*/true);
}

/// Returns whether all readers of a norm are products that `takes` accepts.
static bool onlyProductsRead(nn::RmsNormOp norm,
                             llvm::function_ref<bool(nn::MatmulOp)> takes) {
  return llvm::all_of(norm->getUsers(), [&](Operation *user) {
    auto product = dyn_cast<nn::MatmulOp>(user);
    return product && takes(product);
  });
}

namespace {
class RowsGemm : public SkeletonOf<RowsGemmAttr, nn::GemmInfo> {
  double compileMilliseconds() const override { return 80; }

  nn::Legality offer(Problem &problem, const Machine &machine,
                     Offers &offers) const override {
    if (problem.kind() != Problem::Kind::contraction)
      return std::nullopt;
    if (auto info = describeRows(problem, machine))
      offers.add(chooseRows(*info, machine));
    return std::nullopt;
  }

  bool canFuseCodes(nn::MatmulOp product,
                    const Machine &machine) const override {
    auto info = nn::describeQuantizedMatmul(product);
    return info && !checkRows(*info, machine);
  }

  void populateRewrites(nn::TargetRewrites &rewrites,
                        const Machine &machine) const override {
    rewrites.add(nn::FoldScalesRewrite{[&machine](nn::RmsNormOp norm) {
      return onlyProductsRead(norm, [&](nn::MatmulOp product) {
        return mayNormalize(product, machine);
      });
    }});
  }

  bool keepsWhole(nn::CompositeOp composite,
                  const Machine &machine) const override {
    auto norm = dyn_cast<nn::RmsNormOp>(*composite);
    return norm && onlyProductsRead(norm, [&](nn::MatmulOp product) {
             return canFuseNorm(product, machine);
           });
  }

  bool canFuseNorm(nn::MatmulOp product,
                   const Machine &machine) const override {
    return mayNormalize(product, machine) &&
           hasScaleOfRows(*describeNormed(product));
  }

  bool canFusePair(ArrayRef<Operation *> operators,
                   const Machine &machine) const override {
    auto info = nn::describePair(operators);
    if (!info || checkRows(*info, machine))
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
    auto info = canFuseNorm(matmul, machine) ? describeNormed(matmul)
                                             : describeRows(matmul);
    if (!info)
      return false;
    info->epilogue = *chain.epilogue;
    return !checkRows(*info, machine);
  }

  /// The time to read the matrix.
  std::optional<nn::StepCost> costOf(Problem &problem, RowsGemmAttr,
                                     const Machine &machine) const override {
    return costOfMemory(problem.fusion(), /*perThread=*/1, machine.arch);
  }

  nn::Match<nn::GemmInfo> fit(Problem &problem, RowsGemmAttr schedule,
                              const Machine &machine) const override {
    nn::Match<nn::GemmInfo> info = describeRows(problem, machine);
    if (!info)
      return info;
    if (sharedBytesOf(*info, schedule) > machine.arch.sharedPerBlock)
      return nn::Mismatch("its stages do not fit into shared memory");
    if (!fitsShares(*info, schedule))
      return nn::Mismatch(codesOf(*info)
                              ? "its warps' shares of k do not consist of the "
                                "tiles that are copied together"
                              : "products of numbers have neither rounds nor "
                                "tiles that are copied together");
    if (schedule.getWidens() &&
        !(codesOf(*info) && elementType(info->a).isBF16()))
      return nn::Mismatch("only codes that meet rows of bf16 become numbers");
    if (schedule.getSharing() > 1 && machine.arch.mma != Mma::wgmma)
      return nn::Mismatch("the target has no clusters");
    if (schedule.getSharing() > 1 && !canShareRows(*info, schedule))
      return nn::Mismatch("only rows that are copied as they are, in equal "
                          "parts, are shared, by a multiple of the blocks");
    if (nn::Legality why = checkFunction(info->epilogue, problem.lowered()))
      return *why;
    return info;
  }
  KernelText print(nn::GemmInfo &info, Problem &problem, RowsGemmAttr schedule,
                   StringRef name) const override {
    KernelText kernel;
    auto codes = codesOf(info);
    kernel.header = codes ? "code_rows" : "rows_gemm";
    kernel.sharedBytes = sharedBytesOf(info, schedule);
    const LinalgFusion &lowered = problem.lowered();
    ProblemText text(lowered, name);
    text.addType("A", info.a);
    text.addType("D", nullptr);
    text.addType("Bias", info.epilogue.bias());
    text.addConstants("int64_t", {{"m", info.m}, {"n", info.n}, {"k", info.k}});
    text.addConstants("int64_t", {{"lda", info.lda}, {"ldd", info.ldd}});
    int64_t rows = rowsOfBlock(info, schedule);
    if (rows < info.m)
      text.addConstants("int", {{"rows", rows}});
    if (schedule.getRounds() > 1)
      text.addConstants("int", {{"rounds", schedule.getRounds()}});
    if (schedule.getTogether() > 1)
      text.addConstants("int", {{"together", schedule.getTogether()}});
    if (schedule.getWidens())
      text.addConstants("bool", {{"widens", 1}});
    if (schedule.getSums() != kMostSums)
      text.addConstants("int", {{"sums", schedule.getSums()}});
    if (schedule.getSharing() > 1)
      text.addConstants("int", {{"sharing", schedule.getSharing()}});
    if (codes)
      addCodes(text, *codes);
    else
      text.addConstants("int64_t", {{"ldb", info.ldb}});
    FewRowsSchedule few = fewRowsScheduleOf(schedule);
    few.cluster = schedule.getSharing();
    // An SM has one block of many warps. Left to itself, the compiler saves
    // registers for more blocks, and products wait for each other.
    if (codes && codes->code == nn::Code::int4 && info.m > kFewCodeRows)
      few.occupancy = 1;
    printFewRows(kernel, text, info, lowered, few, name,
                 codes ? "frit::codeRows" : "frit::rowsGemm",
                 [&](Value b) -> MatrixText {
                   auto codes = b.getDefiningOp<nn::DequantizeOp>();
                   if (!codes)
                     return {text.parameter(b), text.isConstant(b)};
                   nn::QuantizedMatrix matrix = nn::describeQuantized(codes);
                   return {"{" + text.parameter(matrix.codes) + ", " +
                               text.parameter(matrix.scales) + ", " +
                               text.parameter(matrix.offsets) + "}",
                           text.isConstant(matrix.codes)};
                 });
    kernel.grid[0] = ceilDiv(info.m, rows) * blocksOfRow(info, schedule);
    return kernel;
  }
};
} // namespace

template <> std::unique_ptr<Skeleton> frit::cuda::makeSkeleton<RowsGemmAttr>() {
  return std::make_unique<RowsGemm>();
}
