//===- Scatter.h - Scatter with many updates ------------------------------===//

#ifndef FRIT_COMPILER_ONNX_INDEXING_SCATTER_H
#define FRIT_COMPILER_ONNX_INDEXING_SCATTER_H

#include "compiler/onnx/reader/Expr.h"

namespace frit::importer {

/// Combines an element and an update; `reduction` is not none.
Expr combineUpdate(Expr x, Expr update, llvm::StringRef reduction);

/// Returns x with `updates` written at `places` along `axis`, as
/// ScatterElements.
Expr scatter(Expr x, Expr places, Expr updates, int64_t axis,
             llvm::StringRef reduction);

/// Returns x with rows replaced by `updates`; `places` has one index per row of
/// these.
Expr scatterRows(Expr x, Expr places, Expr updates, llvm::StringRef reduction);

} // namespace frit::importer

#endif // FRIT_COMPILER_ONNX_INDEXING_SCATTER_H
