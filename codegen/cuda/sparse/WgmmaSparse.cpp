//===- WgmmaSparse.cpp - Products of many rows by sparse matrices ---------===//
//
// The skeleton wgmma_sparse: its tensor map and launch as wgmma_sparse.cuh asks
// for them. The same text compiles for architectures without WGMMA, where
// mma.sync takes over.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/sparse/SparseProducts.h"

#include "codegen/cuda/device/wgmma_layout.cuh"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

/// Stages of a block whose rows are 256 and 128.
static constexpr int64_t kWideStages = 6, kNarrowStages = 8;

static WgmmaSparseLayout sparseLayoutOf(WgmmaSparseAttr schedule) {
  return {schedule.getTileN(), schedule.getStages()};
}

LogicalResult
WgmmaSparseAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                        int64_t tileN, int64_t stages) {
  if (failed(require(emitError, tileN == 128 || tileN == 256, "tile_n",
                     "128 or 256")))
    return failure();
  return require(emitError, stages >= 2 && stages <= 16, "stages",
                 "from 2 to 16");
}

namespace {
class WgmmaSparse : public SkeletonOf<WgmmaSparseAttr, nn::GemmInfo> {
  double compileMilliseconds() const override { return 250; }

  nn::Legality offer(Problem &problem, const Machine &machine,
                     Offers &offers) const override {
    if (problem.kind() != Problem::Kind::contraction)
      return std::nullopt;
    auto info = describeSparse(problem, machine, checkWgmmaSparse);
    if (!info)
      return std::nullopt;
    int64_t rows = wgmmaSparseRows(*info);
    offers.add(WgmmaSparseAttr::get(problem.context(), rows,
                                    rows == 256 ? kWideStages : kNarrowStages));
    return std::nullopt;
  }

  bool canFuseCodes(nn::MatmulOp product,
                    const Machine &machine) const override {
    return takesSparse(nn::describeSparseMatmul(product), machine,
                       checkWgmmaSparse);
  }

  bool takesChain(const Chain &chain, const Machine &machine) const override {
    auto matmul = dyn_cast<nn::MatmulOp>(chain.contraction());
    if (!matmul || !chain.epilogue)
      return false;
    auto info = nn::describeSparseMatmul(matmul);
    if (!info)
      return false;
    info->epilogue = *chain.epilogue;
    return takesSparse(info, machine, checkWgmmaSparse);
  }

  std::optional<nn::StepCost> costOf(Problem &problem, WgmmaSparseAttr schedule,
                                     const Machine &machine) const override {
    auto info = describeSparse(problem, machine, checkWgmmaSparse);
    if (!info)
      return std::nullopt;
    double blocks = double(sparseLayoutOf(schedule).gridOf(info->m, info->n));
    return nn::StepCost{wgmmaSparseMicroseconds(*info, machine),
                        std::min(1.0, blocks / double(machine.arch.sms))};
  }

  nn::Match<nn::GemmInfo> fit(Problem &problem, WgmmaSparseAttr schedule,
                              const Machine &machine) const override {
    auto info = describeSparse(problem, machine, checkWgmmaSparse);
    if (!info)
      return info;
    if (!sparseLayoutOf(schedule).fits())
      return nn::Mismatch("its stages do not fit into shared memory");
    if (nn::Legality why = checkFunction(info->epilogue, problem.lowered()))
      return *why;
    return info;
  }

  KernelText print(nn::GemmInfo &info, Problem &problem,
                   WgmmaSparseAttr schedule, StringRef name) const override {
    const LinalgFusion &lowered = problem.lowered();
    WgmmaSparseLayout layout = sparseLayoutOf(schedule);
    ProblemText text(lowered, name);
    addSparseProduct(text, info);
    text.addFunction(info.epilogue);
    text.addConstants("int", {{"tileN", schedule.getTileN()},
                              {"stages", schedule.getStages()}});
    text.addConstants("bool", {{"early", isConstantSparse(text, info.b)}});
    KernelText kernel;
    kernel.header = "wgmma_sparse";
    artifact::TensorMap map =
        tensorMap(text.argument(info.a), elementType(info.a), {info.k, info.m},
                  {info.lda * 2}, {kWgmmaDepth, schedule.getTileN()});
    map.swizzle = kLineBytes;
    kernel.tensorMaps = {map};
    std::string operands = sparseOperand(text, info.b) + ", " +
                           text.optional(info.epilogue.bias()) + ", " +
                           text.optional(info.epilogue.residual()) + ", y0);\n";
    std::string problemName = "<" + text.problem() + ">(";
    std::string call =
        startText(lowered) + "#ifdef FRIT_HAS_WGMMA\nfrit::wgmmaSparse" +
        problemName + "&m0, " + operands + "#else\nfrit::sparseFloor" +
        problemName + text.parameter(info.a) + ", " + operands + "#endif\n";
    kernel.block[0] = WgmmaSparseLayout::threads;
    kernel.grid[0] = layout.gridOf(info.m, info.n);
    kernel.sharedBytes = layout.sharedBytes();
    kernel.sums = schedule.getTileN() / 2;
    kernel.source = text.definition() +
                    kernelFunction(name, lowered,
                                   {.threads = WgmmaSparseLayout::threads,
                                    .tensorMaps = kernel.tensorMaps.size(),
                                    .wait = PdlWait::inSkeleton},
                                   call);
    return kernel;
  }
};
} // namespace

template <>
std::unique_ptr<Skeleton> frit::cuda::makeSkeleton<WgmmaSparseAttr>() {
  return std::make_unique<WgmmaSparse>();
}
