//===- Pipeline.cpp - The stages of a compilation, in order ---------------===//
//
// Read this file first: it is the compiler's table of contents. Each pass is a
// .cpp of its name in compiler/transform or compiler/planning, which begins
// with an example.
//
//===----------------------------------------------------------------------===//

#include "compiler/pipeline/Pipeline.h"

#include "compiler/transform/Passes.h"

using namespace mlir;
using namespace frit;

void frit::addModelPasses(OpPassManager &passes,
                          const PipelineOptions &options) {
  // Shape arithmetic folds to constants; equal operators become one. A norm
  // that is written out is not taken apart by a slice of it.
  SimplifyOptions whole;
  whole.sliceRows = false;
  passes.addPass(createSimplify(whole));
  // Batch norms fold into convolutions; attention, layer norm, gelu and silu
  // that were written out become themselves again.
  if (options.fuse)
    passes.addPass(createCompose());
  // Casts go in by operator class; sums stay f32.
  PrecisionOptions precision;
  precision.mode = options.precision;
  passes.addPass(createPrecision(precision));
  // The caller's types meet the chosen precision's: what both are stays so.
  InterfaceTypesOptions interface;
  interface.types = options.types;
  passes.addPass(createInterfaceTypes(interface));
  passes.addPass(createSimplify());
}

void frit::addTargetPasses(OpPassManager &passes, const nn::Target &target,
                           const PipelineOptions &options) {
  // Convolutional networks run channels last from end to end.
  passes.addPass(createLayout(target));
  // Layer norms become factors of the products that read them.
  if (options.fuse)
    passes.addPass(createFoldNorms(target));
  // Composites the target has no kernel for become what they mean.
  passes.addPass(createDecompose(target));
  passes.addPass(createSimplify());
  // What depends on weights alone moves to @prepare, run once at load.
  passes.addPass(createHoistPrepare());
  // What one value of a condition asks for runs for that value only.
  if (options.guard)
    passes.addPass(createGuard(target));
  // Operators become kernels, and each kernel gets its skeleton and tile.
  FusionOptions fusion;
  fusion.fuse = options.fuse;
  passes.addPass(createFusion(target, fusion));
  passes.addPass(createSchedule(target));
}

void frit::addPlanPasses(OpPassManager &passes, const nn::Target &target,
                         const PipelineOptions &options) {
  planning::BuildPlanOptions plan;
  plan.arch = target.arch();
  plan.fallbacks = options.fallbacks;
  plan.workspaceBytes = options.workspaceBytes;
  // Kernels are shared by text; steps name their buffers.
  passes.addPass(planning::createBuildPlanPass(plan));
  // What leaves the machine partly idle runs beside other such steps.
  if (options.fork)
    passes.addPass(planning::createForkPass(target));
}

void frit::addMemoryPasses(OpPassManager &passes) {
  // Every buffer gets its offset in one arena.
  passes.addPass(planning::createPlanMemoryPass());
}
