//===- RunBeside.cpp - Products that run beside other kernels -------------===//
//
//   %t = nn.fusion(...)                               // of a time
//   %x = nn.fusion(...) ...                           // several layers
//   %m = nn.fusion(%t, %w) schedule(#cuda.gemv<columns = 32, ...>)
//   %y = nn.fusion(%x, %m)
// ==>
//   %m = nn.fusion(%t, %w) schedule(#cuda.gemv<..., blocks = 22>) {nn.beside}
//
// The kernels between those that compute a product's operands and the product
// itself may run at the same time (Fork.cpp). A product that does nothing but
// read weights then has time to do it with a part of the device, which others
// leave idle, and nothing waits for it.
//
//===----------------------------------------------------------------------===//

#include "dialects/nn/rewrites/RunBeside.h"
#include "compiler/transform/Passes.h"
#include "compiler/transform/TargetRewritePass.h"

namespace frit {
#define GEN_PASS_DEF_RUNBESIDE
#include "compiler/transform/Passes.h.inc"
} // namespace frit

using namespace mlir;
using namespace frit;
using namespace frit::nn;

/// Part of the time of other kernels in which they leave room for a product. In
/// the rest, both take longer.
static constexpr double kLeastRoom = 0.9;

namespace {
/// A kernel, and whether it runs beside others.
struct Step {
  FusionOp fusion;
  bool isBeside;
};

class RunBeside : public TargetRewritePass<frit::impl::RunBesideBase<RunBeside>,
                                           RunBesideRewrite> {
public:
  explicit RunBeside(const Target &target)
      : TargetRewritePass(target), target(target) {}

private:
  void run(Block &block) override;
  bool change(FusionOp fusion, ArrayRef<Step> between);

  const Target &target;
};
} // namespace

/// Changes a fusion's schedule if the steps before it that it need not wait
/// for, `between`, leave it room and take as long; returns whether it did.
bool RunBeside::change(FusionOp fusion, ArrayRef<Step> between) {
  Schedule before = fusion.getScheduleAttr(),
           beside = rewrite->schedule(fusion);
  if (!beside)
    return false;
  fusion.setScheduleAttr(beside);
  std::optional<StepCost> own = target.cost(fusion);
  double needed = own ? own->microseconds : 0, time = 0, room = 0;
  bool known = own.has_value();
  for (const Step &step : between) {
    std::optional<StepCost> cost = target.cost(step.fusion);
    known &= cost.has_value();
    if (!known)
      break;
    if (step.isBeside) {
      // They run one after another.
      needed += cost->microseconds;
      continue;
    }
    time += cost->microseconds;
    if (cost->occupancy + own->occupancy <= 1)
      room += cost->microseconds;
  }
  if (known && room >= needed && room >= kLeastRoom * time) {
    fusion->setAttr(kBesideAttr, UnitAttr::get(fusion.getContext()));
    return true;
  }
  fusion.setScheduleAttr(before);
  return false;
}

void RunBeside::run(Block &block) {
  SmallVector<Step> steps;
  // For each value, the number of steps up to the one that computes it.
  DenseMap<Value, size_t> ends;
  for (Operation &op : block) {
    size_t end = 0;
    for (Value operand : op.getOperands())
      end = std::max(end, ends.lookup(operand));
    if (auto fusion = dyn_cast<FusionOp>(op)) {
      ArrayRef<Step> between = ArrayRef(steps).drop_front(end);
      bool isBeside = !between.empty() && change(fusion, between);
      steps.push_back({fusion, isBeside});
      end = steps.size();
    }
    for (Value result : op.getResults())
      ends[result] = end;
  }
}

std::unique_ptr<Pass> frit::createRunBeside(const Target &target) {
  return std::make_unique<RunBeside>(target);
}
