//===- Counts.h - Outputs whose size the data decide ----------------------===//
//
// Importers mark what such operators compute (nn.counted): it has room for the
// most entries there may be, and the first of them count. That the rest does no
// harm is proved as it is for padded inputs (compiler/transform/Padding.h): the
// model is imported again as if there were fewer entries, and is compared with
// the one for the most. README.md in this folder says more.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_COMPILER_DRIVER_COUNTS_H
#define FRIT_COMPILER_DRIVER_COUNTS_H

#include "codegen/artifact/Serialize.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace frit {

/// Imports the model as if the data gave these counts, or null.
using ImportCounted = llvm::function_ref<mlir::OwningOpRef<mlir::ModuleOp>(
    llvm::ArrayRef<int64_t> counts)>;

/// Takes every nn.counted out of an imported model. What is counted becomes
/// results of @main, behind the model's own, with the attribute `nn.count`, and
/// a result whose shape depends on it gets `nn.extents`: for each dimension
/// [count, factor, offset], the length being factor · count + offset or the
/// dimension's, whatever is less; or unit where it is fixed. False, after
/// errors at the nodes that are in the way.
bool resolveCounts(mlir::ModuleOp module, ImportCounted import);

/// Adds what these attributes say of the variants' modules to `shapes`, which
/// has the variants of the symbols or none. False after errors.
bool describeCounts(llvm::ArrayRef<mlir::OwningOpRef<mlir::ModuleOp>> modules,
                    artifact::OpenShapes &shapes);

} // namespace frit

#endif // FRIT_COMPILER_DRIVER_COUNTS_H
