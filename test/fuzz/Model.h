//===- Model.h - Compile a model of arbitrary bytes -----------------------===//

#ifndef FRIT_TEST_FUZZ_MODEL_H
#define FRIT_TEST_FUZZ_MODEL_H

#include "compiler/import/Import.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <string>

namespace frit::fuzz {

/// Returns a temporary folder for models. It has weight files that they may
/// name: w.safetensors with tensors a (f32, 2x3), b (i64, 3) and c (f16, 4x4),
/// and w.bin, 4 KiB.
const std::string &folder();

/// Imports `bytes` with `import`. On success runs the target-independent passes
/// and writes JSON. Checks that the import either gives a valid model or
/// reports an error.
void compile(llvm::StringRef bytes,
             llvm::function_ref<mlir::OwningOpRef<mlir::ModuleOp>(
                 const ImportOptions &, mlir::MLIRContext &)>
                 import);

} // namespace frit::fuzz

#endif // FRIT_TEST_FUZZ_MODEL_H
