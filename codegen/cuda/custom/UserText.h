//===- UserText.h - Users' CUDA C++ before emitted kernels ----------------===//

#ifndef FRIT_CODEGEN_CUDA_CUSTOM_USERTEXT_H
#define FRIT_CODEGEN_CUDA_CUSTOM_USERTEXT_H

#include "codegen/cuda/scalar/KernelText.h"

namespace frit::cuda {

/// Adds the file of a user's kernel to what stands before `text`. The file
/// finds the type of a variable T as the macro FRIT_T.
void addUserKernel(KernelText &text, mlir::Operation *custom);

/// Adds the files of the functions that a fusion's elementwise operators call,
/// each with a line that checks its function's parameters.
void addUserFunctions(KernelText &text, nn::FusionOp fusion);

/// Returns whether the compiler's messages name the file of a function.
bool namesFile(llvm::StringRef log, nn::UserFunctionAttr function);

/// Returns what is wrong with a user's kernel: `ptx`, of the module that was
/// made from its file, has no such kernel, or one with other parameters. Empty
/// if nothing is.
std::string checkUserKernel(mlir::Operation *custom, llvm::StringRef ptx);

} // namespace frit::cuda

#endif // FRIT_CODEGEN_CUDA_CUSTOM_USERTEXT_H
