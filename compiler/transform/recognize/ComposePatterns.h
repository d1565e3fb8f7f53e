//===- ComposePatterns.h - Operators that exporters wrote out -------------===//

#ifndef FRIT_COMPILER_TRANSFORM_RECOGNIZE_COMPOSEPATTERNS_H
#define FRIT_COMPILER_TRANSFORM_RECOGNIZE_COMPOSEPATTERNS_H

#include "mlir/IR/PatternMatch.h"

namespace frit {

/// Adds the patterns that recognise GELU in its erf and tanh forms, SiLU, Mish
/// and layer normalisation.
void populateRecognition(mlir::RewritePatternSet &patterns);

/// Adds the pattern that gives experts the rows that are routed to them only.
void populateExperts(mlir::RewritePatternSet &patterns);

/// Adds the pattern that makes convolutions over patches of images products.
void populatePatches(mlir::RewritePatternSet &patterns);

} // namespace frit

#endif // FRIT_COMPILER_TRANSFORM_RECOGNIZE_COMPOSEPATTERNS_H
