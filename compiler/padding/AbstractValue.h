//===- AbstractValue.h - What is known of a number ------------------------===//
//
// Padded places hold numbers that no one asked for. They do no harm in a sum if
// they are zeros, or are multiplied by zeros; but not if they may be infinite.
// So this follows constants and signs through the scalar bodies of operators,
// over the real numbers with -inf and +inf: rounding and overflow are not seen.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_COMPILER_PADDING_ABSTRACTVALUE_H
#define FRIT_COMPILER_PADDING_ABSTRACTVALUE_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Region.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace frit {

struct AbstractValue {
  /// Each from `positive` on holds what those before it hold.
  enum Kind : uint8_t {
    nothing,  ///< there is no such number
    given,    ///< the accumulator that a reduction's body was given
    constant, ///< `value`
    positive,
    notNegative,
    real,  ///< or any integer
    below, ///< or -inf, as in masks that are added
    any,   ///< infinite or not a number, for all one knows
  };

  Kind kind = nothing;
  mlir::TypedAttr value;
  /// Numbers with the same one, that is not 0, are the same element.
  unsigned element = 0;

  AbstractValue() = default;
  AbstractValue(Kind kind) : kind(kind) {}
  explicit AbstractValue(mlir::TypedAttr value)
      : kind(constant), value(value) {}

  bool operator==(const AbstractValue &other) const {
    return kind == other.kind && value == other.value;
  }
  /// What is known of a number that is this or the other.
  AbstractValue operator|(const AbstractValue &other) const;

  /// Forgets a constant's value: the least kind from `positive` on.
  Kind sign() const;
  bool isReal() const { return kind >= constant && sign() <= real; }
  bool isNotNegative() const {
    return kind >= constant && sign() <= notNegative;
  }
  bool isPositive() const { return kind >= constant && sign() == positive; }
  bool isZero() const;
  /// Plus or minus infinity: 1 or -1; else 0.
  int infinity() const;

  /// For the keys of tables.
  std::string text() const;
};

/// What is known of an element of `type` if nothing is: integers are real.
AbstractValue unknownNumber(mlir::Type type);

/// What is known of all elements of a constant.
AbstractValue numbersOf(mlir::Attribute constant);

/// What is known of the one value that `body` yields. `elementOf` tells what a
/// tensor from outside, that the body reads by index, holds.
AbstractValue
evaluateBody(mlir::Region &body, llvm::ArrayRef<AbstractValue> arguments,
             llvm::function_ref<AbstractValue(mlir::Value tensor)> elementOf);

} // namespace frit

#endif // FRIT_COMPILER_PADDING_ABSTRACTVALUE_H
