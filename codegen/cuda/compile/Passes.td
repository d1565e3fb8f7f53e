//===- Passes.td - The pass that emits CUDA C++ -----------------------------===//

#ifndef FRIT_CODEGEN_CUDA_COMPILE_PASSES_TD
#define FRIT_CODEGEN_CUDA_COMPILE_PASSES_TD

include "mlir/Pass/PassBase.td"

def EmitKernels : Pass<"emit-kernels", "::frit::plan::TargetOp"> {
  let summary = "Emit the kernels of CUDA programs";
  let constructor = "made in EmitKernels.h";
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::func::FuncDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
}

#endif // FRIT_CODEGEN_CUDA_COMPILE_PASSES_TD
