//===- CheckEdges.cpp - Check that edges order what shares memory ---------===//
//
//   plan.launch @a(%x) -> (%0)
//   plan.launch @b(%0) -> (%y) {follows = array<i64>}
// ==>
//   error: 'plan.launch' op may run before step 0 has ended, and uses the same
//   memory: it must follow that step
//
// A missing edge would be a race on the device, which tests hardly find.
//
//===----------------------------------------------------------------------===//

#include "compiler/planning/Passes.h"
#include "compiler/planning/StepOrder.h"

namespace frit::planning {
#define GEN_PASS_DEF_CHECKEDGES
#include "compiler/planning/Passes.h.inc"
} // namespace frit::planning

using namespace mlir;
using namespace frit;
using namespace frit::planning;

static LogicalResult checkEdges(plan::CommandListOp list) {
  StepOrder order(list);
  ArrayRef<Operation *> steps = order.steps();
  for (auto [place, needed] : llvm::enumerate(dependences(steps)))
    for (size_t other : needed)
      if (!order.precedes(other, place)) {
        InFlightDiagnostic error =
            steps[place]->emitOpError("may run before step ")
            << other << " has ended, and uses the same memory: it must follow "
            << "that step";
        error.attachNote(steps[other]->getLoc()) << "step " << other;
        return error;
      }
  return success();
}

namespace {
struct CheckEdges : frit::planning::impl::CheckEdgesBase<CheckEdges> {
  void runOnOperation() override {
    for (auto op : getOperation().getOps<plan::TargetOp>())
      for (plan::CommandListOp list : op.getMains())
        if (failed(checkEdges(list)))
          return signalPassFailure();
  }
};
} // namespace

std::unique_ptr<Pass> frit::planning::createCheckEdgesPass() {
  return std::make_unique<CheckEdges>();
}
