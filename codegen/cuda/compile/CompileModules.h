//===- CompileModules.h - Emitted programs to device code -----------------===//

#ifndef FRIT_CODEGEN_CUDA_COMPILE_COMPILEMODULES_H
#define FRIT_CODEGEN_CUDA_COMPILE_COMPILEMODULES_H

#include "codegen/artifact/Serialize.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace frit::cuda {

/// How a program's kernels are compiled: concurrently, in the modules chosen at
/// emission, or as one module.
enum class CompileAs { modules, oneModule };

/// Called by one thread at a time, with the number of kernels compiled so far,
/// the number of all, and the name of a kernel that is next.
using KernelProgress =
    llvm::function_ref<void(size_t done, size_t total, llvm::StringRef next)>;

/// Whose fault it is that kernels do not compile: the user's, whose operator
/// one of them calls; NVRTC's, which does not know the architecture or lacks
/// memory; or frit's, which wrote the text.
enum class Culprit { user, nvrtc, frit };

/// Compiles emitted programs to machine code and PTX, in as many threads as
/// there are cores. `code` gets an entry for each program, by its name. Reports
/// NVRTC's errors at the kernel; before the first error, calls `blame`.
llvm::LogicalResult
compileTargets(llvm::ArrayRef<plan::TargetOp> targets, CompileAs as,
               llvm::StringMap<artifact::TargetCode> &code,
               KernelProgress progress,
               llvm::function_ref<void(Culprit culprit)> blame);

} // namespace frit::cuda

#endif // FRIT_CODEGEN_CUDA_COMPILE_COMPILEMODULES_H
