//===- ObservedModel.h - Compile a model for this processor ---------------===//

#ifndef FRIT_COMPILER_DRIVER_QUANTIZE_OBSERVEDMODEL_H
#define FRIT_COMPILER_DRIVER_QUANTIZE_OBSERVEDMODEL_H

#include "compiler/support/TemporaryFolder.h"

#include "mlir/IR/BuiltinOps.h"

namespace frit {

/// Compiles a simplified module, in f32, to a shared library for this machine's
/// processor in `folder`. Returns its path. Fails after reporting an error.
mlir::FailureOr<std::string>
compileHere(mlir::OwningOpRef<mlir::ModuleOp> model, llvm::StringRef name,
            llvm::StringRef arch, TemporaryFolder &folder);

} // namespace frit

#endif // FRIT_COMPILER_DRIVER_QUANTIZE_OBSERVEDMODEL_H
