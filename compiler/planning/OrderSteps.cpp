//===- OrderSteps.cpp - Let collectives run beside other steps ------------===//
//
//   plan.launch @a(%x) -> (%0)
//   plan.collective mean %0
//   plan.launch @b(%x) -> (%1)
//   plan.await %0
//   plan.launch @c(%0, %1) -> (%y)
// ==>
//   plan.launch @a(%x) -> (%0)
//   plan.collective mean %0
//   plan.launch @b(%x) -> (%1) {follows = array<i64: 0>}
//   plan.await %0 {follows = array<i64: 1, 2>}
//   plan.launch @c(%0, %1) -> (%y)
//
// Only the next collective and the steps that await it follow a collective; all
// others follow the step before it. A list with edges of its own stays.
//
//===----------------------------------------------------------------------===//

#include "compiler/planning/Passes.h"
#include "dialects/plan/Plan.h"

namespace frit::planning {
#define GEN_PASS_DEF_ORDERSTEPS
#include "compiler/planning/Passes.h.inc"
} // namespace frit::planning

using namespace mlir;
using namespace frit;

namespace {

/// A collective that no step has awaited yet.
struct Pending {
  Value buffer;
  int64_t place;
};

struct OrderSteps : frit::planning::impl::OrderStepsBase<OrderSteps> {
  void runOnOperation() override {
    for (auto op : getOperation().getOps<plan::TargetOp>())
      for (plan::CommandListOp list : op.getMains())
        orderSteps(list);
  }

private:
  static void orderSteps(plan::CommandListOp list) {
    SmallVector<Operation *> steps = plan::stepsOf(list);
    if (llvm::none_of(steps, llvm::IsaPred<plan::CollectiveOp>) ||
        llvm::any_of(steps, [](Operation *step) {
          return bool(cast<plan::StepOp>(step).getFollowsAttr());
        }))
      return;
    std::vector<plan::Follows> follows = plan::defaultFollows(steps);
    std::optional<int64_t> last, lastCollective;
    SmallVector<Pending> pending;
    for (auto [place, step] : llvm::enumerate(steps)) {
      if (step->getParentOp() != list)
        continue; // collectives are in no guard
      plan::Follows &own = follows[place];
      own.clear();
      if (last)
        own.push_back(*last);
      if (isa<plan::CollectiveOp>(step)) {
        if (lastCollective)
          own.push_back(*lastCollective);
        lastCollective = place;
        pending.push_back({plan::writesOf(step).front(), int64_t(place)});
      } else {
        if (auto await = dyn_cast<plan::AwaitOp>(step))
          takeAwaited(await, pending, own);
        last = place;
      }
      llvm::sort(own);
    }
    plan::setFollows(steps, follows);
  }

  /// Moves the collectives that a step awaits from `pending` to `follows`.
  static void takeAwaited(plan::AwaitOp await, SmallVector<Pending> &pending,
                          plan::Follows &follows) {
    llvm::erase_if(pending, [&](const Pending &entry) {
      bool isAwaited = llvm::is_contained(await.getBuffers(), entry.buffer);
      if (isAwaited)
        follows.push_back(entry.place);
      return isAwaited;
    });
  }
};

} // namespace

std::unique_ptr<Pass> frit::planning::createOrderStepsPass() {
  return std::make_unique<OrderSteps>();
}
