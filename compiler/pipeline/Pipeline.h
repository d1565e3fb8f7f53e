//===- Pipeline.h - The stages of a compilation, in order -----------------===//

#ifndef FRIT_COMPILER_PIPELINE_PIPELINE_H
#define FRIT_COMPILER_PIPELINE_PIPELINE_H

#include "compiler/planning/Passes.h"
#include "dialects/nn/Target.h"

#include "mlir/Pass/PassManager.h"

namespace frit {

struct PipelineOptions {
  /// fp32, tf32, fp16 or bf16.
  std::string precision = "fp32";
  /// Types that inputs and outputs have other than the model's: NAME:TYPE.
  llvm::SmallVector<std::string> types;
  /// Off with -O0: every operator is a kernel.
  bool fuse = true;
  /// Whether a condition that is data is asked for before what it picks.
  bool guard = true;
  /// Whether kernels that leave the machine partly idle run beside each other.
  bool fork = true;
  bool fallbacks = true;
  int64_t workspaceBytes = 0;
};

/// What holds for every target: an imported model becomes a smaller one in the
/// chosen precision.
void addModelPasses(mlir::OpPassManager &passes,
                    const PipelineOptions &options);

/// A target's own copy of the model becomes scheduled fusions.
void addTargetPasses(mlir::OpPassManager &passes, const nn::Target &target,
                     const PipelineOptions &options);

/// Scheduled fusions become a plan. The plans of a model's variants can then be
/// merged, and host kernels lowered, which says what workspaces they need.
void addPlanPasses(mlir::OpPassManager &passes, const nn::Target &target,
                   const PipelineOptions &options);

/// All that a call needs is placed in one arena.
void addMemoryPasses(mlir::OpPassManager &passes);

} // namespace frit

#endif // FRIT_COMPILER_PIPELINE_PIPELINE_H
