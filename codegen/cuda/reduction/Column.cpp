//===- Column.cpp - Reductions along columns ------------------------------===//

#include "codegen/cuda/reduction/RowKernel.h"
#include "dialects/nn/operators/Statistics.h"
#include "dialects/nn/rewrites/SplitReductions.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

/// Returns whether a reduction of this many elements is worth several kernels.
static bool isLarge(int64_t elements) {
  constexpr int64_t kFewElements = 1 << 18;
  return elements >= kFewElements;
}

/// Returns the number of parts in which a reduction of leading dimensions is
/// fastest; 1 if it should stay whole. A kernel that reduces columns has a team
/// of up to 1,024 threads for 8 neighbouring results. With parts for half of
/// the threads of all SMs, teams need not be large, and each still has many
/// rows.
static int64_t columnParts(int64_t elements, int64_t results,
                           const GpuArch &arch) {
  constexpr int64_t kLeastRows = 32;
  if (!isLarge(elements))
    return 1;
  int64_t rows = elements / results;
  int64_t wanted = arch.threadsOf(1024) / results;
  int64_t parts = std::min(wanted, rows / kLeastRows);
  while (parts > 1 && rows % parts)
    --parts;
  return std::max<int64_t>(parts, 1);
}

/// Returns whether a batch statistic is computed in parts
/// (BatchStatistics.cpp).
template <typename Op>
static bool splitsStatistic(nn::CompositeOp composite, const GpuArch &arch) {
  auto op = dyn_cast<Op>(*composite);
  return op && op.getChannelsLast() &&
         columnParts(nn::tensorType(op.getX()).getNumElements(),
                     nn::shapeOf(op.getX()).back(), arch) > 1;
}

static nn::Match<std::unique_ptr<RowKernel>> buildColumns(Problem &problem,
                                                          int64_t vector) {
  auto kernel = buildRowKernel(problem, {.vector = vector});
  if (kernel && !(*kernel)->isColumns())
    return nn::Mismatch("it reduces rows");
  return kernel;
}

/// Assembles the kernel. `call` is the skeleton's function with its arguments
/// after the body.
static KernelText finishColumns(RowKernel &kernel, bool keeps, StringRef name,
                                const LinalgFusion &lowered, const Twine &call,
                                const KernelFrame &frame, int64_t groupsOfBlock,
                                int64_t vector) {
  KernelText text;
  text.header = "column";
  std::string statement =
      (call + ">({" + argumentList(lowered) + "}, " + Twine(kernel.rows) +
       ", " + Twine(kernel.cols) + ");\n")
          .str();
  text.source = kernel.print(name, keeps) +
                kernelFunction(name, lowered, frame, statement);
  text.grid[0] = ceilDiv(kernel.rows / vector, groupsOfBlock);
  text.grid[1] = lowered.batch();
  text.block[0] = frame.threads;
  return text;
}

static LogicalResult
verifyColumns(llvm::function_ref<InFlightDiagnostic()> emitError, int64_t team,
              int64_t vector, int64_t threads) {
  if (failed(require(emitError, isPowerOf2UpTo(team, 1024) && team <= threads,
                     "team", "a power of two of at most `threads`")) ||
      failed(require(emitError, isPowerOf2UpTo(vector, 8), "vector",
                     "1, 2, 4 or 8")))
    return failure();
  return require(emitError, isBlock(threads) && threads % team == 0, "threads",
                 "a multiple of 32 and of `team`, of at most 1024");
}

LogicalResult
ColumnSharedAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                         int64_t team, int64_t vector, int64_t threads,
                         int64_t occupancy) {
  if (failed(requireRanges(emitError, {{"occupancy", occupancy, 1, 32}})) ||
      failed(verifyColumns(emitError, team, vector, threads)))
    return failure();
  // Vectors have 16 bytes, and blocks are as wide as a cache line.
  return require(emitError, threads == kCacheLineBytes / 16 * team, "threads",
                 "8 times `team`");
}

LogicalResult
ColumnAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                   int64_t team, int64_t perThread, int64_t vector,
                   int64_t threads, bool joint) {
  if (failed(requireRanges(emitError,
                           {{"per_thread", perThread, 0, kMostPerThread}})) ||
      failed(require(emitError, !joint || perThread == 0, "joint",
                     "false unless `per_thread` is 0")))
    return failure();
  return verifyColumns(emitError, team, vector, threads);
}

