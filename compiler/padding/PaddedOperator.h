//===- PaddedOperator.h - One operator on a small and on a large tensor ---===//

#ifndef FRIT_COMPILER_PADDING_PADDEDOPERATOR_H
#define FRIT_COMPILER_PADDING_PADDEDOPERATOR_H

#include "compiler/padding/PaddedContent.h"
#include "compiler/padding/PaddedPlaces.h"

#include "mlir/IR/Attributes.h"
#include "mlir/IR/Operation.h"

namespace frit {

/// Where a value of the small model is in one of the large model, `anywhere`
/// where all elements are the same, so that no place is another; and what the
/// other elements are.
struct PaddedValue {
  mlir::Value large;
  Places places;
  bool anywhere = false;
  PaddedContent content = {};
};

/// Whether a tensor of type `small` may be the leading elements of another.
bool mayLead(mlir::Type small, mlir::Type large);

/// The leading elements of `large` in every dimension, or nothing where the
/// types do not allow that.
std::optional<PaddedValue> leadingValue(mlir::Value small, mlir::Value large);

/// Where a constant with the value `value` is in one with the value `other`.
std::optional<PaddedValue> padConstant(mlir::Value small, mlir::Attribute value,
                                       mlir::Value large,
                                       mlir::Attribute other);

/// Where the result of an nn operator, no composite, is in that of another from
/// where its operands are. Nothing: it cannot be shown to be there.
std::optional<PaddedValue> padOperator(mlir::Operation *small,
                                       mlir::Operation *large,
                                       llvm::ArrayRef<PaddedValue> operands);

} // namespace frit

#endif // FRIT_COMPILER_PADDING_PADDEDOPERATOR_H
