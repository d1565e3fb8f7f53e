//===- ModelOutputs.h - Models as text ------------------------------------===//

#ifndef FRIT_COMPILER_DRIVER_MODELOUTPUTS_H
#define FRIT_COMPILER_DRIVER_MODELOUTPUTS_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

#include <string>

namespace frit {

/// Returns a module's text without weights of more than a few elements and
/// without the CUDA C++ of kernels.
std::string printed(mlir::ModuleOp module);

/// Returns the name of the file beside the JSON graph `output` that has its
/// weights.
std::string jsonWeightsName(llvm::StringRef output);

/// Writes an imported model as the JSON graph `output` ("-" is standard
/// output), and its constants, if it has any, beside it as .safetensors.
llvm::Error writeJson(mlir::ModuleOp model, llvm::StringRef output);

} // namespace frit

#endif // FRIT_COMPILER_DRIVER_MODELOUTPUTS_H
