//===- Passes.h - From scheduled fusions to a plan ------------------------===//

#ifndef FRIT_COMPILER_PLANNING_PASSES_H
#define FRIT_COMPILER_PLANNING_PASSES_H

#include "dialects/nn/Target.h"

#include "mlir/Pass/Pass.h"

namespace frit::plan {
class CommandListOp;
} // namespace frit::plan

namespace frit::planning {

struct BuildPlanOptions {
  std::string arch;
  /// Whether a library call gets a kernel of our own to fall back on.
  bool fallbacks = true;
  /// Bytes every library call may use.
  int64_t workspaceBytes = 32 << 20;
};

/// Turns @main and @prepare, whose operators are all in scheduled fusions, into
/// a plan.program and the plan.constants it reads.
std::unique_ptr<mlir::Pass>
createBuildPlanPass(const BuildPlanOptions &options);

/// Lets steps of what is run per call run beside each other where they leave
/// the machine partly idle and branches cost less than that.
std::unique_ptr<mlir::Pass> createForkPass(const nn::Target &target);

/// How many steps of a list may run beside another one.
size_t countForked(plan::CommandListOp list);

/// Gives every arena buffer its offset and records the sizes of the arenas.
std::unique_ptr<mlir::Pass> createPlanMemoryPass();

/// Registers them for frit-opt. The target must live as long as passes are
/// made.
void registerPlanningPasses(const nn::Target &target);

} // namespace frit::planning

#endif // FRIT_COMPILER_PLANNING_PASSES_H
