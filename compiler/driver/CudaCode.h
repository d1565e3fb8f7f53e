//===- CudaCode.h - A CUDA program's kernels as device code ---------------===//

#ifndef FRIT_COMPILER_DRIVER_CUDACODE_H
#define FRIT_COMPILER_DRIVER_CUDACODE_H

#include "codegen/artifact/Serialize.h"
#include "codegen/cuda/compile/EmitModule.h"
#include "codegen/cuda/target/CudaTarget.h"

namespace frit {

/// The CUDA C++ of a program.
struct CudaProgram {
  plan::ProgramOp program;
  /// Those that have a text of their own, in the order of their texts.
  std::vector<plan::KernelOp> kernels;
  std::string text;                      ///< of all kernels
  std::vector<cuda::ModuleText> modules; ///< as they are compiled
};

/// How a program's kernels are compiled: side by side, or as one module.
enum class CudaModules { many, one };

/// Emits every plan.kernel of `program`; how each is launched, and which module
/// it is in, is set in the plan.
llvm::FailureOr<CudaProgram> emitProgram(plan::ProgramOp program,
                                         const cuda::CudaTarget &target,
                                         CudaModules modules);

/// Told how many of how many kernels have been compiled, and one of those that
/// are next; by one thread at a time.
using KernelProgress =
    llvm::function_ref<void(size_t done, size_t total, llvm::StringRef next)>;

/// Compiles the modules of `programs` in as many threads as there are cores, to
/// machine code and PTX, into `code` by the programs' names. What NVRTC refuses
/// is reported at the kernel.
llvm::LogicalResult compilePrograms(llvm::ArrayRef<CudaProgram> programs,
                                    llvm::StringMap<artifact::TargetCode> &code,
                                    KernelProgress progress);

} // namespace frit

#endif // FRIT_COMPILER_DRIVER_CUDACODE_H
