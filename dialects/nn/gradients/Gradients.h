//===- Gradients.h - Reverse-mode differentiation -------------------------===//

#ifndef FRIT_DIALECTS_NN_GRADIENTS_GRADIENTS_H
#define FRIT_DIALECTS_NN_GRADIENTS_GRADIENTS_H

#include "dialects/nn/NN.h"

namespace frit {

/// Appends to `loss`'s block, before the terminator if it has one, operators
/// that compute the gradients of `loss`, a single number, times the number
/// `seed` with respect to `parameters`. Returns a value of each parameter's
/// shape and f32 (f64 for f64); null where the loss does not depend on a
/// parameter. Composites on the way that have no gradient of their own are
/// decomposed. Reports operators on the way that have none.
llvm::FailureOr<llvm::SmallVector<mlir::Value>>
buildGradients(mlir::Value loss, mlir::Value seed,
               llvm::ArrayRef<mlir::Value> parameters);

} // namespace frit

#endif // FRIT_DIALECTS_NN_GRADIENTS_GRADIENTS_H
