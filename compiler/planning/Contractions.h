//===- Contractions.h - Library calls of the plan -------------------------===//

#ifndef FRIT_COMPILER_PLANNING_CONTRACTIONS_H
#define FRIT_COMPILER_PLANNING_CONTRACTIONS_H

#include "dialects/nn/NN.h"
#include "dialects/plan/Plan.h"

namespace frit::planning {

/// Makes the inputs of a fusion that is one product or convolution exactly the
/// operands a library takes, in its order (A, B, bias, residual), so that the
/// fusion's kernel is called as the library is. Other fusions stay.
void orderContractionInputs(nn::FusionOp fusion);

/// Builds the plan.gemm or plan.conv of such a fusion, or the plan.attention of
/// one of an attention, over the buffers of its inputs and results. `fallback`
/// may be null.
llvm::LogicalResult
buildContraction(mlir::ImplicitLocOpBuilder &b, nn::FusionOp fusion,
                 mlir::ValueRange inputs, mlir::ValueRange outputs,
                 mlir::FlatSymbolRefAttr fallback, int64_t workspaceBytes);

/// Multiplications and additions of the fusion's products and convolutions.
int64_t countFlops(nn::FusionOp fusion);

} // namespace frit::planning

#endif // FRIT_COMPILER_PLANNING_CONTRACTIONS_H
