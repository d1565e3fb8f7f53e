//===- MergePlans.cpp - Merge the plans in nested modules -----------------===//
//
//   module {
//     module { plan.state @p  plan.program @a "sm_90a" function = "f" }
//     module @main_8 { … the same function for another size … }
//     module { plan.state @p  plan.program @b "sm_90a" function = "g" }
//   }
// ==>
//   plan.state @p
//   plan.program @a_f "sm_90a" { command_list @main  command_list @main_8 }
//   plan.program @b_g "sm_90a" { command_list @main }
//
// For frit-opt: does what the pipeline does with the plans of a model's
// variants and functions. A module's name becomes that of its main list;
// without one the list is called "main".
//
//===----------------------------------------------------------------------===//

#include "compiler/planning/Passes.h"
#include "compiler/planning/Plans.h"

namespace frit::planning {
#define GEN_PASS_DEF_MERGEPLANS
#include "compiler/planning/Passes.h.inc"
} // namespace frit::planning

using namespace mlir;
using namespace frit;

namespace {

struct MergePlans : frit::planning::impl::MergePlansBase<MergePlans> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    planning::Plans plans(module.getLoc());
    for (auto nested : llvm::make_early_inc_range(module.getOps<ModuleOp>())) {
      if (failed(plans.add(nested, nested.getSymName().value_or("main"))))
        return signalPassFailure();
      nested.erase();
    }
    Block *body = module.getBody();
    body->getOperations().splice(body->end(),
                                 plans.module().getBody()->getOperations());
  }
};

} // namespace

std::unique_ptr<Pass> frit::planning::createMergePlansPass() {
  return std::make_unique<MergePlans>();
}
