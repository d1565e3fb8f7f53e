//===- EmitModule.h - Kernels as translation units ------------------------===//
//
// NVRTC takes about half the time of a compilation, and compiles a translation
// unit in one thread. So the kernels of a target are grouped into modules that
// take about equally long, to be compiled in parallel. The groups depend only
// on the kernels' text, so a model gives the same bytes on every machine.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_COMPILE_EMITMODULE_H
#define FRIT_CODEGEN_CUDA_COMPILE_EMITMODULE_H

#include "codegen/cuda/target/Emit.h"
#include "dialects/plan/Plan.h"

#include <vector>

namespace frit::cuda {

/// A translation unit: the headers that its kernels need, and the kernels.
struct ModuleText {
  std::string text;
  /// The kernels, and the offset in `text` at which each begins.
  llvm::SmallVector<plan::KernelOp> kernels;
  llvm::SmallVector<size_t> starts;
  /// Estimated time that NVRTC takes to compile it.
  int64_t milliseconds = 0;
  /// Whether a kernel has another body for architectures without WGMMA.
  bool hasFloor = false;
  /// Include directories of users' texts.
  std::vector<std::string> folders;

  /// Returns the kernel whose text has line `line`, counted from 1, or null.
  plan::KernelOp kernelAt(size_t line) const;
};

/// Returns one module of all kernels of an emitted program that have a text of
/// their own, in the program's order.
ModuleText joinKernels(plan::TargetOp target);

/// Returns the modules of an emitted program, by the attribute `module` of its
/// kernels.
std::vector<ModuleText> splitIntoModules(plan::TargetOp target);

/// Returns one text with these kernels, in order.
std::string joinKernels(llvm::ArrayRef<KernelText> kernels);

/// Estimates the time that NVRTC takes to compile a kernel.
double estimateMilliseconds(const KernelText &kernel);

/// Groups kernels into modules; returns the number of each one's module.
llvm::SmallVector<size_t> groupKernels(llvm::ArrayRef<KernelText> kernels);

/// Adds `--print-cuda` to frit-opt: prints every fusion of a module as CUDA C++
/// with its launch, and compiles the text for the architectures of `compile=`.
void registerPrintCudaPass();

} // namespace frit::cuda

#endif // FRIT_CODEGEN_CUDA_COMPILE_EMITMODULE_H
