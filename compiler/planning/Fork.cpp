//===- Fork.cpp - Run steps concurrently where that is faster -------------===//
//
//   plan.launch @a(%x) -> (%0)
//   plan.launch @b(%0) -> (%1)
//   plan.launch @c(%0) -> (%2)
//   plan.launch @d(%1, %2) -> (%y)
// ==>
//   plan.launch @a(%x) -> (%0)
//   plan.launch @b(%0) -> (%1)
//   plan.launch @c(%0) -> (%2) {follows = array<i64: 0>}
//   plan.launch @d(%1, %2) -> (%y) {follows = array<i64: 1, 2>}
//
// A list is divided into regions at the steps that depend on all earlier ones
// and that all later ones depend on; library calls, copies and guards divide it
// too. Each region is a chain, or is split into branches if that is faster by
// the target's step costs. Buffers of concurrent steps are live at the same
// time; branches that make the arena grow too much are rejected.
//
//===----------------------------------------------------------------------===//

#include "compiler/planning/Branches.h"
#include "compiler/planning/Passes.h"
#include "compiler/planning/StepOrder.h"
#include "dialects/nn/rewrites/RunBeside.h"
#include "frit/artifact.h"

#include "mlir/IR/Remarks.h"

namespace frit::planning {
#define GEN_PASS_DEF_FORK
#include "compiler/planning/Passes.h.inc"
} // namespace frit::planning

using namespace mlir;
using namespace frit;
using namespace frit::planning;

/// Maximum concurrent branches.
static constexpr unsigned kMostBranches = 4;

/// Minimum gain of a region in microseconds, because times are estimates.
static constexpr double kLeastGain = 0.5;

/// Growth of the arena's lower bound that branches may cause.
static constexpr double kMostGrowth = 1.03;

/// Longest list that is forked, because liveness of concurrent steps is
/// computed for every pair. Stable Diffusion 1.5's U-Net has 507 steps.
static constexpr size_t kMostSteps = 4096;

namespace {

/// The steps [first, first + costs.size()) of a list; all have known costs.
struct Region {
  size_t first = 0;
  SmallVector<nn::StepCost> costs;
};

/// Forks a list.
class Forker {
public:
  Forker(plan::CommandListOp list, const nn::Target &target,
         nn::BranchCosts costs)
      : list(list), target(target), costs(costs), steps(plan::stepsOf(list)),
        needs(dependences(steps)), follows(plan::followsOf(steps)), uses(steps),
        symbols(list->getParentOp()) {}

  void run() {
    hasBeside = llvm::any_of(steps, [&](Operation *s) { return isBeside(s); });
    limit = kMostGrowth * uses.lowerBound(StepOrder(list));
    Region known;
    for (auto [place, step] : llvm::enumerate(steps)) {
      if (std::optional<nn::StepCost> cost = costOf(step)) {
        if (known.costs.empty())
          known.first = place;
        known.costs.push_back(*cost);
        continue;
      }
      divide(known);
      known.costs.clear();
    }
    divide(known);
    plan::setFollows(steps, follows);
  }

private:
  /// Returns the cost of a step; none if it must run alone.
  std::optional<nn::StepCost> costOf(Operation *step) const {
    auto launch = dyn_cast<plan::LaunchOp>(step);
    if (!launch || launch->getParentOp() != list)
      return std::nullopt;
    auto [it, isNew] = known.try_emplace(launch.getKernelAttr().getAttr());
    if (isNew) {
      nn::FusionOp fusion = fusionOf(launch);
      if (hasBeside || !isa<nn::AttentionOp>(fusion.getAnchor()))
        it->second = target.cost(fusion);
    }
    return it->second;
  }

  nn::FusionOp fusionOf(plan::LaunchOp launch) const {
    StringRef name = launch.getKernelAttr().getValue();
    return cast<nn::FusionOp>(symbols.lookup<plan::KernelOp>(name).getFusion());
  }

  /// Returns whether a step is a kernel that leaves room to others.
  bool isBeside(Operation *step) const {
    auto launch = dyn_cast<plan::LaunchOp>(step);
    return launch && fusionOf(launch)->hasAttr(nn::kBesideAttr);
  }

  /// Forks the regions between dividing steps, which every other step of
  /// `whole` leads to or comes from.
  void divide(const Region &whole) {
    size_t count = whole.costs.size();
    // A step leads to a later one if it and every step between them have a
    // reader no later than that. The same holds backwards.
    constexpr size_t nobody = ~size_t(0);
    SmallVector<size_t> nextReader(count, nobody), lastNeed(count, nobody);
    for (size_t i = 0; i < count; ++i)
      for (size_t other : needs[whole.first + i]) {
        if (other < whole.first)
          continue;
        size_t &reader = nextReader[other - whole.first];
        reader = std::min(reader, i);
        lastNeed[i] = other - whole.first;
      }
    // reads: latest reader of the steps before i. needed: earliest need of the
    // steps after i.
    SmallVector<size_t> reads(count + 1, 0), needed(count + 1, nobody);
    for (size_t i = 0; i < count; ++i)
      reads[i + 1] = std::max(reads[i], nextReader[i]);
    for (size_t i = count; i-- > 0;)
      needed[i] =
          lastNeed[i] == nobody ? 0 : std::min(needed[i + 1], lastNeed[i] + 1);
    size_t begin = 0;
    for (size_t i = 0; i <= count; ++i)
      if (i == count || (reads[i] <= i && needed[i + 1] >= i + 1)) {
        Region part;
        part.first = whole.first + begin;
        part.costs.assign(whole.costs.begin() + begin, whole.costs.begin() + i);
        fork(part);
        begin = i + 1;
      }
  }

