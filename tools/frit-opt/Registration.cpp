//===- Registration.cpp - Dialects and passes of frit-opt -----------------===//

#include "tools/frit-opt/Registration.h"

#include "codegen/cpu/CpuDialect.h"
#include "codegen/cpu/CpuKernels.h"
#include "codegen/cpu/Passes.h"
#include "codegen/cuda/compile/EmitKernels.h"
#include "codegen/cuda/compile/EmitModule.h"
#include "compiler/planning/Passes.h"
#include "compiler/training/Passes.h"
#include "compiler/transform/Passes.h"
#include "dialects/nn/lowering/Lowering.h"
#include "dialects/plan/Plan.h"
#include "tools/frit-opt/DescribePass.h"
#include "tools/frit-opt/TestTarget.h"

#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace frit;

/// Returns the training of frit-opt's passes: SGD of the mean squared error.
/// Nodes whose names begin with "again" are recomputed.
static TrainingOptions testTraining() {
  TrainingOptions training;
  training.losses[0].kind = LossKind::mse;
  training.recompute = {"again*"};
  return training;
}

void frit::registerEverything(DialectRegistry &registry) {
  registry.insert<nn::NNDialect, plan::PlanDialect, cuda::CudaDialect,
                  cpu::CpuDialect>();
  cpu::registerDialects(registry);
  registerCanonicalizerPass();
  registerCSEPass();
  nn::registerLowerPass();
  cpu::registerPasses();
  cuda::registerEmitKernelsPass();
  cuda::registerPrintCudaPass();
  registerDescribePass();

  static const TestTarget target;
  static const TrainingOptions training = testTraining();
  registerTransformPasses(target);
  registerTrainingPasses(target, training);
  planning::registerPlanningPasses(target);
}
