//===- PaddedValue.h - A small model's value in a large model -------------===//

#ifndef FRIT_COMPILER_PADDING_VALUES_PADDEDVALUE_H
#define FRIT_COMPILER_PADDING_VALUES_PADDEDVALUE_H

#include "compiler/padding/values/PaddedContent.h"
#include "compiler/padding/values/PaddedPlaces.h"

#include "mlir/IR/Attributes.h"

namespace frit {

/// Place of a value of the small model in a value of the large one, and the
/// content of the other elements. `anywhere` means that all elements are equal,
/// so their places do not matter.
struct PaddedValue {
  mlir::Value large;
  Places places;
  bool anywhere = false;
  PaddedContent content = {};
};

/// Returns whether a value has no elements.
bool isEmpty(mlir::Value value);

/// Returns whether a tensor of type `small` can be the leading elements of one
/// of type `large`.
bool mayLead(mlir::Type small, mlir::Type large);

/// Returns `small` as the leading elements of `large` in every dimension, or
/// nothing if the types do not allow it.
std::optional<PaddedValue> leadingValue(mlir::Value small, mlir::Value large);

/// Returns where a constant with the value `value` is in one with the value
/// `other`, or nothing.
std::optional<PaddedValue> padConstant(mlir::Value small, mlir::Attribute value,
                                       mlir::Value large,
                                       mlir::Attribute other);

} // namespace frit

#endif // FRIT_COMPILER_PADDING_VALUES_PADDEDVALUE_H