namespace {

class ColumnShared : public RowFamily<ColumnSharedAttr> {
  /// Returns the bytes of shared memory of a block.
  static int64_t sharedOf(const RowKernel &kernel) {
    return kernel.cols * kCacheLineBytes;
  }
  nn::Match<std::unique_ptr<RowKernel>>
  fit(Problem &problem, ColumnSharedAttr schedule,
      const Machine &machine) const override {
    auto built = buildColumns(problem, schedule.getVector());
    if (built && (!(*built)->canShareColumns() ||
                  sharedOf(**built) > machine.arch.sharedPerBlock))
      return nn::Mismatch("its columns cannot be kept in shared memory");
    return built;
  }
  KernelText print(std::unique_ptr<RowKernel> &built, Problem &problem,
                   ColumnSharedAttr schedule, StringRef name) const override {
    RowKernel &kernel = *built;
    int64_t vector = schedule.getVector(), threads = schedule.getThreads();
    int64_t team = schedule.getTeam();
    KernelText text = finishColumns(
        kernel, /*keeps=*/false, name, problem.lowered(),
        "frit::columnShared<" + name + "_body, " + Twine(team) + ", " +
            Twine(threads / team) + ", " + Twine(vector),
        {.threads = threads, .occupancy = schedule.getOccupancy()},
        threads / team, vector);
    text.sharedBytes = sharedOf(kernel);
    return text;
  }
};

class Column : public RowFamily<ColumnAttr> {
  void populateRewrites(nn::TargetRewrites &rewrites,
                        const Machine &machine) const override {
    rewrites.add(nn::SplitReductionsRewrite{
        [&machine](nn::ReduceOp reduce) {
          return columnParts(nn::tensorType(reduce.getX()).getNumElements(),
                             nn::tensorType(reduce.getY()).getNumElements(),
                             machine.arch);
        },
        // The cache must hold another tensor of this size too.
        /*fitsCache=*/
        [&machine](int64_t bytes) {
          return 2 * bytes <= machine.arch.l2Bytes;
        }});
  }
  bool keepsWhole(nn::CompositeOp composite,
                  const Machine &machine) const override {
    if (isa<nn::GroupMeanOp, nn::GroupVarianceOp>(*composite))
      return isLarge(nn::tensorType(composite->getOperand(0)).getNumElements());
    return splitsStatistic<nn::BatchMeanOp>(composite, machine.arch) ||
           splitsStatistic<nn::BatchVarianceOp>(composite, machine.arch);
  }
  nn::Match<std::unique_ptr<RowKernel>>
  fit(Problem &problem, ColumnAttr schedule,
      const Machine &machine) const override {
    auto built = buildColumns(problem, schedule.getVector());
    if (!built)
      return built;
    if (schedule.getPerThread() &&
        schedule.getTeam() * schedule.getPerThread() < (*built)->cols)
      return nn::Mismatch("its columns are longer than what a team keeps");
    if (schedule.getJoint() && !(*built)->isJoint())
      return nn::Mismatch("one pass over its columns cannot compute it");
    return built;
  }
  KernelText print(std::unique_ptr<RowKernel> &built, Problem &problem,
                   ColumnAttr schedule, StringRef name) const override {
    RowKernel &kernel = *built;
    int64_t vector = schedule.getVector(), threads = schedule.getThreads();
    int64_t team = schedule.getTeam(), perThread = schedule.getPerThread();
    if (schedule.getJoint())
      return finishColumns(kernel, /*keeps=*/false, name, problem.lowered(),
                           "frit::columnJoint<" + name + "_body, " +
                               Twine(team) + ", " + Twine(threads / team) +
                               ", " + Twine(vector),
                           {.threads = threads}, threads / team, vector);
    return finishColumns(kernel, /*keeps=*/perThread > 0, name,
                         problem.lowered(),
                         "frit::column<" + name + "_body, " + Twine(team) +
                             ", " + Twine(threads / team) + ", " +
                             Twine(perThread) + ", " + Twine(vector),
                         {.threads = threads}, threads / team, vector);
  }
};

} // namespace

template <>
std::unique_ptr<Skeleton> frit::cuda::makeSkeleton<ColumnSharedAttr>() {
  return std::make_unique<ColumnShared>();
}
template <> std::unique_ptr<Skeleton> frit::cuda::makeSkeleton<ColumnAttr>() {
  return std::make_unique<Column>();
}
