//===- Fold.h - Evaluate operators on constants ---------------------------===//
//
// Folds shape arithmetic and other small computations on constants at compile
// time, using the same scalar bodies as the kernels.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_DIALECTS_NN_FOLD_H
#define FRIT_DIALECTS_NN_FOLD_H

#include "dialects/nn/NN.h"

#include "mlir/IR/BuiltinAttributes.h"

namespace frit::nn {

/// Maximum elements to fold. Larger constant computations go to @prepare.
inline constexpr int64_t foldLimit = 4096;

/// Returns whether the compiler may use a constant's value. Weights may be
/// replaced after compilation, so only these qualify: unnamed constants,
/// integers (shapes and indices) and single numbers.
bool isFoldable(ConstantOp constant);

/// Returns the elements of a constant, or null if it is none or has more than
/// `most`.
mlir::DenseElementsAttr constantValue(mlir::Value value,
                                      int64_t most = foldLimit);

/// Returns whether a value is the integer 0, a constant that does not change.
bool isZeroInteger(mlir::Value value);

/// Evaluates an elementwise operator, reshape, reduction or data movement whose
/// operands are all known by `constantValue`. Returns null if it cannot, or if
/// the result has more than `foldLimit` elements. Does not fold weights (named
/// float constants of several elements), because their values may be replaced.
/// The arith and math dialects must be loaded.
mlir::DenseElementsAttr evaluate(mlir::Operation *op);

} // namespace frit::nn

#endif // FRIT_DIALECTS_NN_FOLD_H
