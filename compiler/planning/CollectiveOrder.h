//===- CollectiveOrder.h - Schedule collectives early ---------------------===//

#ifndef FRIT_COMPILER_PLANNING_COLLECTIVEORDER_H
#define FRIT_COMPILER_PLANNING_COLLECTIVEORDER_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace frit::planning {

/// Hoists each collective to where its operands are ready, and sinks the steps
/// that only compute the function's results from it, so that collectives
/// overlap with compute.
void orderCollectives(mlir::func::FuncOp function);

} // namespace frit::planning

#endif // FRIT_COMPILER_PLANNING_COLLECTIVEORDER_H
