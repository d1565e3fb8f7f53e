//===- Schedule.cpp - Choose a schedule for each fusion -------------------===//
//
//   nn.fusion(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32> { ... }
// ==>
//   nn.fusion(%x) schedule(#cuda.map<vector = 4, threads = 64>) : ...
//
//===----------------------------------------------------------------------===//

#include "compiler/transform/Passes.h"

namespace frit {
#define GEN_PASS_DEF_SCHEDULE
#include "compiler/transform/Passes.h.inc"
} // namespace frit

using namespace mlir;
using namespace frit;

namespace {
class SchedulePass : public frit::impl::ScheduleBase<SchedulePass> {
public:
  explicit SchedulePass(const nn::Target &target) : target(target) {}

  void getDependentDialects(DialectRegistry &registry) const override {
    target.getDialects(registry);
  }

  void runOnOperation() override {
    getOperation().walk([&](nn::FusionOp fusion) {
      nn::Schedule schedule = target.schedule(fusion);
      if (!schedule)
        return signalPassFailure();
      fusion.setScheduleAttr(schedule);
    });
  }

private:
  const nn::Target &target;
};
} // namespace

std::unique_ptr<Pass> frit::createSchedule(const nn::Target &target) {
  return std::make_unique<SchedulePass>(target);
}
