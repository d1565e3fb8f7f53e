//===- Dequantize.cpp - The numbers of codes ------------------------------===//

#include "codegen/cuda/rows/Codes.h"
#include "codegen/cuda/target/Skeleton.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

static constexpr int64_t kDequantizeThreads = 256;

/// Returns whether products by rows of `codes` are all that reads them.
static bool isMatrixOfProducts(nn::DequantizeOp codes) {
  return llvm::all_of(codes->getUses(), [](OpOperand &use) {
    auto product = dyn_cast<nn::MatmulOp>(use.getOwner());
    return product && use.getOperandNumber() == 1 && product.getTransposeB();
  });
}

LogicalResult
DequantizeAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                       int64_t threads) {
  return requireBlock(emitError, threads);
}

namespace {
class Dequantize : public SkeletonOf<DequantizeAttr, nn::QuantizedMatrix> {
  double compileMilliseconds() const override { return 20; }

  nn::Legality offer(Problem &problem, const Machine &machine,
                     Offers &offers) const override {
    if (problem.kind() == Problem::Kind::dequantization)
      offers.add(DequantizeAttr::get(problem.context(), kDequantizeThreads));
    return std::nullopt;
  }

  bool keepsWhole(nn::CompositeOp composite,
                  const Machine &machine) const override {
    auto codes = dyn_cast<nn::DequantizeOp>(*composite);
    return codes && isMatrixOfProducts(codes) &&
           !checkCodes(nn::describeQuantized(codes), codes.getTo());
  }

  void populateRewrites(nn::TargetRewrites &rewrites,
                        const Machine &machine) const override {
    rewrites.add(TiledWeightsRewrite{});
  }

  std::optional<nn::StepCost> costOf(Problem &problem, DequantizeAttr,
                                     const Machine &machine) const override {
    return costOfMemory(problem.fusion(), /*perThread=*/32, machine.arch);
  }

  nn::Match<nn::QuantizedMatrix> fit(Problem &problem, DequantizeAttr,
                                     const Machine &machine) const override {
    auto codes = dyn_cast<nn::DequantizeOp>(problem.fusion().getAnchor());
    if (!codes || !codes.getTiled())
      return nn::Mismatch("it has no codes in tiles");
    nn::QuantizedMatrix matrix = nn::describeQuantized(codes);
    if (nn::Legality why = checkCodes(matrix, codes.getTo()))
      return *why;
    return matrix;
  }
  KernelText print(nn::QuantizedMatrix &matrix, Problem &problem,
                   DequantizeAttr schedule, StringRef name) const override {
    ProblemText text(problem.lowered(), name);
    text.addType("D", nullptr);
    text.addConstants("int64_t", {{"n", matrix.rows}, {"k", matrix.columns}});
    addCodes(text, matrix);
    text.addConstants("int", {{"threads", schedule.getThreads()}});
    KernelText kernel;
    kernel.header = "dequantize";
    std::string call = "frit::dequantizeTiles<" + text.problem() + ">(" +
                       text.parameter(matrix.codes) + ", " +
                       text.parameter(matrix.scales) + ", " +
                       text.parameter(matrix.offsets) + ", y0);\n";
    kernel.source = text.definition() +
                    kernelFunction(name, problem.lowered(),
                                   {.threads = schedule.getThreads()}, call);
    int64_t tiles =
        nn::tensorType(matrix.codes).getNumElements() / nn::kTileBytes;
    kernel.grid[0] = ceilDiv(tiles, schedule.getThreads() / 32);
    kernel.block[0] = schedule.getThreads();
    return kernel;
  }
};
} // namespace

template <>
std::unique_ptr<Skeleton> frit::cuda::makeSkeleton<DequantizeAttr>() {
  return std::make_unique<Dequantize>();
}