  void fork(const Region &region) {
    size_t count = region.costs.size();
    if (count < 2)
      return;
    if (steps.size() > kMostSteps) {
      remark::missed(steps[region.first]->getLoc(),
                     remark::RemarkOpts::name("NotForked").category("fork"))
          << remark::add("{0} steps stay a chain: the list has {1}, and orders "
                         "of more than {2} take long to work out",
                         count, steps.size(), kMostSteps);
      return;
    }
    SmallVector<Job> jobs;
    double most = limit;
    bool sharing = false;
    for (size_t i = 0; i < count; ++i) {
      Operation *step = steps[region.first + i];
      Job &job = jobs.emplace_back();
      job.cost = region.costs[i];
      job.isBeside = isBeside(step);
      sharing |= job.isBeside;
      // It is in nobody's way if it runs early, so its results wait longer.
      if (job.isBeside)
        for (Value written : plan::writesOf(step))
          most += double(plan::byteSize(written.getType()));
      for (size_t other : needs[region.first + i])
        if (other >= region.first)
          job.after.push_back(other - region.first);
    }
    SmallVector<Branches> choices;
    for (unsigned count = 2; count <= kMostBranches; ++count)
      choices.push_back(branchOut(jobs, count, costs));
    llvm::stable_sort(choices, [](const Branches &a, const Branches &b) {
      return a.microseconds < b.microseconds;
    });
    double chain = chainMicroseconds(jobs);
    for (const Branches &branches : choices) {
      if (branches.microseconds > chain - kLeastGain)
        break;
      std::vector<plan::Follows> chained = follows;
      apply(region.first, branches);
      uint64_t bytes =
          uses.peakBetween(StepOrder(steps, follows, region.first, count),
                           region.first, count, sharing);
      if (double(bytes) <= most) {
        remark::passed(steps[region.first]->getLoc(),
                       remark::RemarkOpts::name("Forked").category("fork"))
            << remark::add("{0} steps from here on take {1:F1} us concurrently "
                           "and {2:F1} us one after another",
                           count, branches.microseconds, chain);
        return;
      }
      follows = std::move(chained);
      remark::missed(steps[region.first]->getLoc(),
                     remark::RemarkOpts::name("NotForked").category("fork"))
          << remark::add("{0} concurrent steps would gain {1:F1} us but "
                         "need {2} live bytes, more than {3}",
                         count, chain - branches.microseconds, bytes,
                         uint64_t(most));
    }
  }

  /// Sets what the region's steps follow, and the steps after it. Those that
  /// follow its last step follow the ends of all branches.
  void apply(size_t first, const Branches &branches) {
    size_t end = first + branches.follows.size();
    plan::Follows before = follows[first], ends;
    for (auto [i, others] : llvm::enumerate(branches.follows)) {
      plan::Follows &own = follows[first + i];
      own = others.empty() ? before : plan::Follows();
      for (size_t other : others) {
        own.push_back(first + other);
        llvm::erase(ends, first + other);
      }
      ends.push_back(first + i);
    }
    for (size_t place = end; place < steps.size(); ++place) {
      plan::Follows &own = follows[place];
      if (auto *it = llvm::find(own, int64_t(end - 1)); it != own.end()) {
        own.erase(it);
        own.append(ends);
        llvm::sort(own);
      }
      // All later steps lead to this one.
      if (!isa<plan::CollectiveOp>(steps[place]))
        break;
    }
  }

  plan::CommandListOp list;
  const nn::Target &target;
  nn::BranchCosts costs;
  SmallVector<Operation *> steps;
  std::vector<SmallVector<size_t>> needs;
  std::vector<plan::Follows> follows;
  ArenaUses uses;
  double limit = 0;
  /// Whether kernels run beside many others. Else attention divides the list:
  /// branches of more than a layer would take much memory.
  bool hasBeside = false;
  SymbolTable symbols;
  mutable DenseMap<StringAttr, std::optional<nn::StepCost>> known;
};

struct Fork : frit::planning::impl::ForkBase<Fork> {
  explicit Fork(const nn::Target &target) : target(target) {}

  void runOnOperation() override {
    std::optional<nn::BranchCosts> costs = target.branchCosts();
    if (!costs)
      return;
    for (auto op : getOperation().getOps<plan::TargetOp>())
      for (plan::CommandListOp list : op.getMains())
        Forker(list, target, *costs).run();
  }

private:
  const nn::Target &target;
};

} // namespace

std::unique_ptr<Pass> frit::planning::createForkPass(const nn::Target &target) {
  return std::make_unique<Fork>(target);
}

size_t frit::planning::countForked(plan::CommandListOp list) {
  StepOrder order(list);
  size_t count = order.steps().size();
  if (order.isChain())
    return 0;
  llvm::BitVector forked(count);
  for (size_t b = 0; b < count; ++b)
    for (size_t a = 0; a < b; ++a)
      if (!order.precedes(a, b) && !isa<plan::CollectiveOp>(order.steps()[a])) {
        forked.set(a);
        forked.set(b);
      }
  return forked.count();
}
