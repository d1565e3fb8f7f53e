//===- Plans.cpp - The plans of all targets -------------------------------===//

#include "compiler/planning/Plans.h"

#include "compiler/planning/MergeTargets.h"

using namespace mlir;
using namespace frit;

LogicalResult planning::Plans::add(ModuleOp variant, StringRef name) {
  auto functions = variant.getOps<plan::FunctionOp>();
  constants.take(variant,
                 functions.empty() ? "" : (*functions.begin()).getName());
  if (failed(states.take(variant)))
    return failure();
  for (auto function :
       llvm::make_early_inc_range(variant.getOps<plan::FunctionOp>()))
    if (failed(take(function)))
      return failure();
  for (auto from :
       llvm::make_early_inc_range(variant.getOps<plan::TargetOp>())) {
    SmallVector<plan::CommandListOp> mains = from.getMains();
    if (mains.size() != 1)
      return from.emitOpError("has ")
             << mains.size() << " main lists; each is merged from a module of "
             << "its own";
    if (!name.empty())
      mains.front().setSymName(name);
    if (plan::TargetOp into = target(from.getArch())) {
      mergeTarget(into, from);
      continue;
    }
    from->remove();
    plans->push_back(from);
  }
  return success();
}

LogicalResult planning::Plans::take(plan::FunctionOp function) {
  for (auto known : plans->getOps<plan::FunctionOp>()) {
    if (known.getName() != function.getName())
      continue;
    if (known.getInputs() == function.getInputs() &&
        known.getOutputs() == function.getOutputs() &&
        known.getRole() == function.getRole())
      return success();
    return function.emitOpError(
        "has other inputs, outputs or another role in another plan");
  }
  function->remove();
  // Functions come before targets.
  auto targets = plans->getOps<plan::TargetOp>();
  Block *body = plans->getBody();
  body->getOperations().insert(
      targets.empty() ? body->end() : (*targets.begin())->getIterator(),
      function);
  return success();
}

plan::TargetOp planning::Plans::target(StringRef arch) const {
  for (auto target : module().getOps<plan::TargetOp>())
    if (target.getArch() == arch)
      return target;
  return {};
}
