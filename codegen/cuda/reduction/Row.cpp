//===- Row.cpp - Reductions along rows ------------------------------------===//

#include "codegen/cuda/reduction/RowKernel.h"
#include "dialects/nn/rewrites/SideOutputs.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

/// Returns the call of a skeleton: `function<NAME_body, arguments...>({x0,
/// ...}, sizes...)`.
static std::string callText(StringRef function, StringRef name,
                            ArrayRef<int64_t> arguments,
                            const LinalgFusion &lowered,
                            ArrayRef<int64_t> sizes) {
  std::string text = ("frit::" + function + "<" + name + "_body").str();
  for (int64_t argument : arguments)
    text += ", " + std::to_string(argument);
  text += ">({" + argumentList(lowered) + "}";
  for (int64_t size : sizes)
    text += ", " + std::to_string(size);
  return text + ");\n";
}

/// Assembles the kernel from its `body`, with `rowsPerBlock` rows per block.
static KernelText finishRows(const RowKernel &kernel, std::string body,
                             StringRef header, StringRef name,
                             const LinalgFusion &lowered, StringRef call,
                             int64_t threads, int64_t rowsPerBlock) {
  KernelText text;
  text.header = header;
  text.source = std::move(body) +
                kernelFunction(name, lowered, {.threads = threads}, call);
  text.grid[0] = ceilDiv(kernel.rows, rowsPerBlock);
  text.block[0] = threads;
  return text;
}

using BuiltRows = nn::Match<std::unique_ptr<RowKernel>>;

static BuiltRows buildRows(Problem &problem, const RowBuild &how,
                           bool sumsColumns = false) {
  auto kernel = buildRowKernel(problem, how);
  if (kernel && (*kernel)->isColumns())
    return nn::Mismatch("it reduces columns");
  if (kernel && (*kernel)->parts && !sumsColumns)
    return nn::Mismatch("it also sums columns: use #cuda.row_columns");
  return kernel;
}

static LogicalResult
verifyBlock(llvm::function_ref<InFlightDiagnostic()> emitError, int64_t vector,
            int64_t threads) {
  if (failed(require(emitError, isPowerOf2UpTo(vector, 8), "vector",
                     "1, 2, 4 or 8")))
    return failure();
  return requireBlock(emitError, threads);
}

static LogicalResult
verifyTeam(llvm::function_ref<InFlightDiagnostic()> emitError, int64_t team,
           int64_t perThread, int64_t vector, int64_t threads) {
  if (failed(requireRanges(emitError,
                           {{"per_thread", perThread, 1, kMostPerThread}})) ||
      failed(verifyBlock(emitError, vector, threads)) ||
      failed(require(emitError, team == threads || isPowerOf2UpTo(team, 32),
                     "team", "a power of two of at most 32, or `threads`")))
    return failure();
  return require(emitError, perThread % vector == 0, "per_thread",
                 "a multiple of `vector`");
}

//===----------------------------------------------------------------------===//
// Staged through shared memory
//===----------------------------------------------------------------------===//

LogicalResult
RowStagedAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                      int64_t team, int64_t rows, int64_t perThread,
                      int64_t vector, bool skewed, int64_t threads,
                      bool preload) {
  if (failed(requireRanges(emitError, {{"rows", rows, 1, 2}})) ||
      failed(require(emitError, isPowerOf2UpTo(team, 32), "team",
                     "a power of two of at most 32")) ||
      failed(require(emitError, !skewed || vector == 2, "vector",
                     "2 where it is skewed")))
    return failure();
  return verifyTeam(emitError, team, perThread, vector, threads);
}

