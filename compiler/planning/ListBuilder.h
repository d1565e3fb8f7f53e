//===- ListBuilder.h - Command lists of a target --------------------------===//

#ifndef FRIT_COMPILER_PLANNING_LISTBUILDER_H
#define FRIT_COMPILER_PLANNING_LISTBUILDER_H

#include "compiler/planning/Constants.h"
#include "compiler/planning/Kernels.h"
#include "compiler/planning/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace frit::planning {

/// Translates a function to a command list of `target`, which gets the kernels
/// and the constants that it needs. `resultSpace` is the memory space of the
/// results that are no states; if that is `output`, calls of options.function
/// run the list. `prepared` has the offsets of prepared buffers.
llvm::LogicalResult
buildList(mlir::func::FuncOp function, plan::TargetOp target, Kernels &kernels,
          Constants &constants, const BuildPlanOptions &options,
          plan::Space resultSpace, llvm::ArrayRef<int64_t> prepared);

} // namespace frit::planning

#endif // FRIT_COMPILER_PLANNING_LISTBUILDER_H
