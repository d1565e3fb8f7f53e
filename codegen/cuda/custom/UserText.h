//===- UserText.h - Users' CUDA C++ before emitted kernels ----------------===//

#ifndef FRIT_CODEGEN_CUDA_CUSTOM_USERTEXT_H
#define FRIT_CODEGEN_CUDA_CUSTOM_USERTEXT_H

#include "codegen/cuda/scalar/KernelText.h"
#include "dialects/nn/operators/Custom.h"

namespace frit::cuda {

/// Adds the file of a user's kernel to the preludes of `text`. In the file, the
/// macro FRIT_T is the type of a type variable T. The kernel's type is checked.
void addUserKernel(KernelText &text, nn::CustomOp custom);

/// Adds the files of the functions that a fusion's elementwise operators call,
/// each with lines that check its function's type.
void addUserFunctions(KernelText &text, nn::FusionOp fusion);

/// Returns whether the compiler's messages name the file of a function.
bool namesFile(llvm::StringRef log, nn::UserFunctionAttr function);

/// Returns what is wrong with a user's kernel: `ptx`, compiled from its file,
/// has no such kernel or one with other parameters. Empty if nothing is wrong.
std::string checkUserKernel(mlir::Operation *custom, llvm::StringRef ptx);

} // namespace frit::cuda

#endif // FRIT_CODEGEN_CUDA_CUSTOM_USERTEXT_H
