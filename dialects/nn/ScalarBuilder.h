//===- ScalarBuilder.h - Typed scalar expressions -------------------------===//
//
// What an elementwise operator's one-expression body is written with. MLIR's
// arith has no signs and splits every operation into an integer and a float
// form; a Scalar remembers the sign and picks the form, so one body serves
// every element type:  `x[0] * s.sigmoid(x[0])`.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_DIALECTS_NN_SCALARBUILDER_H
#define FRIT_DIALECTS_NN_SCALARBUILDER_H

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace frit::nn {

class ScalarBuilder;

/// The type that elements of type `storage` have inside a body: f32 for the
/// 16- and 8-bit floats, signless for integers, itself otherwise.
mlir::Type bodyType(mlir::Type storage);

/// The type in which composites compute on elements of type `storage`: f32 for
/// the floats below it, itself otherwise.
mlir::Type workType(mlir::Type storage);

/// Whether elements of type `storage` are kept as bytes that only conversions
/// read: floats and integers of fewer than 8 bits, and the 8-bit floats.
bool isSmall(mlir::Type storage);

/// `type` with unsigned integer elements made signless and small ones bytes,
/// which is what linalg and everything below it works on.
mlir::Type signlessType(mlir::Type type);

/// One value of a body: its SSA value and whether an integer is unsigned.
struct Scalar {
  mlir::Value value;
  bool isUnsigned = false;
  ScalarBuilder *builder = nullptr;

  mlir::Type type() const { return value.getType(); }
  bool isFloat() const { return llvm::isa<mlir::FloatType>(type()); }
  bool isBool() const { return type().isInteger(1); }
};

/// Builds expressions at its builder's insertion point.
class ScalarBuilder {
public:
  explicit ScalarBuilder(mlir::ImplicitLocOpBuilder &b) : b(b) {}

  /// Wraps a body value that stands for an element of type `storage`.
  Scalar wrap(mlir::Value value, mlir::Type storage);

  /// A constant of the type of `like`.
  Scalar constant(double value, const Scalar &like);

  /// Reads an element of a signless `storage`-typed value into its body type,
  /// and the way back (float to 16-bit float rounds to nearest even).
  mlir::Value load(mlir::Value stored);
  mlir::Value store(mlir::Value value, mlir::Type storage);

  Scalar add(Scalar x, Scalar y);
  Scalar sub(Scalar x, Scalar y);
  Scalar mul(Scalar x, Scalar y);
  /// Integers divide towards zero, as ONNX's Div.
  Scalar div(Scalar x, Scalar y);
  /// Remainder with the divisor's sign (`fmod` false) or the dividend's.
  Scalar mod(Scalar x, Scalar y, bool fmod);
  Scalar neg(Scalar x);
  Scalar abs(Scalar x);
  Scalar sign(Scalar x);
  /// NaN if either is.
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
  /// Halves to even, as ONNX's Round.
  Scalar round(Scalar x);
  /// 1 / (1 + exp(-x)), computed without overflow.
  Scalar sigmoid(Scalar x);
  /// log(1 + exp(x)), computed without overflow.
  Scalar softplus(Scalar x);

  enum class Compare { eq, ne, lt, le, gt, ge };
  /// An i1; NaN compares unequal to everything.
  Scalar compare(Compare predicate, Scalar x, Scalar y);
  Scalar isNaN(Scalar x);
  Scalar isInf(Scalar x, bool negative, bool positive);
  Scalar select(Scalar condition, Scalar x, Scalar y);
  Scalar bitAnd(Scalar x, Scalar y);
  Scalar bitOr(Scalar x, Scalar y);
  Scalar bitXor(Scalar x, Scalar y);
  Scalar bitNot(Scalar x);
  /// Zeros move in, from the left of a signed integer copies of its sign; so a
  /// shift by all bits or more is 0, or -1.
  Scalar shiftLeft(Scalar x, Scalar y);
  Scalar shiftRight(Scalar x, Scalar y);

  /// ONNX's Cast to elements of type `storage`: floats truncate towards zero
  /// and saturate to the integer's range, anything but 0 is true.
  Scalar cast(Scalar x, mlir::Type storage);

  /// How a cast rounds, and what casts to small types do with values that do
  /// not fit: see nn.cast.
  struct CastRules {
    bool wraps;
    llvm::StringRef round;
    bool roundsNow; ///< to a 16-bit float, not only where it is stored
  };
  /// As `cast`, from elements of type `from`, where both may be small.
  Scalar convert(Scalar x, mlir::Type from, mlir::Type to, CastRules rules);
  /// The bits of an element of type `from` as one of type `to`, as wide.
  Scalar bitCast(Scalar x, mlir::Type from, mlir::Type to);

private:
  /// A float as the nearest one of `type`, a 16-bit float type, in f32.
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
