//===- Passes.h - From scheduled fusions to a plan ------------------------===//

#ifndef FRIT_COMPILER_PLANNING_PASSES_H
#define FRIT_COMPILER_PLANNING_PASSES_H

#include "mlir/Pass/Pass.h"

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

/// Gives every arena buffer its offset and records the sizes of the arenas.
std::unique_ptr<mlir::Pass> createPlanMemoryPass();

/// Registers both for frit-opt.
void registerPlanningPasses();

} // namespace frit::planning

#endif // FRIT_COMPILER_PLANNING_PASSES_H
