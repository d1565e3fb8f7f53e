//===- Registration.cpp - Dialects and passes of frit-opt -----------------===//

#include "tools/frit-opt/Registration.h"

#include "codegen/cpu/CpuDialect.h"
#include "codegen/cpu/Passes.h"
#include "codegen/cuda/compile/EmitKernels.h"
#include "codegen/cuda/compile/EmitModule.h"
#include "compiler/planning/Passes.h"
#include "compiler/transform/Passes.h"
#include "dialects/nn/lowering/Lowering.h"
#include "dialects/plan/Plan.h"
#include "tools/frit-opt/DescribePass.h"
#include "tools/frit-opt/TestTarget.h"

#include "mlir/Transforms/Passes.h"

using namespace mlir;

void frit::registerEverything(DialectRegistry &registry) {
  registry
      .insert<nn::NNDialect, plan::PlanDialect, cuda::CudaDialect,
              cpu::CpuDialect, arith::ArithDialect, func::FuncDialect,
              linalg::LinalgDialect, math::MathDialect, memref::MemRefDialect,
              scf::SCFDialect, tensor::TensorDialect>();
  registerCanonicalizerPass();
  registerCSEPass();
  nn::registerLowerPass();
  cpu::registerPlaceAllocationsPass();
  cuda::registerEmitKernelsPass();
  cuda::registerPrintCudaPass();
  registerDescribePass();

  static const TestTarget target;
  registerTransformPasses(target);
  planning::registerPlanningPasses(target);
}
