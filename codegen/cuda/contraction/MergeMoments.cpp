//===- MergeMoments.cpp - Moments of whole rows ---------------------------===//

#include "codegen/cuda/target/Skeleton.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

/// Lanes that merge the moments of a row in moments.cuh.
static constexpr int64_t kLanes = 4;

LogicalResult
MergeMomentsAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                         int64_t threads) {
  return requireBlock(emitError, threads);
}

namespace {
/// The kernel that merges moments of rows (moments.cuh).
class MergeMoments : public SkeletonOf<MergeMomentsAttr, nn::MergeMomentsOp> {
  double compileMilliseconds() const override { return 20; }
  nn::Legality offer(Problem &problem, const Machine &machine,
                     Offers &offers) const override {
    if (problem.kind() == Problem::Kind::moments)
      offers.add(MergeMomentsAttr::get(problem.context(), /*threads=*/128));
    return std::nullopt;
  }
  bool keepsWhole(nn::CompositeOp composite,
                  const Machine &machine) const override {
    auto merge = dyn_cast<nn::MergeMomentsOp>(*composite);
    return merge && machine.arch.mma == Mma::wgmma &&
           nn::shapeOf(merge.getX()).end()[-2] % kLanes == 0;
  }
  std::optional<nn::StepCost> costOf(Problem &problem, MergeMomentsAttr,
                                     const Machine &machine) const override {
    return costOfMemory(problem.fusion(), /*perThread=*/2, machine.arch);
  }
  nn::Match<nn::MergeMomentsOp> fit(Problem &problem, MergeMomentsAttr schedule,
                                    const Machine &machine) const override {
    auto merge = dyn_cast<nn::MergeMomentsOp>(problem.fusion().getAnchor());
    if (!merge)
      return nn::Mismatch("it merges no moments");
    return merge;
  }
  KernelText print(nn::MergeMomentsOp &merge, Problem &problem,
                   MergeMomentsAttr schedule, StringRef name) const override {
    int64_t parts = nn::shapeOf(merge.getX()).end()[-2];
    int64_t rows = nn::tensorType(merge.getX()).getNumElements() / (2 * parts);
    int64_t threads = schedule.getThreads();
    KernelText kernel;
    kernel.header = "moments";
    kernel.block[0] = threads;
    kernel.grid[0] = ceilDiv(rows * kLanes, threads);
    kernel.source = kernelFunction(
        name, problem.lowered(), {.threads = threads},
        llvm::formatv("frit::mergeRows<{0}, {1}, {2}>(x0, y0);\n", rows, parts,
                      merge.getWidth())
            .str());
    return kernel;
  }
};
} // namespace

template <>
std::unique_ptr<Skeleton> frit::cuda::makeSkeleton<MergeMomentsAttr>() {
  return std::make_unique<MergeMoments>();
}
