//===- Model.h - What the compiler does with a model of any bytes ---------===//

#ifndef FRIT_TEST_FUZZ_MODEL_H
#define FRIT_TEST_FUZZ_MODEL_H

#include "compiler/import/Import.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <string>

namespace frit::fuzz {

/// A folder of this process for models, with the weights that they may name:
/// w.safetensors, which has tensors a (f32, 2x3), b (i64, 3) and c (f16, 4x4),
/// and w.bin, of 4 KiB.
const std::string &folder();

/// Imports `bytes` by `import` and, where that gives a model, does what the
/// compiler does before it chooses a target, and writes it as JSON. A model
/// comes verified, or with an error.
void compile(llvm::StringRef bytes,
             llvm::function_ref<mlir::OwningOpRef<mlir::ModuleOp>(
                 const ImportOptions &, mlir::MLIRContext &)>
                 import);

} // namespace frit::fuzz

#endif // FRIT_TEST_FUZZ_MODEL_H