namespace {
class RowStaged : public RowFamily<RowStagedAttr> {
  /// Returns the rows that a block holds.
  static int64_t heldRows(RowStagedAttr schedule) {
    return schedule.getThreads() / schedule.getTeam() * schedule.getRows();
  }
  BuiltRows fit(Problem &problem, RowStagedAttr schedule,
                const Machine &machine) const override {
    auto built = buildRows(problem, {schedule.getVector(), schedule.getSkewed(),
                                     schedule.getPreload()});
    if (!built)
      return built;
    const RowKernel &kernel = **built;
    if (schedule.getTeam() * schedule.getPerThread() < kernel.covered())
      return nn::Mismatch("its rows are longer than what a team keeps");
    if (!kernel.canStage(schedule.getTeam(), heldRows(schedule)))
      return nn::Mismatch("its rows cannot be staged so");
    return built;
  }
  KernelText print(std::unique_ptr<RowKernel> &built, Problem &problem,
                   RowStagedAttr schedule, StringRef name) const override {
    RowKernel &kernel = *built;
    int64_t team = schedule.getTeam(), perThread = schedule.getPerThread();
    int64_t rows = schedule.getRows(), threads = schedule.getThreads();
    int64_t held = heldRows(schedule);
    SmallVector<int64_t> arguments = {team, perThread, schedule.getVector(),
                                      threads, kernel.cols};
    if (rows > 1)
      arguments.push_back(rows);
    const LinalgFusion &lowered = problem.lowered();
    KernelText text = finishRows(
        kernel, kernel.print(name, /*keeps=*/true, /*staged=*/true),
        "row_staged", name, lowered,
        callText("rowStaged", name, arguments, lowered, {kernel.rows}), threads,
        held);
    text.sharedBytes = kernel.stagedBytes(held);
    return text;
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// With column sums
//===----------------------------------------------------------------------===//

LogicalResult
RowColumnsAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                       int64_t perThread, int64_t vector, int64_t threads) {
  if (failed(require(emitError, vector > 1, "vector", "2, 4 or 8")))
    return failure();
  return verifyTeam(emitError, /*team=*/32, perThread, vector, threads);
}

namespace {
class RowColumns : public RowFamily<RowColumnsAttr> {
  void populateRewrites(nn::TargetRewrites &rewrites,
                        const Machine &machine) const override {
    rewrites.add(nn::SideOutputsRewrite{[&machine](nn::FusionOp fusion) {
      Problem problem(fusion);
      if (problem.kind() != Problem::Kind::reduction)
        return false;
      auto schedule = chooseRow(problem, machine);
      return schedule && isa<RowColumnsAttr>(*schedule);
    }});
  }
  BuiltRows fit(Problem &problem, RowColumnsAttr schedule,
                const Machine &machine) const override {
    auto built = buildRows(problem, {.vector = schedule.getVector()},
                           /*sumsColumns=*/true);
    if (!built)
      return built;
    const RowKernel &kernel = **built;
    if (!kernel.canSumColumns() || 32 * schedule.getPerThread() < kernel.cols ||
        kernel.sharedForSums(schedule.getThreads()) >
            machine.arch.sharedPerBlock)
      return nn::Mismatch("a block cannot sum its columns so");
    return built;
  }
  KernelText print(std::unique_ptr<RowKernel> &built, Problem &problem,
                   RowColumnsAttr schedule, StringRef name) const override {
    RowKernel &kernel = *built;
    int64_t perThread = schedule.getPerThread();
    int64_t threads = schedule.getThreads();
    const LinalgFusion &lowered = problem.lowered();
    KernelText text = finishRows(
        kernel, kernel.printWithSums(name), "row_columns", name, lowered,
        callText("rowColumns", name,
                 {perThread, schedule.getVector(), threads, kernel.cols},
                 lowered, {kernel.rows / kernel.parts}),
        threads, kernel.rows / kernel.parts);
    text.sharedBytes = kernel.sharedForSums(threads);
    return text;
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// In registers
//===----------------------------------------------------------------------===//

LogicalResult
RowAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                int64_t team, int64_t perThread, int64_t vector,
                int64_t threads, bool preload) {
  return verifyTeam(emitError, team, perThread, vector, threads);
}

namespace {
class Row : public RowFamily<RowAttr> {
  BuiltRows fit(Problem &problem, RowAttr schedule,
                const Machine &machine) const override {
    auto built = buildRows(problem, {schedule.getVector(), /*skewed=*/false,
                                     schedule.getPreload()});
    if (built && schedule.getTeam() * schedule.getPerThread() < (*built)->cols)
      return nn::Mismatch("its rows are longer than what a team keeps");
    return built;
  }
  KernelText print(std::unique_ptr<RowKernel> &built, Problem &problem,
                   RowAttr schedule, StringRef name) const override {
    RowKernel &kernel = *built;
    int64_t team = schedule.getTeam(), perThread = schedule.getPerThread();
    int64_t threads = schedule.getThreads();
    SmallVector<int64_t> arguments = {team, perThread, schedule.getVector()};
    if (team < threads)
      arguments.push_back(threads);
    const LinalgFusion &lowered = problem.lowered();
    return finishRows(
        kernel, kernel.print(name, /*keeps=*/true), "row", name, lowered,
        callText("row", name, arguments, lowered, {kernel.rows, kernel.cols}),
        threads, team <= 32 ? threads / team : 1);
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// In shared memory
//===----------------------------------------------------------------------===//

LogicalResult
RowSharedAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                      int64_t vector, int64_t threads, bool preload) {
  return verifyBlock(emitError, vector, threads);
}

namespace {
class RowShared : public RowFamily<RowSharedAttr> {
  /// Returns the bytes of shared memory of a block.
  static int64_t sharedOf(const RowKernel &kernel) {
    return llvm::alignTo(kernel.sharedRowBytes(), 16);
  }
  BuiltRows fit(Problem &problem, RowSharedAttr schedule,
                const Machine &machine) const override {
    auto built = buildRows(problem, {schedule.getVector(), /*skewed=*/false,
                                     schedule.getPreload()});
    if (built &&
        (!sharedOf(**built) || sharedOf(**built) > machine.arch.sharedPerBlock))
      return nn::Mismatch("its rows are not kept in shared memory");
    return built;
  }
  KernelText print(std::unique_ptr<RowKernel> &built, Problem &problem,
                   RowSharedAttr schedule, StringRef name) const override {
    RowKernel &kernel = *built;
    int64_t threads = schedule.getThreads();
    const LinalgFusion &lowered = problem.lowered();
    KernelText text = finishRows(
        kernel, kernel.print(name, /*keeps=*/false), "row", name, lowered,
        callText("rowShared", name, {threads, schedule.getVector()}, lowered,
                 {kernel.rows, kernel.cols}),
        threads, /*rowsPerBlock=*/1);
    text.sharedBytes = sharedOf(kernel);
    return text;
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Read again
//===----------------------------------------------------------------------===//

LogicalResult
RowStreamedAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                        int64_t perThread, int64_t vector, int64_t threads,
                        bool preload) {
  return verifyTeam(emitError, threads, perThread, vector, threads);
}

namespace {
class RowStreamed : public RowFamily<RowStreamedAttr> {
  BuiltRows fit(Problem &problem, RowStreamedAttr schedule,
                const Machine &machine) const override {
    auto built = buildRows(problem, {schedule.getVector(), /*skewed=*/false,
                                     schedule.getPreload()});
    if (built &&
        schedule.getThreads() * schedule.getPerThread() >= (*built)->cols)
      return nn::Mismatch("its rows fit into registers: use #cuda.row");
    return built;
  }
  KernelText print(std::unique_ptr<RowKernel> &built, Problem &problem,
                   RowStreamedAttr schedule, StringRef name) const override {
    RowKernel &kernel = *built;
    int64_t threads = schedule.getThreads(),
            perThread = schedule.getPerThread();
    const LinalgFusion &lowered = problem.lowered();
    return finishRows(
        kernel, kernel.print(name, /*keeps=*/false), "row", name, lowered,
        callText("row", name, {threads, perThread, schedule.getVector()},
                 lowered, {kernel.rows, kernel.cols}),
        threads, /*rowsPerBlock=*/1);
  }
};
} // namespace

template <>
std::unique_ptr<Skeleton> frit::cuda::makeSkeleton<RowColumnsAttr>() {
  return std::make_unique<RowColumns>();
}
template <>
std::unique_ptr<Skeleton> frit::cuda::makeSkeleton<RowStagedAttr>() {
  return std::make_unique<RowStaged>();
}
template <> std::unique_ptr<Skeleton> frit::cuda::makeSkeleton<RowAttr>() {
  return std::make_unique<Row>();
}
template <>
std::unique_ptr<Skeleton> frit::cuda::makeSkeleton<RowSharedAttr>() {
  return std::make_unique<RowShared>();
}
template <>
std::unique_ptr<Skeleton> frit::cuda::makeSkeleton<RowStreamedAttr>() {
  return std::make_unique<RowStreamed>();
}
