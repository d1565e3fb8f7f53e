//===- OpenPlaces.h - Indices that follow an open size --------------------===//

#ifndef FRIT_COMPILER_ONNX_INDEXING_OPENPLACES_H
#define FRIT_COMPILER_ONNX_INDEXING_OPENPLACES_H

#include "compiler/onnx/reader/Expr.h"

namespace frit::importer {

/// Returns whether an input of the model has an open dimension after the first.
/// Where indices depend on such a size, they are computed of it, as a single
/// number that padding can replace (compiler/padding), and not tabulated.
bool hasOpenLengths(Node &node);

/// Builds first, first + step, … of `count` elements, kept from constant
/// folding with all that is computed from it.
Expr openIota(Node &node, mlir::Value first, mlir::Value step, int64_t count);
/// Builds 0 to `count` - 1 in the same way.
Expr openIota(Node &node, mlir::Type element, int64_t count);

/// Pads a dimension as the modes edge, reflect and wrap of Pad do, by indices.
/// `low` and `high` are at most its size, and for `reflect` below it; where
/// they are negative, as many elements are left out.
Expr padByIndices(Expr x, int64_t dim, int64_t low, int64_t high,
                  llvm::StringRef mode);

} // namespace frit::importer

#endif // FRIT_COMPILER_ONNX_INDEXING_OPENPLACES_H
