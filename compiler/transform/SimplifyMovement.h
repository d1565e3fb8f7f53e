//===- SimplifyMovement.h - Slices, transposes and views in order ---------===//

#ifndef FRIT_COMPILER_TRANSFORM_SIMPLIFYMOVEMENT_H
#define FRIT_COMPILER_TRANSFORM_SIMPLIFYMOVEMENT_H

#include "mlir/IR/PatternMatch.h"

namespace frit {

/// Adds the patterns that bring views first, then slices, then transposes.
void populateMovement(mlir::RewritePatternSet &patterns);

} // namespace frit

#endif // FRIT_COMPILER_TRANSFORM_SIMPLIFYMOVEMENT_H
