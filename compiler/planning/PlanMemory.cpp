//===- PlanMemory.cpp - Set the offsets of arena buffers and states -------===//
//
//   %a = plan.buffer arena : memref<64xf32>          live at steps 0..1
//   %b = plan.buffer arena : memref<64xf32>          live at steps 1..2
//   %c = plan.buffer arena : memref<64xf32>          live at steps 2..3
// ==>
//   %a = plan.buffer arena at 0 : memref<64xf32>
//   %b = plan.buffer arena at 256 : memref<64xf32>
//   %c = plan.buffer arena at 0 : memref<64xf32>
//
// A launch whose kernel needs a workspace gets a buffer that is live during
// that step. If steps run concurrently (Fork.cpp), a buffer's memory is reused
// only by steps that start after all of its users have ended.
//
//===----------------------------------------------------------------------===//

#include "compiler/planning/Passes.h"
#include "compiler/planning/Placement.h"
#include "compiler/planning/StepOrder.h"
#include "dialects/plan/Plan.h"
#include "frit/artifact.h"

namespace frit::planning {
#define GEN_PASS_DEF_PLANMEMORY
#include "compiler/planning/Passes.h.inc"
} // namespace frit::planning

using namespace mlir;
using namespace frit;

namespace {

struct PlanMemory : frit::planning::impl::PlanMemoryBase<PlanMemory> {
  void runOnOperation() override {
    placeStates();
    for (auto target : getOperation().getOps<plan::TargetOp>()) {
      Builder b(&getContext());
      addWorkspaces(target);
      // The derive list runs before a call, in the call's arena.
      uint64_t least = placeList(target.getDerive()).bytes;
      for (plan::CommandListOp list : target.getMains()) {
        planning::Placement main = placeList(list);
        list.setArenaBytesAttr(
            b.getI64IntegerAttr(std::max<uint64_t>(main.bytes, least)));
        list.setLowerBoundAttr(b.getI64IntegerAttr(main.lowerBound));
      }
      planning::Placement prepare = placeList(target.getPrepare());
      target.setPrepareBytesAttr(b.getI64IntegerAttr(prepare.bytes));
    }
  }

private:
  /// States that ranks share come last.
  void placeStates() {
    Builder b(&getContext());
    uint64_t end = 0;
    for (bool sharded : {false, true})
      for (auto state : getOperation().getOps<plan::StateOp>()) {
        if (state.getSharded() != sharded)
          continue;
        state.setOffsetAttr(b.getI64IntegerAttr(end));
        end += llvm::alignTo(plan::byteSize(state.getType()),
                             artifact::kAlignment);
      }
  }

  void addWorkspaces(plan::TargetOp target) {
    DenseMap<StringAttr, int64_t> needed;
    for (auto kernel : target.getBody().getOps<plan::KernelOp>())
      if (int64_t bytes = kernel.getLaunchWorkspaceBytes())
        needed[kernel.getSymNameAttr()] = bytes;
    target.walk([&](plan::LaunchOp launch) {
      int64_t bytes = needed.lookup(launch.getKernelAttr().getAttr());
      if (!bytes || launch.getWorkspace())
        return;
      // Buffers are created outside of guards.
      Operation *before = launch;
      while (isa<plan::GuardOp>(before->getParentOp()))
        before = before->getParentOp();
      ImplicitLocOpBuilder b(launch.getLoc(), before);
      auto type = MemRefType::get({bytes}, b.getI8Type());
      launch.getWorkspaceMutable().assign(plan::BufferOp::create(
          b, type, plan::Space::arena, nullptr, nullptr, nullptr));
    });
  }

  planning::Placement placeList(plan::CommandListOp list) {
    if (!list)
      return {};
    planning::StepOrder order(list);
    planning::ArenaUses uses(order.steps());
    SmallVector<planning::Interval> intervals = uses.intervals(order);
    planning::Placement result = planning::place(
        intervals, artifact::kAlignment, uses.lowerBound(order));
    Builder b(&getContext());
    SmallVector<plan::BufferOp> buffers = uses.buffers();
    for (auto [buffer, offset] : llvm::zip(buffers, result.offsets))
      buffer.setOffsetAttr(b.getI64IntegerAttr(offset));
    return result;
  }
};

} // namespace

std::unique_ptr<Pass> frit::planning::createPlanMemoryPass() {
  return std::make_unique<PlanMemory>();
}
