//===- ObservedModel.h - Compile a model for this processor ---------------===//

#ifndef FRIT_COMPILER_DRIVER_QUANTIZE_OBSERVEDMODEL_H
#define FRIT_COMPILER_DRIVER_QUANTIZE_OBSERVEDMODEL_H

#include "compiler/support/TemporaryFolder.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

namespace frit {

/// Compiles a simplified module, in f32, to a shared library for this machine's
/// processor in `folder`. Returns its path, or reported() after a diagnostic.
llvm::Expected<std::string> compileHere(mlir::OwningOpRef<mlir::ModuleOp> model,
                                        llvm::StringRef name,
                                        llvm::StringRef arch,
                                        TemporaryFolder &folder);

/// Returns an error of which diagnostics have been reported.
inline llvm::Error reported() { return llvm::createStringError(""); }

} // namespace frit

#endif // FRIT_COMPILER_DRIVER_QUANTIZE_OBSERVEDMODEL_H
