//===- MemoryReport.cpp - --memory-report ---------------------------------===//

#include "compiler/driver/MemoryReport.h"

#include "codegen/cuda/compile/Nvrtc.h"
#include "dialects/nn/NN.h"
#include "dialects/plan/Plan.h"

#include "frit/printable.h"
#include "frit/units.h"

using namespace mlir;
using namespace frit;

namespace {

/// An arena buffer and the steps it is live at.
struct Live {
  uint64_t bytes = 0;
  int64_t first = 0, last = 0;
  std::string what;
};

SmallVector<Live> collect(plan::CommandListOp list) {
  llvm::MapVector<Operation *, Live> live;
  int64_t step = 0;
  for (Operation *op : plan::stepsOf(list)) {
    auto touch = [&](Value value, bool written) {
      plan::BufferOp root = plan::rootOf(value);
      if (root.getSpace() != plan::Space::arena)
        return;
      auto [it, isNew] = live.insert({root, Live()});
      Live &entry = it->second;
      entry.last = step;
      if (!isNew)
        return;
      entry.first = step;
      entry.bytes = plan::byteSize(root.getBuffer().getType());
      entry.what = nn::shapeText(
          cast<MemRefType>(root.getBuffer().getType()).getShape());
      if (written)
        entry.what += " of " + plan::nodeNames(op->getLoc());
    };
    for (Value value : plan::readsOf(op))
      touch(value, false);
    for (Value value : plan::writesOf(op))
      touch(value, true);
    ++step;
  }
  return llvm::map_to_vector(live, [](auto &entry) { return entry.second; });
}

/// Prints the arena of a list, and the buffers that are live at its peak.
void reportList(plan::CommandListOp main, bool isNamed, raw_ostream &os) {
  uint64_t arena = main.getArenaBytes().value_or(0);
  uint64_t bound = main.getLowerBound().value_or(0);
  if (isNamed)
    os << main.getSymName() << "\n";
  os << "  arena     " << memoryText(arena) << ", lower bound "
     << memoryText(bound)
     << llvm::formatv(" ({0:F3}x)", bound ? double(arena) / bound : 1.0)
     << "\n";
  SmallVector<Live> live = collect(main);
  uint64_t peak = 0;
  int64_t at = 0;
  for (const Live &start : live) {
    uint64_t sum = 0;
    for (const Live &other : live)
      if (other.first <= start.first && start.first <= other.last)
        sum += other.bytes;
    if (sum > peak)
      std::tie(peak, at) = std::pair(sum, start.first);
  }
  llvm::erase_if(live,
                 [&](const Live &l) { return l.first > at || l.last < at; });
  llvm::stable_sort(
      live, [](const Live &a, const Live &b) { return a.bytes > b.bytes; });
  os << "  live at the peak, step " << at << ":\n";
  for (const Live &l : ArrayRef(live).take_front(10))
    os << "    " << memoryText(l.bytes) << "  " << printable(l.what) << "\n";
}

/// Returns whether host threads need memory whose size only the runtime knows.
bool packsOperands(plan::TargetOp target) {
  return !cuda::isCudaArch(target.getArch()) &&
         target
             .walk([](Operation *op) {
               return isa<plan::GemmOp, plan::ConvOp>(op)
                          ? WalkResult::interrupt()
                          : WalkResult::advance();
             })
             .wasInterrupted();
}

} // namespace

void frit::reportMemory(ModuleOp plans, raw_ostream &os) {
  uint64_t weights = 0;
  for (auto constant : plans.getOps<plan::ConstantOp>())
    weights += plan::byteSize(constant.getValue().getType());
  uint64_t state = 0;
  for (auto op : plans.getOps<plan::StateOp>())
    state += plan::byteSize(op.getType());
  for (auto target : plans.getOps<plan::TargetOp>()) {
    os << target.getArch() << "\n"
       << "  weights   " << memoryText(weights) << "\n";
    if (state)
      os << "  state     " << memoryText(state) << "\n";
    os << "  prepared  " << memoryText(target.getPreparedBytes().value_or(0))
       << "\n";
    SmallVector<plan::CommandListOp> mains = target.getMains();
    for (plan::CommandListOp main : mains)
      reportList(main, mains.size() > 1, os);
    if (packsOperands(target))
      os << "  packed operands of products and convolutions come on top: how "
            "large they are\n  depends on the processor and its threads, and "
            "frit-run --info says it\n";
  }
}
