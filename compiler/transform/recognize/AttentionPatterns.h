//===- AttentionPatterns.h - Attention and its projections ----------------===//

#ifndef FRIT_COMPILER_TRANSFORM_RECOGNIZE_ATTENTIONPATTERNS_H
#define FRIT_COMPILER_TRANSFORM_RECOGNIZE_ATTENTIONPATTERNS_H

#include "mlir/IR/PatternMatch.h"

namespace frit {

/// Adds the patterns that recognise attention in the products and the softmax
/// that exporters write.
void populateAttention(mlir::RewritePatternSet &patterns);

/// Adds the pattern that makes rotary embeddings elementwise.
void populateRotary(mlir::RewritePatternSet &patterns);

/// Adds the pattern that lets an attention read heads which were repeated for
/// it, wherever views and transposes have come into order.
void populateSharedHeads(mlir::RewritePatternSet &patterns);

/// Adds the pattern that makes the products from which an attention's queries,
/// keys and values come one product.
void populateProjections(mlir::RewritePatternSet &patterns);

} // namespace frit

#endif // FRIT_COMPILER_TRANSFORM_RECOGNIZE_ATTENTIONPATTERNS_H
