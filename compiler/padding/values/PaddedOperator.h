//===- PaddedOperator.h - One operator on a small and on a large tensor ---===//

#ifndef FRIT_COMPILER_PADDING_VALUES_PADDEDOPERATOR_H
#define FRIT_COMPILER_PADDING_VALUES_PADDEDOPERATOR_H

#include "compiler/padding/values/PaddedValue.h"

#include "mlir/IR/Operation.h"

namespace frit {

/// Returns where the result of `small` is in the result of `large`, given where
/// its operands are. Returns nothing if that cannot be proved. Not for
/// composites.
std::optional<PaddedValue> padOperator(mlir::Operation *small,
                                       mlir::Operation *large,
                                       llvm::ArrayRef<PaddedValue> operands);

/// Applies a reshape, `from` in the small model and `to` in the large one, to a
/// padded value. Returns nothing if it folds a padded dimension into others.
std::optional<PaddedValue> padView(PaddedValue of, mlir::Value from,
                                   mlir::Value to);

} // namespace frit

#endif // FRIT_COMPILER_PADDING_VALUES_PADDEDOPERATOR_H
