//===- SimplifyMovement.h - Slices, transposes and views in order ---------===//

#ifndef FRIT_COMPILER_TRANSFORM_SIMPLIFY_SIMPLIFYMOVEMENT_H
#define FRIT_COMPILER_TRANSFORM_SIMPLIFY_SIMPLIFYMOVEMENT_H

#include "mlir/IR/PatternMatch.h"

namespace frit {

/// Adds the patterns that order movement: splitting views first, then slices,
/// then transposes.
void populateMovement(mlir::RewritePatternSet &patterns);

/// Returns whether a reshape splits a dimension of `from`; it then moves before
/// a slice.
bool splits(llvm::ArrayRef<int64_t> from, llvm::ArrayRef<int64_t> to);

/// Adds the patterns of operators on quantized weights.
void populateQuantizedWeights(mlir::RewritePatternSet &patterns);

} // namespace frit

#endif // FRIT_COMPILER_TRANSFORM_SIMPLIFY_SIMPLIFYMOVEMENT_H
