//===- Contractions.h - Library calls of a plan ---------------------------===//

#ifndef FRIT_COMPILER_PLANNING_CONTRACTIONS_H
#define FRIT_COMPILER_PLANNING_CONTRACTIONS_H

#include "dialects/nn/NN.h"
#include "dialects/plan/Plan.h"

namespace frit::planning {

/// Reorders the inputs of a contraction's fusion to the library's operands (A,
/// B, bias, residual), so that the library and the fallback kernel take the
/// same arguments. Leaves other fusions unchanged.
void orderContractionInputs(nn::FusionOp fusion);

/// Builds the plan.gemm, plan.conv or plan.attention of such a fusion on the
/// buffers of its inputs and results, by the library's `algorithm` or, if that
/// is 0, any. `fallback` may be null.
llvm::LogicalResult buildContraction(mlir::ImplicitLocOpBuilder &b,
                                     nn::FusionOp fusion, int64_t algorithm,
                                     mlir::ValueRange inputs,
                                     mlir::ValueRange outputs,
                                     mlir::FlatSymbolRefAttr fallback,
                                     int64_t workspaceBytes);

/// Returns the multiplications and additions of the fusion's contractions.
int64_t countFlops(nn::FusionOp fusion);

} // namespace frit::planning

#endif // FRIT_COMPILER_PLANNING_CONTRACTIONS_H
