//===- BatchLaunches.cpp - One launch in place of several -----------------===//
//
//   plan.launch @sum(%p) -> (%0)
//   plan.launch @a(%x) -> (%y)
//   plan.launch @sum(%q) -> (%1)
// ==>
//   plan.launch @a(%x) -> (%y)
//   plan.launch @sum_x2(%p, %q) -> (%0, %1)
//
// A small kernel takes a few microseconds, most of which are the launch and the
// latency of memory, and leaves most of the GPU idle. Every layer has the same
// ones: the last sums of the gradients of its biases, for example, which only
// the optimizer reads. Launches of one kernel wait for the next one, up to the
// first step that needs a result, if the schedule takes several sets of
// arguments. The kernel's operands live longer, so a launch stays if the arena
// would grow.
//
//===----------------------------------------------------------------------===//

#include "compiler/planning/Passes.h"
#include "compiler/planning/StepOrder.h"
#include "dialects/nn/NN.h"

#include "llvm/ADT/MapVector.h"

namespace frit::planning {
#define GEN_PASS_DEF_BATCHLAUNCHES
#include "compiler/planning/Passes.h.inc"
} // namespace frit::planning

using namespace mlir;
using namespace frit;
using namespace frit::planning;

/// Launches of a batch: those of a dozen layers, or of half of two dozen.
static constexpr size_t kMostLaunches = 12;

/// Buffers of a batch. CUDA kernels have 4 KiB of parameters.
static constexpr size_t kMostBuffers = 384;

/// Growth of the arena's lower bound that the batches of a list may cause.
static constexpr double kBatchGrowth = 1.01;

/// Longest list with batches, and how often its lower bound is computed.
static constexpr size_t kMostBatchedSteps = 4096, kMostTries = 256;

namespace {
class Batcher {
public:
  explicit Batcher(plan::CommandListOp list)
      : list(list), steps(plan::stepsOf(list)), order(steps),
        needs(dependences(steps)), symbols(list->getParentOp()) {}

  void run() {
    if (steps.size() > kMostBatchedSteps)
      return;
    limit = kBatchGrowth * arenaOf(order);
    for (auto [place, step] : llvm::enumerate(steps)) {
      for (size_t other : needs[place])
        if (StringAttr kernel = waiting.lookup(steps[other]))
          flush(kernel);
      auto launch = dyn_cast<plan::LaunchOp>(step);
      if (!launch || !takesBatches(launch))
        continue;
      StringAttr kernel = launch.getKernelAttr().getAttr();
      groups[kernel].push_back(launch);
      waiting[launch] = kernel;
      size_t buffers = launch.getInputs().size() + launch.getOutputs().size();
      if (groups[kernel].size() >=
          std::min(kMostLaunches, kMostBuffers / std::max<size_t>(buffers, 1)))
        flush(kernel);
    }
    for (StringAttr kernel : llvm::to_vector(llvm::make_first_range(groups)))
      flush(kernel);
    for (Operation *launch : replaced)
      launch->erase();
    for (StringAttr kernel : llvm::make_first_range(groups)) {
      plan::KernelOp unused = kernelOf(kernel);
      if (SymbolTable::symbolKnownUseEmpty(unused, list->getParentOp()))
        symbols.erase(unused);
    }
  }

private:
  plan::KernelOp kernelOf(StringAttr name) {
    return symbols.lookup<plan::KernelOp>(name);
  }

  bool takesBatches(plan::LaunchOp launch) {
    if (launch->getParentOp() != list || launch.getShardRows())
      return false;
    plan::KernelOp kernel = kernelOf(launch.getKernelAttr().getAttr());
    nn::Schedule schedule =
        cast<nn::FusionOp>(kernel.getFusion()).getScheduleAttr();
    return schedule && schedule.takesBatches() && kernel.getBatch() == 1;
  }

  /// Returns the lower bound of the arena if the steps run in this order.
  static double arenaOf(ArrayRef<Operation *> order) {
    return double(ArenaUses(order).lowerBound(StepOrder(order)));
  }

  /// Batches the launches of a kernel that have waited.
  void flush(StringAttr name) {
    SmallVector<Operation *> launches;
    std::swap(launches, groups[name]);
    for (Operation *launch : launches)
      waiting.erase(launch);
    batch(kernelOf(name), launches);
  }

  /// Replaces launches by one, or by several if the arena would grow.
  void batch(plan::KernelOp kernel, ArrayRef<Operation *> launches) {
    if (launches.size() < 2 || ++tries > kMostTries)
      return;
    // All of them run where the last one does.
    SmallVector<Operation *> later;
    for (Operation *step : order) {
      if (!llvm::is_contained(launches, step))
        later.push_back(step);
      else if (step == launches.back())
        llvm::append_range(later, launches);
    }
    if (arenaOf(later) > limit) {
      size_t half = launches.size() / 2;
      batch(kernel, launches.take_front(half));
      batch(kernel, launches.drop_front(half));
      return;
    }
    order = std::move(later);
    replace(launches, batched(kernel, launches.size()));
  }

  void replace(ArrayRef<Operation *> launches, plan::KernelOp kernel) {
    SmallVector<Value> inputs, outputs;
    SmallVector<Location> locations;
    for (Operation *launch : launches) {
      llvm::append_range(inputs, cast<plan::LaunchOp>(launch).getInputs());
      llvm::append_range(outputs, cast<plan::LaunchOp>(launch).getOutputs());
      locations.push_back(launch->getLoc());
    }
    OpBuilder b(launches.back());
    plan::LaunchOp::create(b, FusedLoc::get(b.getContext(), locations),
                           FlatSymbolRefAttr::get(kernel), inputs, outputs,
                           /*workspace=*/nullptr, /*follows=*/nullptr,
                           /*shard_rows=*/nullptr);
    llvm::append_range(replaced, launches);
  }

  /// Returns the kernel with `count` sets of arguments.
  plan::KernelOp batched(plan::KernelOp kernel, int64_t count) {
    std::string name = (kernel.getSymName() + "_x" + Twine(count)).str();
    if (auto known = symbols.lookup<plan::KernelOp>(name))
      return known;
    plan::KernelOp clone = kernel.clone();
    Builder b(clone.getContext());
    clone.setSymName(name);
    clone.getFusion()->setAttr(plan::kBatch, b.getI64IntegerAttr(count));
    if (std::optional<int64_t> flops = clone.getFlops())
      clone.setFlops(count * *flops);
    if (std::optional<int64_t> skipped = clone.getSkipped())
      clone.setSkipped(count * *skipped);
    symbols.insert(clone, std::next(kernel->getIterator()));
    return clone;
  }

  plan::CommandListOp list;
  SmallVector<Operation *> steps;
  SmallVector<Operation *> order; ///< the steps with batches together
  std::vector<SmallVector<size_t>> needs;
  SymbolTable symbols;
  llvm::MapVector<StringAttr, SmallVector<Operation *>> groups;
  DenseMap<Operation *, StringAttr> waiting; ///< kernel of a launch
  SmallVector<Operation *> replaced;         ///< erased in the end
  double limit = 0;
  size_t tries = 0;
};

struct BatchLaunches : frit::planning::impl::BatchLaunchesBase<BatchLaunches> {
  void runOnOperation() override {
    for (auto op : getOperation().getOps<plan::TargetOp>())
      for (plan::CommandListOp list : op.getMains())
        Batcher(list).run();
  }
};

} // namespace

std::unique_ptr<Pass> frit::planning::createBatchLaunchesPass() {
  return std::make_unique<BatchLaunches>();
}
