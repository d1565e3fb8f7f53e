//===- Passes.td - The passes from scheduled fusions to a plan --------------===//

#ifndef FRIT_COMPILER_PLANNING_PASSES_TD
#define FRIT_COMPILER_PLANNING_PASSES_TD

include "mlir/Pass/PassBase.td"

/// A pass over the functions or programs of a module. Constructors are in
/// Passes.h.
class PlanPass<string argument> : Pass<argument, "::mlir::ModuleOp"> {
  let constructor = "made in Passes.h";
  let dependentDialects = ["::frit::plan::PlanDialect"];
}

def BuildPlan : PlanPass<"build-plan"> {
  let summary = "Turn scheduled fusions into a plan";
}

def BatchLaunches : PlanPass<"batch-launches"> {
  let summary = "Let one launch compute what several launches of a kernel do";
}

def OrderSteps : PlanPass<"order-steps"> {
  let summary = "Let collectives run beside other steps";
}

def Fork : PlanPass<"fork"> {
  let summary = "Run steps concurrently where that is faster";
}

def MergePlans : PlanPass<"merge-plans"> {
  let summary = "Merge the plans in nested modules";
}

def CheckEdges : PlanPass<"check-edges"> {
  let summary = "Check that edges order what shares memory";
}

def PlanMemory : PlanPass<"plan-memory"> {
  let summary = "Give every arena buffer and every state its offset";
}

#endif // FRIT_COMPILER_PLANNING_PASSES_TD
