//===- SegmentSum.cpp - Sums of rows by segment ---------------------------===//

#include "codegen/cuda/target/Skeleton.h"
#include "dialects/nn/training/Gradient.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

/// Segments per block: kBlockSegments of segment_sum.cuh.
static constexpr int64_t kBlockSegments = 32;
/// Maximum threads per block; fewer if some would be idle.
static constexpr int64_t kMostThreads = 512;

static int64_t columnsOf(nn::SegmentSumOp op) {
  return nn::shapeOf(op.getX())[1];
}

/// Returns whether segment_sum.cuh computes it.
static bool isTaken(nn::SegmentSumOp op) {
  Type element = nn::tensorType(op.getX()).getElementType();
  return (isHalf(element) || element.isF32()) &&
         nn::shapeOf(op.getX())[0] < INT32_MAX;
}

LogicalResult
SegmentSumAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                       int64_t vector, int64_t threads) {
  if (failed(require(emitError, isPowerOf2UpTo(vector, 8), "vector",
                     "1, 2, 4 or 8")))
    return failure();
  return require(emitError,
                 isBlock(threads) && threads > kBlockSegments &&
                     threads <= kMostThreads,
                 "threads", "a multiple of 32 from 64 to 512");
}

namespace {
class SegmentSum : public SkeletonOf<SegmentSumAttr, nn::SegmentSumOp> {
  double compileMilliseconds() const override { return 20; }
  nn::Legality offer(Problem &problem, const Machine &machine,
                     Offers &offers) const override {
    if (problem.kind() != Problem::Kind::segmentSum)
      return std::nullopt;
    auto op = cast<nn::SegmentSumOp>(problem.fusion().getAnchor());
    int64_t columns = columnsOf(op);
    int64_t vector = 128 / nn::tensorType(op.getX()).getElementTypeBitWidth();
    while (columns % vector)
      vector /= 2;
    int64_t lanes = std::min(columns / vector, kMostThreads);
    int64_t threads = llvm::alignTo(kMostThreads / lanes * lanes, 32);
    offers.add(SegmentSumAttr::get(problem.context(), vector, threads));
    return std::nullopt;
  }
  bool keepsWhole(nn::CompositeOp composite,
                  const Machine &machine) const override {
    auto op = dyn_cast<nn::SegmentSumOp>(*composite);
    return op && isTaken(op);
  }
  std::optional<nn::StepCost> costOf(Problem &problem, SegmentSumAttr schedule,
                                     const Machine &machine) const override {
    return costOfMemory(problem.fusion(), schedule.getVector(), machine.arch);
  }
  nn::Match<nn::SegmentSumOp> fit(Problem &problem, SegmentSumAttr schedule,
                                  const Machine &machine) const override {
    auto op = dyn_cast<nn::SegmentSumOp>(problem.fusion().getAnchor());
    if (!op || !isTaken(op))
      return nn::Mismatch("it is no sum by segments");
    if (columnsOf(op) % schedule.getVector())
      return nn::Mismatch("rows are no whole vectors");
    return op;
  }
  KernelText print(nn::SegmentSumOp &op, Problem &problem,
                   SegmentSumAttr schedule, StringRef name) const override {
    int64_t columns = columnsOf(op), size = op.getSize();
    int64_t threads = schedule.getThreads();
    KernelText kernel;
    kernel.header = "segment_sum";
    kernel.block[0] = threads;
    kernel.grid[0] = ceilDiv(size, kBlockSegments);
    kernel.source = kernelFunction(
        name, problem.lowered(), {.threads = threads},
        llvm::formatv("frit::segmentSum<{0}, {1}, {2}, {3}, {4}, {5}>(x0, x1, "
                      "x2, y0);\n",
                      storageName(nn::tensorType(op.getX()).getElementType()),
                      threads, schedule.getVector(), columns,
                      nn::shapeOf(op.getX())[0], size)
            .str());
    return kernel;
  }
};
} // namespace

template <>
std::unique_ptr<Skeleton> frit::cuda::makeSkeleton<SegmentSumAttr>() {
  return std::make_unique<SegmentSum>();
}
