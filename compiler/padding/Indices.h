//===- Indices.h - The indices that a model takes -------------------------===//

#ifndef FRIT_COMPILER_PADDING_INDICES_H
#define FRIT_COMPILER_PADDING_INDICES_H

#include "dialects/plan/OpenShapes.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace frit {

/// Moves the attributes `nn.indices` of the variants' modules (see
/// dialects/nn/IndexRange.h) to `shapes`, which has the variants of the symbols
/// or none.
void describeIndices(llvm::ArrayRef<mlir::OwningOpRef<mlir::ModuleOp>> modules,
                     plan::OpenShapes &shapes);

} // namespace frit

#endif // FRIT_COMPILER_PADDING_INDICES_H
