//===- EmitModule.h - Kernels as translation units ------------------------===//
//
// NVRTC takes as long for a network's kernels as for anything else in a
// compilation, and compiles a translation unit in one thread. So the kernels of
// a target are grouped into modules that take about equally long. The groups
// follow from the kernels' text alone: the same model gives the same bytes on
// every machine.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_COMPILE_EMITMODULE_H
#define FRIT_CODEGEN_CUDA_COMPILE_EMITMODULE_H

#include "codegen/cuda/target/Emit.h"

#include <vector>

namespace frit::cuda {

/// Kernels under the headers they need.
struct ModuleText {
  std::string text;
  /// The numbers of its kernels among those of the target, and where in `text`
  /// each begins.
  llvm::SmallVector<size_t> kernels, starts;
  /// What NVRTC takes for it, roughly.
  double milliseconds = 0;
  /// Whether a kernel has another body for other architectures.
  bool hasFloor = false;

  /// The kernel whose text has line `line`, counted from 1, or none.
  std::optional<size_t> kernelAt(size_t line) const;
};

/// All of `kernels`, in order.
ModuleText joinKernels(llvm::ArrayRef<KernelText> kernels);

/// The modules that `kernels` are compiled in, each in one of them.
std::vector<ModuleText> groupKernels(llvm::ArrayRef<KernelText> kernels);

/// Adds `--print-cuda` to frit-opt: prints every fusion of a module as CUDA C++
/// with its launch, and compiles the text for the architectures of `compile=`.
void registerPrintCudaPass();

} // namespace frit::cuda

#endif // FRIT_CODEGEN_CUDA_COMPILE_EMITMODULE_H
