//===- Scatter.h - Updates at places that data name -----------------------===//

#ifndef FRIT_COMPILER_ONNX_OPS_SCATTER_H
#define FRIT_COMPILER_ONNX_OPS_SCATTER_H

#include "compiler/onnx/reader/Expr.h"

namespace frit::importer {

/// An element and an update by a reduction that is not none.
Expr combineUpdate(Expr x, Expr update, llvm::StringRef reduction);

/// x with `updates` put where `places` say along `axis`, as ScatterElements.
Expr scatter(Expr x, Expr places, Expr updates, int64_t axis,
             llvm::StringRef reduction);

/// Rows of x with those of `updates` put where `places`, one for each, say.
Expr scatterRows(Expr x, Expr places, Expr updates, llvm::StringRef reduction);

} // namespace frit::importer

#endif // FRIT_COMPILER_ONNX_OPS_SCATTER_H
