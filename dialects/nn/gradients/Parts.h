//===- Parts.h - Movement that gradients share ----------------------------===//

#ifndef FRIT_DIALECTS_NN_GRADIENTS_PARTS_H
#define FRIT_DIALECTS_NN_GRADIENTS_PARTS_H

#include "dialects/nn/NN.h"

namespace frit::nn {

/// Adds `low[d]` zeros before dimension d of `x` and `high[d]` after it;
/// negative numbers crop. The sizes that result may not be negative.
mlir::Value padZeros(NNBuilder &b, mlir::Value x, llvm::ArrayRef<int64_t> low,
                     llvm::ArrayRef<int64_t> high);

/// Moves the elements of `x` by `count` positions along `axis`, to the front if
/// `count` is positive. Elements that leave are dropped; zeros fill the vacated
/// positions.
mlir::Value shift(NNBuilder &b, mlir::Value x, int64_t axis, int64_t count);

/// Inserts `steps[d]` - 1 zeros between the elements of dimension d.
mlir::Value spreadOut(NNBuilder &b, mlir::Value x,
                      llvm::ArrayRef<int64_t> steps);

/// Reverses the order of elements along `axes`.
mlir::Value reverse(NNBuilder &b, mlir::Value x, llvm::ArrayRef<int64_t> axes);

} // namespace frit::nn

#endif // FRIT_DIALECTS_NN_GRADIENTS_PARTS_H
