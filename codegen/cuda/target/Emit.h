//===- Emit.h - A fusion as CUDA C++ --------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_TARGET_EMIT_H
#define FRIT_CODEGEN_CUDA_TARGET_EMIT_H

#include "codegen/cuda/scalar/KernelText.h"
#include "codegen/cuda/target/CudaTarget.h"

namespace frit::cuda {

/// Emits the kernel `name` of a scheduled fusion. Checks the schedule first,
/// which may come from a file: reports an error at the fusion if the schedule
/// does not fit it.
llvm::FailureOr<KernelText>
emitKernel(nn::FusionOp fusion, llvm::StringRef name, const CudaTarget &target);

} // namespace frit::cuda

#endif // FRIT_CODEGEN_CUDA_TARGET_EMIT_H
