//===- PlanMemory.cpp - Gives every arena buffer its offset ---------------===//
//
//   %a = plan.buffer arena : memref<64xf32>          live at steps 0..1
//   %b = plan.buffer arena : memref<64xf32>          live at steps 1..2
//   %c = plan.buffer arena : memref<64xf32>          live at steps 2..3
// ==>
//   %a = plan.buffer arena at 0 : memref<64xf32>
//   %b = plan.buffer arena at 256 : memref<64xf32>
//   %c = plan.buffer arena at 0 : memref<64xf32>
//
//===----------------------------------------------------------------------===//

#include "compiler/planning/Passes.h"
#include "compiler/planning/Placement.h"
#include "dialects/plan/Plan.h"
#include "frit/artifact.h"

using namespace mlir;
using namespace frit;

namespace {

struct PlanMemory : PassWrapper<PlanMemory, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PlanMemory)
  StringRef getArgument() const override { return "plan-memory"; }
  StringRef getDescription() const override {
    return "Give every arena buffer its offset";
  }

  void runOnOperation() override {
    for (auto program : getOperation().getOps<plan::ProgramOp>()) {
      Builder b(&getContext());
      for (plan::ListOp list : program.getMains()) {
        planning::Placement main = placeList(list);
        list.setArenaBytesAttr(b.getI64IntegerAttr(main.bytes));
        list.setLowerBoundAttr(b.getI64IntegerAttr(main.lowerBound));
      }
      planning::Placement prepare = placeList(program.getPrepare());
      program.setPrepareBytesAttr(b.getI64IntegerAttr(prepare.bytes));
    }
  }

private:
  planning::Placement placeList(plan::ListOp list) {
    if (!list)
      return {};
    llvm::MapVector<plan::BufferOp, planning::Interval> live;
    int64_t step = 0;
    for (Operation &op : list.getBody().front()) {
      if (!plan::isStep(&op))
        continue;
      SmallVector<Value> values = plan::readsOf(&op);
      values.append(plan::writesOf(&op));
      for (Value value : values) {
        plan::BufferOp root = plan::rootOf(value);
        if (root.getSpace() != plan::Space::arena)
          continue;
        uint64_t bytes = plan::byteSize(root.getBuffer().getType());
        auto [it, isNew] = live.insert({root, {step, step, bytes}});
        it->second.last = step;
      }
      ++step;
    }
    auto intervals =
        llvm::map_to_vector(live, [](auto &entry) { return entry.second; });
    planning::Placement result =
        planning::place(intervals, artifact::kAlignment);
    Builder b(&getContext());
    for (auto [entry, offset] : llvm::zip(live, result.offsets))
      entry.first.setOffsetAttr(b.getI64IntegerAttr(offset));
    return result;
  }
};

} // namespace

std::unique_ptr<Pass> frit::planning::createPlanMemoryPass() {
  return std::make_unique<PlanMemory>();
}
