//===- Expansion.h - Operators as several, in place -----------------------===//

#ifndef FRIT_COMPILER_PADDING_EXPANSION_H
#define FRIT_COMPILER_PADDING_EXPANSION_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace frit {

/// Returns whether an operator has parts that may be proved, or masked, where
/// it may not: composites, and means of windows that leave padding out.
bool isExpandable(mlir::Operation *op);

/// Returns whether `part`, of a model in which the operator was expanded, may
/// be where `whole` is, of a model in which it was not.
bool isPartOf(mlir::Operation *part, mlir::Operation *whole);

/// Replaces an operator that isExpandable by its parts. Returns the first.
mlir::Block::iterator expand(mlir::Operation *op);

/// Returns a function with the full expansion of a composite.
mlir::OwningOpRef<mlir::func::FuncOp> expandAlone(mlir::Operation *op);

} // namespace frit

#endif // FRIT_COMPILER_PADDING_EXPANSION_H
