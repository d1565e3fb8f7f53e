//===- Passes.h - Passes from scheduled fusions to a plan -----------------===//

#ifndef FRIT_COMPILER_PLANNING_PASSES_H
#define FRIT_COMPILER_PLANNING_PASSES_H

#include "dialects/nn/Target.h"

#include "frit/roles.h"

#include "mlir/Pass/Pass.h"

namespace frit::plan {
class CommandListOp;
} // namespace frit::plan

namespace frit::planning {

struct BuildPlanOptions {
  const nn::Target &target; ///< outlives the pass
  /// Name of the artifact's function that @main is.
  std::string function = "main";
  frit_function_role role = FRIT_FUNCTION_INFERENCE;
  /// Whether library calls get the fallbacks that the target needs.
  bool fallbacks = true;
};

/// Turns @main and @prepare, in which all operators are in scheduled fusions,
/// into a plan.function and a plan.target with its plan.constants.
std::unique_ptr<mlir::Pass>
createBuildPlanPass(const BuildPlanOptions &options);

/// Replaces launches of the same kernel in a main list by one, if the schedule
/// takes several sets of arguments and the arena hardly grows.
std::unique_ptr<mlir::Pass> createBatchLaunchesPass();

/// Lets collectives of the main lists run beside the steps up to those that
/// await them. Lists in which a step says what it follows stay.
std::unique_ptr<mlir::Pass> createOrderStepsPass();

/// Makes steps of the main lists concurrent where that is faster by the
/// target's costs.
std::unique_ptr<mlir::Pass> createForkPass(const nn::Target &target);

/// Returns the number of steps of a list that may run concurrently with others.
size_t countForked(plan::CommandListOp list);

/// Merges the plans in nested modules, for frit-opt.
std::unique_ptr<mlir::Pass> createMergePlansPass();

/// Checks that the edges of the main lists order all steps that use the same
/// memory, unless both only read it.
std::unique_ptr<mlir::Pass> createCheckEdgesPass();

/// Sets the offset of every arena buffer and of every state, and the sizes of
/// the arenas.
std::unique_ptr<mlir::Pass> createPlanMemoryPass();

/// Registers the passes for frit-opt. The target must outlive all passes that
/// are created.
void registerPlanningPasses(const nn::Target &target);

} // namespace frit::planning

#endif // FRIT_COMPILER_PLANNING_PASSES_H
