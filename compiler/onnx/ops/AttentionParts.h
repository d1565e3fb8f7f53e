//===- AttentionParts.h - Parts that attention operators share ------------===//

#ifndef FRIT_COMPILER_ONNX_OPS_ATTENTIONPARTS_H
#define FRIT_COMPILER_ONNX_OPS_ATTENTIONPARTS_H

#include "compiler/onnx/reader/Expr.h"

namespace frit::importer {

/// Rotates the first elements of each head of `x`, batch×sequence×heads×size.
/// `cosine` and `sine` have one angle for every pair of elements:
/// batch×sequence×1×pairs, at most half of size. A pair is two neighbours if
/// `interleaved`, else element i of each half.
Expr rotateHeads(Expr x, Expr cosine, Expr sine, bool interleaved);

/// Builds ranges of keys, as nn.attention takes them, from the first key and
/// the end of each query: batch×queries, integers, none decreasing from a query
/// to the next. Ends are held to 0 to `keys`, and starts to 0 to the ends.
Expr keyRanges(Expr start, Expr end, int64_t keys);

/// Builds attention of `q`, batch×heads×queries×size, to the keys that `ranges`
/// says.
Expr attendToRanges(Expr q, mlir::Value k, mlir::Value v, Expr ranges,
                    double scale);

/// Builds batch×sequence×(heads·size) of batch×heads×sequence×size.
Expr joinHeads(Expr y);

} // namespace frit::importer

#endif // FRIT_COMPILER_ONNX_OPS_ATTENTIONPARTS_H
