//===- CollectiveOrder.h - Schedule collectives early ---------------------===//

#ifndef FRIT_COMPILER_PLANNING_COLLECTIVEORDER_H
#define FRIT_COMPILER_PLANNING_COLLECTIVEORDER_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace frit::planning {

/// Moves each collective of a function to where its operands are ready, and
/// steps that only compute results of the function from it to the end, so that
/// collectives overlap as many other steps as possible.
void orderCollectives(mlir::func::FuncOp function);

} // namespace frit::planning

#endif // FRIT_COMPILER_PLANNING_COLLECTIVEORDER_H
