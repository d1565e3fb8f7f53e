//===- Recompute.h - Trade time for memory in a training step -------------===//

#ifndef FRIT_COMPILER_TRAINING_GRADIENTS_RECOMPUTE_H
#define FRIT_COMPILER_TRAINING_GRADIENTS_RECOMPUTE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <vector>

namespace frit {

/// A choice of forward-pass kernels that the backward pass runs again.
struct RecomputeChoice {
  std::vector<size_t> kernels; ///< numbers among the function's fusions
  double cost = 0;   ///< of what runs again, in bytes of memory traffic
  int64_t bytes = 0; ///< that are live at once, without workspaces
};

/// Returns choices for a fused training step: first that of no kernel, then
/// others that take less and less memory, cheapest first.
std::vector<RecomputeChoice> findRecomputeChoices(mlir::func::FuncOp main);

/// Runs the kernels of a choice again in the backward pass.
void recompute(mlir::func::FuncOp main, llvm::ArrayRef<size_t> kernels);

} // namespace frit

#endif // FRIT_COMPILER_TRAINING_GRADIENTS_RECOMPUTE_H
