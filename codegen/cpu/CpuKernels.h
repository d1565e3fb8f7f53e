//===- CpuKernels.h - Compile CPU kernels to LLVM IR ----------------------===//

#ifndef FRIT_CODEGEN_CPU_CPUKERNELS_H
#define FRIT_CODEGEN_CPU_CPUKERNELS_H

#include "codegen/cpu/UserCode.h"
#include "codegen/cpu/Workspace.h"
#include "dialects/plan/Plan.h"

#include "frit/host_arch.h"

#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"
#include "llvm/Target/TargetMachine.h"

namespace frit::cpu {

/// Creates the target machine for `arch`, one of frit/host_arch.h.
llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
createMachine(llvm::StringRef arch, HostSystem system);

/// The kernels of a program, as functions of one module.
struct LoweredKernels {
  struct Kernel {
    plan::KernelOp op;
    std::string function;
    Workspace workspace;
  };
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::vector<Kernel> kernels;
  /// Users' C that the kernels call. It is compiled apart from the module.
  std::vector<UserSource> sources;
};

/// Lowers every plan.kernel of `program` to linalg, in a function that reads
/// buffers and returns tensors.
LoweredKernels lowerFusions(plan::TargetOp target);

/// Records the number of work items and the workspaces, computed by the passes
/// up to createPlaceAllocationsPass, in attributes of the plan's kernels.
void recordWork(LoweredKernels &lowered);

/// Kernels in LLVM IR. A context of its own lets threads work on several such
/// modules at once.
struct KernelModule {
  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::Module> module;
};

/// Translates kernels in the LLVM dialect to functions `frit_<kernel>` of
/// optimized LLVM modules, with the signature of frit/image.h. How many modules
/// there are depends on the kernels alone, not on the number of cores. Calls
/// `progress` when `done` of `total` kernels are finished, from one thread at a
/// time; `next` is an unfinished one.
mlir::FailureOr<std::vector<KernelModule>> translateKernels(
    LoweredKernels lowered, llvm::StringRef arch, HostSystem system,
    llvm::function_ref<void(size_t done, size_t total, llvm::StringRef next)>
        progress);

/// Registers the dialects and interfaces for bufferization and translation.
void registerDialects(mlir::DialectRegistry &registry);

} // namespace frit::cpu

#endif // FRIT_CODEGEN_CPU_CPUKERNELS_H
