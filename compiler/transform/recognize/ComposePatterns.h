//===- ComposePatterns.h - Recognise decomposed operators -----------------===//

#ifndef FRIT_COMPILER_TRANSFORM_RECOGNIZE_COMPOSEPATTERNS_H
#define FRIT_COMPILER_TRANSFORM_RECOGNIZE_COMPOSEPATTERNS_H

#include "mlir/IR/PatternMatch.h"

namespace frit {

/// Adds the patterns that recognise GELU in its erf and tanh forms, SiLU, Mish
/// and layer normalisation.
void populateRecognition(mlir::RewritePatternSet &patterns);

/// Adds the pattern that computes experts only on the rows routed to them.
void populateExperts(mlir::RewritePatternSet &patterns);

/// Adds the pattern that rewrites convolutions over image patches as matmuls.
void populatePatches(mlir::RewritePatternSet &patterns);

/// Adds the pattern that clamps to the range of fp16 whether or not an element
/// is infinite.
void populateHalfRange(mlir::RewritePatternSet &patterns);

/// Adds the pattern that recognises the logarithm of a softmax.
void populateLogSoftmax(mlir::RewritePatternSet &patterns);

} // namespace frit

#endif // FRIT_COMPILER_TRANSFORM_RECOGNIZE_COMPOSEPATTERNS_H
