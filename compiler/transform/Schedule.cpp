//===- Schedule.cpp - How each fusion runs --------------------------------===//
//
//   nn.fusion(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32> { ... }
// ==>
//   nn.fusion(%x) schedule <skeleton = map, vector = 4, ...> : ...
//
//===----------------------------------------------------------------------===//

#include "compiler/transform/Passes.h"

namespace frit {
#define GEN_PASS_DEF_SCHEDULE
#include "compiler/transform/Passes.h.inc"
} // namespace frit

using namespace mlir;
using namespace frit;
using namespace frit::nn;

namespace {
class Schedule : public frit::impl::ScheduleBase<Schedule> {
public:
  explicit Schedule(const Target &target) : target(target) {}

  void runOnOperation() override {
    getOperation().walk([&](FusionOp fusion) {
      fusion.setScheduleAttr(target.schedule(fusion));
    });
  }

private:
  const Target &target;
};
} // namespace

std::unique_ptr<Pass> frit::createSchedule(const Target &target) {
  return std::make_unique<Schedule>(target);
}
