//===- Contractions.h - Operands of contractions --------------------------===//

#ifndef FRIT_COMPILER_PLANNING_CONTRACTIONS_H
#define FRIT_COMPILER_PLANNING_CONTRACTIONS_H

#include "dialects/nn/NN.h"

namespace frit::planning {

/// Reorders the inputs of a contraction's fusion to the library's operands (A,
/// B, bias, residual), so that the library and the fallback kernel take the
/// same arguments. Leaves other fusions unchanged.
void orderContractionInputs(nn::FusionOp fusion);

/// Returns the multiplications and additions of the fusion's contractions.
int64_t countFlops(nn::FusionOp fusion);

} // namespace frit::planning

#endif // FRIT_COMPILER_PLANNING_CONTRACTIONS_H
