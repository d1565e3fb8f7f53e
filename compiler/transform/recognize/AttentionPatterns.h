//===- AttentionPatterns.h - Attention and its projections ----------------===//

#ifndef FRIT_COMPILER_TRANSFORM_RECOGNIZE_ATTENTIONPATTERNS_H
#define FRIT_COMPILER_TRANSFORM_RECOGNIZE_ATTENTIONPATTERNS_H

#include "mlir/IR/PatternMatch.h"

namespace frit {

/// Adds the patterns that recognise attention in the matmuls and softmax that
/// exporters write.
void populateAttention(mlir::RewritePatternSet &patterns);

/// Adds the pattern that rewrites rotary embeddings as elementwise operators.
void populateRotary(mlir::RewritePatternSet &patterns);

/// Adds the pattern that lets an attention read shared heads without the expand
/// that repeats them (grouped-query attention). Needs views and transposes in
/// canonical order.
void populateSharedHeads(mlir::RewritePatternSet &patterns);

/// Adds the pattern that joins the projections to an attention's queries, keys
/// and values into one matmul.
void populateProjections(mlir::RewritePatternSet &patterns);

/// Makes one product of many of the same few rows.
void joinSiblings(mlir::Block &block);

} // namespace frit

#endif // FRIT_COMPILER_TRANSFORM_RECOGNIZE_ATTENTIONPATTERNS_H
