//===- CpuKernels.h - Kernels of the cpu target as LLVM IR ----------------===//

#ifndef FRIT_CODEGEN_CPU_CPUKERNELS_H
#define FRIT_CODEGEN_CPU_CPUKERNELS_H

#include "codegen/cpu/Workspace.h"
#include "dialects/plan/Plan.h"

#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"
#include "llvm/Target/TargetMachine.h"

namespace frit::cpu {

/// The host machine to compile for: `arch` is "x86-64" or a level of it
/// ("x86-64-v3").
llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
createMachine(llvm::StringRef arch);

/// The kernels of a program as functions over buffers.
struct LoweredKernels {
  struct Kernel {
    plan::KernelOp op;
    std::string function;
    Workspace workspace;
  };
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::vector<Kernel> kernels;
};

/// Lowers every plan.kernel of `program` to loops over buffers, which says how
/// many work items it has and what workspaces it needs: both become attributes
/// of the kernel. Fails after an error is reported.
mlir::FailureOr<LoweredKernels> lowerKernels(plan::ProgramOp program);

/// Compiles them to functions `frit_<kernel>` of one optimised LLVM module, as
/// frit/image.h has them. Null after an error is reported.
std::unique_ptr<llvm::Module> compileKernels(LoweredKernels lowered,
                                             llvm::TargetMachine &machine,
                                             llvm::LLVMContext &context);

/// Adds what bufferization and translation need to a registry.
void registerDialects(mlir::DialectRegistry &registry);

} // namespace frit::cpu

#endif // FRIT_CODEGEN_CPU_CPUKERNELS_H
