//===- CpuKernels.h - Kernels of the cpu target as LLVM IR ----------------===//

#ifndef FRIT_CODEGEN_CPU_CPUKERNELS_H
#define FRIT_CODEGEN_CPU_CPUKERNELS_H

#include "dialects/plan/Plan.h"

#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

namespace frit::cpu {

/// The host machine to compile for: `arch` is "x86-64" or a level of it
/// ("x86-64-v3"). Null with `error` set where there is none.
std::unique_ptr<llvm::TargetMachine> createMachine(llvm::StringRef arch,
                                                   std::string &error);

/// Compiles every plan.kernel of `program` to a function
/// `void frit_<kernel>(void *const *arguments, int64_t begin, int64_t end)`
/// (see frit/image.h) of one optimised LLVM module, and sets the kernels' grid
/// to their number of work items. Null after an error is reported.
std::unique_ptr<llvm::Module> compileKernels(plan::ProgramOp program,
                                             llvm::TargetMachine &machine,
                                             llvm::LLVMContext &context);

/// Adds what bufferization and translation need to a registry.
void registerDialects(mlir::DialectRegistry &registry);

} // namespace frit::cpu

#endif // FRIT_CODEGEN_CPU_CPUKERNELS_H
