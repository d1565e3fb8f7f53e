//===- CompileModules.h - Emitted programs to device code -----------------===//

#ifndef FRIT_CODEGEN_CUDA_COMPILE_COMPILEMODULES_H
#define FRIT_CODEGEN_CUDA_COMPILE_COMPILEMODULES_H

#include "codegen/artifact/Serialize.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace frit::cuda {

/// How a program's kernels are compiled: in the modules that emission chose,
/// side by side, or as one module.
enum class CompileAs { modules, oneModule };

/// Told how many of how many kernels have been compiled, and one of those that
/// are next; by one thread at a time.
using KernelProgress =
    llvm::function_ref<void(size_t done, size_t total, llvm::StringRef next)>;

/// Compiles emitted programs to machine code and PTX, in as many threads as
/// there are cores. `code` gets an entry for each program, by its name. Reports
/// at the kernel what NVRTC refuses.
llvm::LogicalResult compilePrograms(llvm::ArrayRef<plan::ProgramOp> programs,
                                    CompileAs as,
                                    llvm::StringMap<artifact::TargetCode> &code,
                                    KernelProgress progress);

} // namespace frit::cuda

#endif // FRIT_CODEGEN_CUDA_COMPILE_COMPILEMODULES_H
