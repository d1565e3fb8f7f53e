//===- PaddedValue.h - A small model's value in a large model -------------===//

#ifndef FRIT_COMPILER_PADDING_PADDEDVALUE_H
#define FRIT_COMPILER_PADDING_PADDEDVALUE_H

#include "compiler/padding/PaddedContent.h"
#include "compiler/padding/PaddedPlaces.h"

#include "mlir/IR/Attributes.h"

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

} // namespace frit

#endif // FRIT_COMPILER_PADDING_PADDEDVALUE_H
