//===- Counts.h - Outputs of data-dependent size --------------------------===//
//
// Importers mark tensors whose size depends on the data (nn.counted). They have
// room for the maximum number of entries, of which the first `count` are valid.
// See README.md in this folder.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_COMPILER_PADDING_COUNTS_H
#define FRIT_COMPILER_PADDING_COUNTS_H

#include "dialects/plan/OpenShapes.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace frit {

/// Removes every nn.counted from an imported model. The counts that its results
/// depend on become results of @main, after the model's own, with the attribute
/// `nn.count`. A result whose shape depends on a count gets `nn.extents`: for
/// each dimension either unit if it is fixed, or [count, factor, offset], for a
/// length of min(factor · count + offset, size of the dimension).
void resolveCounts(mlir::ModuleOp module);

/// Adds these attributes of the variants' modules to `shapes`, which has the
/// variants of the symbols or none. Returns false after reporting errors.
bool describeCounts(llvm::ArrayRef<mlir::OwningOpRef<mlir::ModuleOp>> modules,
                    plan::OpenShapes &shapes);

} // namespace frit

#endif // FRIT_COMPILER_PADDING_COUNTS_H
