//===- AbstractValue.h - Abstract value of a number -----------------------===//
//
// Padding elements hold arbitrary numbers. They are harmless in a sum if they
// are zero or multiplied by zero, but not if they may be infinite. This
// analysis propagates constants and signs through the scalar bodies of
// operators, over the real numbers with -inf and +inf; it ignores rounding and
// overflow.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_COMPILER_PADDING_VALUES_ABSTRACTVALUE_H
#define FRIT_COMPILER_PADDING_VALUES_ABSTRACTVALUE_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Region.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace frit {

struct AbstractValue {
  /// From `positive` on, each kind includes the ones before it.
  enum Kind : uint8_t {
    nothing,  ///< the empty set
    given,    ///< the accumulator passed to a reduction's body
    constant, ///< `value`
    positive,
    notNegative,
    real,  ///< any finite number, or any integer
    below, ///< real or -inf, as in additive masks
    any,   ///< anything, including infinities and NaN
  };

  Kind kind = nothing;
  mlir::TypedAttr value;
  /// Values with the same nonzero id are the same element.
  unsigned element = 0;

  AbstractValue() = default;
  AbstractValue(Kind kind) : kind(kind) {}
  explicit AbstractValue(mlir::TypedAttr value)
      : kind(constant), value(value) {}

  bool operator==(const AbstractValue &other) const {
    return kind == other.kind && value == other.value;
  }
  /// Returns the join: the value of a number that is either of the two.
  AbstractValue operator|(const AbstractValue &other) const;

  /// Returns the smallest kind from `positive` on that includes this value.
  Kind sign() const;
  bool isReal() const { return kind >= constant && sign() <= real; }
  bool isNotNegative() const {
    return kind >= constant && sign() <= notNegative;
  }
  bool isPositive() const { return kind >= constant && sign() == positive; }
  bool isZero() const;
  /// Returns 1 for +inf, -1 for -inf, else 0.
  int infinity() const;

  /// Returns a text that identifies the value, for keys.
  std::string text() const;
};

/// Returns the top value for elements of `type`: `real` for integers, else
/// `any`.
AbstractValue unknownNumber(mlir::Type type);

/// Returns the join of all elements of a constant.
AbstractValue numbersOf(mlir::Attribute constant);

/// Returns the abstract value that `body` yields. `elementOf` returns the value
/// of an outside tensor's elements, which the body reads by index, and
/// `isAhead` whether the index of a loop is known to be at least that of
/// another.
AbstractValue
evaluateBody(mlir::Region &body, llvm::ArrayRef<AbstractValue> arguments,
             llvm::function_ref<AbstractValue(mlir::Value tensor)> elementOf,
             llvm::function_ref<bool(unsigned loop, unsigned other)> isAhead);

} // namespace frit

#endif // FRIT_COMPILER_PADDING_VALUES_ABSTRACTVALUE_H
