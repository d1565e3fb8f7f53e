//===- CollectiveOrder.h - Where collectives begin ------------------------===//

#ifndef FRIT_COMPILER_PLANNING_COLLECTIVEORDER_H
#define FRIT_COMPILER_PLANNING_COLLECTIVEORDER_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace frit::planning {

/// Moves the collectives of a function to where their operands are ready, and
/// the steps that only make results of theirs to the end, so that collectives
/// run beside as many other steps as possible.
void orderCollectives(mlir::func::FuncOp function);

} // namespace frit::planning

#endif // FRIT_COMPILER_PLANNING_COLLECTIVEORDER_H
