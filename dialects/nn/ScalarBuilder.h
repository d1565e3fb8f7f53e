//===- ScalarBuilder.h - Typed scalar expressions -------------------------===//
//
// Elementwise operators are defined by one expression over Scalars. MLIR's
// arith has signless integers and separate integer and float operations; a
// Scalar knows its signedness and chooses the operation, so one expression
// serves every element type:  `x[0] * s.sigmoid(x[0])`.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_DIALECTS_NN_SCALARBUILDER_H
#define FRIT_DIALECTS_NN_SCALARBUILDER_H

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace frit::nn {

class ScalarBuilder;

/// Returns the type of `storage` elements inside a body: f32 for the 16- and
/// 8-bit floats, signless for integers, otherwise the same.
mlir::Type bodyType(mlir::Type storage);

/// Returns the type in which composites compute on `storage` elements: f32 for
/// narrower floats, otherwise the same.
mlir::Type workType(mlir::Type storage);

/// Returns whether `storage` elements are kept as bytes that only conversions
/// read: types below 8 bits, and 8-bit floats.
bool isSmall(mlir::Type storage);

/// Returns `type` with unsigned integers made signless and small types made
/// bytes, as in linalg and below.
mlir::Type signlessType(mlir::Type type);

/// A value in a body: its SSA value, and whether an integer is unsigned.
struct Scalar {
  mlir::Value value;
  bool isUnsigned = false;
  ScalarBuilder *builder = nullptr;

  mlir::Type type() const { return value.getType(); }
  bool isFloat() const { return llvm::isa<mlir::FloatType>(type()); }
  bool isBool() const { return type().isInteger(1); }
};

/// Builds expressions at the builder's insertion point.
class ScalarBuilder {
public:
  explicit ScalarBuilder(mlir::ImplicitLocOpBuilder &b) : b(b) {}

  /// Wraps a body value of an element of type `storage`.
  Scalar wrap(mlir::Value value, mlir::Type storage);

  /// Builds a constant of the type of `like`.
  Scalar constant(double value, const Scalar &like);

  /// Convert an element between its stored signless type and its body type.
  /// Storing a 16-bit float rounds to nearest even.
  mlir::Value load(mlir::Value stored);
  mlir::Value store(mlir::Value value, mlir::Type storage);

  Scalar add(Scalar x, Scalar y);
  Scalar sub(Scalar x, Scalar y);
  Scalar mul(Scalar x, Scalar y);
  /// Divides. Integers round towards zero, as in ONNX's Div.
  Scalar div(Scalar x, Scalar y);
  /// Builds the remainder, with the divisor's sign (`fmod` false) or the
  /// dividend's.
  Scalar mod(Scalar x, Scalar y, bool fmod);
  Scalar neg(Scalar x);
  Scalar abs(Scalar x);
  Scalar sign(Scalar x);
  /// Return NaN if either operand is.
  Scalar max(Scalar x, Scalar y);
  Scalar min(Scalar x, Scalar y);
  Scalar pow(Scalar x, Scalar y);

  Scalar exp(Scalar x);
  Scalar log(Scalar x);
  Scalar log1p(Scalar x);
  Scalar sqrt(Scalar x);
  Scalar rsqrt(Scalar x);
  Scalar sin(Scalar x);
  Scalar cos(Scalar x);
  Scalar tan(Scalar x);
  Scalar asin(Scalar x);
  Scalar acos(Scalar x);
  Scalar atan(Scalar x);
  Scalar sinh(Scalar x);
  Scalar cosh(Scalar x);
  Scalar asinh(Scalar x);
  Scalar acosh(Scalar x);
  Scalar atanh(Scalar x);
  Scalar tanh(Scalar x);
  Scalar erf(Scalar x);
  Scalar floor(Scalar x);
  Scalar ceil(Scalar x);
  /// Rounds halves to even, as ONNX's Round.
  Scalar round(Scalar x);
  /// Builds 1 / (1 + exp(-x)), without overflow.
  Scalar sigmoid(Scalar x);
  /// Builds log(1 + exp(x)), without overflow.
  Scalar softplus(Scalar x);

  enum class Compare { eq, ne, lt, le, gt, ge };
  /// Builds a comparison, an i1. NaN is unequal to everything.
  Scalar compare(Compare predicate, Scalar x, Scalar y);
  Scalar isNaN(Scalar x);
  Scalar isInf(Scalar x, bool negative, bool positive);
  Scalar select(Scalar condition, Scalar x, Scalar y);
  Scalar bitAnd(Scalar x, Scalar y);
  Scalar bitOr(Scalar x, Scalar y);
  Scalar bitXor(Scalar x, Scalar y);
  Scalar bitNot(Scalar x);
  /// Shift in zeros, or copies of the sign if a signed integer is shifted
  /// right. So a shift by all bits or more gives 0 or -1.
  Scalar shiftLeft(Scalar x, Scalar y);
  Scalar shiftRight(Scalar x, Scalar y);

  /// Builds ONNX's Cast to `storage`: floats round towards zero and saturate to
  /// the integer's range; anything but 0 is true.
  Scalar cast(Scalar x, mlir::Type storage);

  /// Rounding of a cast, and handling of values that do not fit into small
  /// types: see nn.cast.
  struct CastRules {
    bool wraps;
    llvm::StringRef round;
    bool roundsNow; ///< round to a 16-bit float here, not only in a store
  };
  /// As `cast`, from elements of type `from`; both types may be small.
  Scalar convert(Scalar x, mlir::Type from, mlir::Type to, CastRules rules);
  /// Calls a custom function, a CustomAttr, on `x` and then `constants`. The
  /// result is an element of type `storage`.
  Scalar call(mlir::Attribute function, llvm::ArrayRef<Scalar> x,
              llvm::ArrayRef<mlir::Attribute> constants, mlir::Type storage);
  /// Reinterprets the bits of an element as another type of the same width.
  Scalar bitCast(Scalar x, mlir::Type from, mlir::Type to);

private:
  /// Rounds a float to the 16-bit float type `type`; the result is f32.
  Scalar roundTo(Scalar x, mlir::FloatType type);

  Scalar make(mlir::Value value, const Scalar &like) {
    return {value, like.isUnsigned, this};
  }

  mlir::ImplicitLocOpBuilder &b;
};

inline Scalar operator+(Scalar x, Scalar y) { return x.builder->add(x, y); }
inline Scalar operator-(Scalar x, Scalar y) { return x.builder->sub(x, y); }
inline Scalar operator*(Scalar x, Scalar y) { return x.builder->mul(x, y); }
inline Scalar operator/(Scalar x, Scalar y) { return x.builder->div(x, y); }
inline Scalar operator-(Scalar x) { return x.builder->neg(x); }
inline Scalar operator+(Scalar x, double y) {
  return x + x.builder->constant(y, x);
}
inline Scalar operator+(double x, Scalar y) {
  return y.builder->constant(x, y) + y;
}
inline Scalar operator-(Scalar x, double y) {
  return x - x.builder->constant(y, x);
}
inline Scalar operator-(double x, Scalar y) {
  return y.builder->constant(x, y) - y;
}
inline Scalar operator*(Scalar x, double y) {
  return x * x.builder->constant(y, x);
}
inline Scalar operator*(double x, Scalar y) {
  return y.builder->constant(x, y) * y;
}
inline Scalar operator/(double x, Scalar y) {
  return y.builder->constant(x, y) / y;
}
inline Scalar operator<(Scalar x, Scalar y) {
  return x.builder->compare(ScalarBuilder::Compare::lt, x, y);
}
inline Scalar operator<=(Scalar x, Scalar y) {
  return x.builder->compare(ScalarBuilder::Compare::le, x, y);
}
inline Scalar operator>(Scalar x, Scalar y) {
  return x.builder->compare(ScalarBuilder::Compare::gt, x, y);
}
inline Scalar operator>=(Scalar x, Scalar y) {
  return x.builder->compare(ScalarBuilder::Compare::ge, x, y);
}
inline Scalar operator>(Scalar x, double y) {
  return x > x.builder->constant(y, x);
}
inline Scalar operator<(Scalar x, double y) {
  return x < x.builder->constant(y, x);
}

} // namespace frit::nn

#endif // FRIT_DIALECTS_NN_SCALARBUILDER_H
