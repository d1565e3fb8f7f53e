//===- MergePlans.cpp - Merge the plans in nested modules -----------------===//
//
//   module {
//     module { plan.state @p  plan.function "f"  plan.target "sm_90a" {…} }
//     module @f_8 { … the same function for another size … }
//     module { plan.state @p  plan.function "g"  plan.target "sm_90a" {…} }
//   }
// ==>
//   plan.state @p
//   plan.function "f"
//   plan.function "g"
//   plan.target "sm_90a" {
//     … kernels, each once …
//     plan.command_list @f of "f"
//     plan.command_list @f_8 of "f"
//     plan.command_list @g of "g"
//   }
//
// For frit-opt: does what the pipeline does with the plans of a model's
// variants and functions. A module's name becomes that of its main list.
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
      if (failed(plans.add(nested, nested.getSymName().value_or(""))))
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
