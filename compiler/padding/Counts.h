//===- Counts.h - Outputs whose size the data decide ----------------------===//
//
// Importers mark tensors whose size the data decide (nn.counted): they have
// room for the most entries there may be, and the first of them count.
// README.md in this folder says more.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_COMPILER_PADDING_COUNTS_H
#define FRIT_COMPILER_PADDING_COUNTS_H

#include "dialects/plan/OpenShapes.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace frit {

/// Takes every nn.counted out of an imported model. The counts of its results
/// become results of @main, behind the model's own, with the attribute
/// `nn.count`, and a result whose shape depends on one gets `nn.extents`: for
/// each dimension [count, factor, offset], the length being
/// factor · count + offset or the dimension's, whatever is less; or unit where
/// it is fixed.
void resolveCounts(mlir::ModuleOp module);

/// Adds what these attributes say of the variants' modules to `shapes`, which
/// has the variants of the symbols or none. False after errors.
bool describeCounts(llvm::ArrayRef<mlir::OwningOpRef<mlir::ModuleOp>> modules,
                    plan::OpenShapes &shapes);

} // namespace frit

#endif // FRIT_COMPILER_PADDING_COUNTS_H
