//===- EmitModule.h - All kernels of a target as one translation unit -----===//

#ifndef FRIT_CODEGEN_CUDA_EMITMODULE_H
#define FRIT_CODEGEN_CUDA_EMITMODULE_H

#include "codegen/cuda/Emit.h"

namespace frit::cuda {

/// The kernels in order under the headers they need: what `-S` writes and what
/// NVRTC compiles.
std::string emitModule(llvm::ArrayRef<KernelText> kernels);

/// Adds `--print-cuda` to frit-opt: prints every fusion of a module as CUDA C++
/// with its launch, and compiles the text for the architectures of `compile=`.
void registerPrintCudaPass();

} // namespace frit::cuda

#endif // FRIT_CODEGEN_CUDA_EMITMODULE_H
