//===- EmitKernels.h - The CUDA C++ of a plan's kernels -------------------===//

#ifndef FRIT_CODEGEN_CUDA_COMPILE_EMITKERNELS_H
#define FRIT_CODEGEN_CUDA_COMPILE_EMITKERNELS_H

#include "codegen/cuda/target/CudaTarget.h"

#include "mlir/Pass/Pass.h"

namespace frit::cuda {

/// Runs on a plan.target and emits each of its plan.kernels: sets how it is
/// launched, its text, and the module that it is compiled in. `options` are the
/// target's, except that the architecture is the program's. Programs of other
/// targets are left alone.
std::unique_ptr<mlir::Pass> createEmitKernelsPass(const CudaOptions &options);

/// Adds `--emit-kernels` to frit-opt.
void registerEmitKernelsPass();

} // namespace frit::cuda

#endif // FRIT_CODEGEN_CUDA_COMPILE_EMITKERNELS_H
