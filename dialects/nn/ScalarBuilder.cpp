//===- ScalarBuilder.cpp - Typed scalar expressions -----------------------===//

#include "dialects/nn/ScalarBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace frit::nn;

Type frit::nn::workType(Type storage) {
  auto f = dyn_cast<FloatType>(storage);
  return f && f.getWidth() < 32 ? Float32Type::get(storage.getContext())
                                : storage;
}

Type frit::nn::bodyType(Type storage) {
  return signlessType(workType(storage));
}

Type frit::nn::signlessType(Type type) {
  if (auto shaped = dyn_cast<RankedTensorType>(type))
    return shaped.clone(signlessType(shaped.getElementType()));
  if (isSmall(type))
    return IntegerType::get(type.getContext(), 8);
  if (auto integer = dyn_cast<IntegerType>(type))
    return IntegerType::get(type.getContext(), integer.getWidth());
  return type;
}

Scalar ScalarBuilder::wrap(Value value, Type storage) {
  return {value, storage.isUnsignedInteger(), this};
}

Scalar ScalarBuilder::constant(double value, const Scalar &like) {
  if (auto f = dyn_cast<FloatType>(like.type()))
    return make(arith::ConstantOp::create(b, b.getFloatAttr(f, value)), like);
  auto attr = b.getIntegerAttr(like.type(), static_cast<int64_t>(value));
  return make(arith::ConstantOp::create(b, attr), like);
}

Value ScalarBuilder::load(Value stored) {
  Type type = bodyType(stored.getType());
  if (type == stored.getType())
    return stored;
  return arith::ExtFOp::create(b, type, stored);
}

Value ScalarBuilder::store(Value value, Type storage) {
  if (value.getType() == storage)
    return value;
  return b.createOrFold<arith::TruncFOp>(storage, value);
}

/// Sets a rounding mode, which marks rounding that the model asks for, as
/// opposed to that of a store.
Scalar ScalarBuilder::roundTo(Scalar x, FloatType type) {
  Value rounded = arith::TruncFOp::create(
      b, type, x.value,
      arith::RoundingModeAttr::get(b.getContext(),
                                   arith::RoundingMode::to_nearest_even),
      /*fastmath=*/nullptr);
  return make(arith::ExtFOp::create(b, x.type(), rounded), x);
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

/// Creates the float, signed or unsigned form of an operation.
template <typename Float, typename Signed, typename Unsigned = Signed>
static Value pick(ImplicitLocOpBuilder &b, const Scalar &x, const Scalar &y) {
  if (x.isFloat())
    return Float::create(b, x.value, y.value);
  if (x.isUnsigned)
    return Unsigned::create(b, x.value, y.value);
  return Signed::create(b, x.value, y.value);
}

Scalar ScalarBuilder::add(Scalar x, Scalar y) {
  return make(pick<arith::AddFOp, arith::AddIOp>(b, x, y), x);
}
Scalar ScalarBuilder::sub(Scalar x, Scalar y) {
  return make(pick<arith::SubFOp, arith::SubIOp>(b, x, y), x);
}
Scalar ScalarBuilder::mul(Scalar x, Scalar y) {
  return make(pick<arith::MulFOp, arith::MulIOp>(b, x, y), x);
}

/// Returns whether the signed `y` is -1; dividing the least integer by it traps
/// on x86.
static Scalar isMinusOne(ScalarBuilder &s, Scalar y) {
  return s.compare(ScalarBuilder::Compare::eq, y, s.constant(-1, y));
}

/// Returns `y`, or 1 if a division by `y` may trap on x86: for 0, whose result
/// ONNX leaves open, and for -1.
static Scalar safeDivisor(ScalarBuilder &s, Scalar y) {
  Scalar traps = s.compare(ScalarBuilder::Compare::eq, y, s.constant(0, y));
  if (!y.isUnsigned)
    traps = s.bitOr(traps, isMinusOne(s, y));
  return s.select(traps, s.constant(1, y), y);
}

Scalar ScalarBuilder::div(Scalar x, Scalar y) {
  if (x.isFloat())
    return make(arith::DivFOp::create(b, x.value, y.value), x);
  Scalar quotient = make(pick<arith::DivFOp, arith::DivSIOp, arith::DivUIOp>(
                             b, x, safeDivisor(*this, y)),
                         x);
  // x / -1 is -x; the least integer stays itself, as in NumPy.
  return x.isUnsigned ? quotient
                      : select(isMinusOne(*this, y), neg(x), quotient);
}

Scalar ScalarBuilder::mod(Scalar x, Scalar y, bool fmod) {
  // The remainder by 1 equals that by -1.
  Scalar divisor = x.isFloat() ? y : safeDivisor(*this, y);
  Scalar rest = make(
      pick<arith::RemFOp, arith::RemSIOp, arith::RemUIOp>(b, x, divisor), x);
  if (fmod || x.isUnsigned)
    return rest;
  Scalar zero = constant(0, rest);
  Scalar differs = bitXor(rest < zero, divisor < zero);
  Scalar adjust = bitAnd(compare(Compare::ne, rest, zero), differs);
  return select(adjust, rest + divisor, rest);
}

Scalar ScalarBuilder::neg(Scalar x) {
  if (x.isFloat())
    return make(arith::NegFOp::create(b, x.value), x);
  return sub(constant(0, x), x);
}

Scalar ScalarBuilder::abs(Scalar x) {
  if (x.isFloat())
    return make(math::AbsFOp::create(b, x.value), x);
  return x.isUnsigned ? x : make(math::AbsIOp::create(b, x.value), x);
}

Scalar ScalarBuilder::sign(Scalar x) {
  Scalar zero = constant(0, x), one = constant(1, x);
  Scalar positive = select(x > zero, one, zero);
  if (x.isUnsigned)
    return positive;
  Scalar result = select(x < zero, neg(one), positive);
  return x.isFloat() ? select(isNaN(x), x, result) : result;
}

Scalar ScalarBuilder::max(Scalar x, Scalar y) {
  return make(pick<arith::MaximumFOp, arith::MaxSIOp, arith::MaxUIOp>(b, x, y),
              x);
}
Scalar ScalarBuilder::min(Scalar x, Scalar y) {
  return make(pick<arith::MinimumFOp, arith::MinSIOp, arith::MinUIOp>(b, x, y),
              x);
}

/// Builds an integer to the power of an integer that is not negative, by
/// squaring. It is exact where the result fits, and wraps otherwise.
static Scalar integerPower(ScalarBuilder &s, Scalar x, Scalar y) {
  // Only powers of 0, 1 and -1 fit with larger exponents, and these depend on
  // whether the exponent is odd.
  constexpr int kBits = 6, kMostEven = (1 << kBits) - 2;
  Scalar one = s.constant(1, y), even = s.constant(kMostEven, y);
  y = s.select(y > even, s.bitOr(even, s.bitAnd(y, one)), y);
  Scalar result = s.constant(1, x);
  for (int bit = 0; bit < kBits; ++bit) {
    Scalar isSet =
        s.compare(ScalarBuilder::Compare::ne,
                  s.bitAnd(y, s.constant(1 << bit, y)), s.constant(0, y));
    result = s.select(isSet, result * x, result);
    x = x * x;
  }
  return result;
}

Scalar ScalarBuilder::pow(Scalar x, Scalar y) {
  // The exponent may have another type; the result has the base's.
  if (!x.isFloat()) {
    Type wide = b.getF64Type();
    Type own = x.isUnsigned
                   ? Type(IntegerType::get(b.getContext(),
                                           x.type().getIntOrFloatBitWidth(),
                                           IntegerType::Unsigned))
                   : x.type();
    auto inFloat = [&] { return cast(pow(cast(x, wide), cast(y, wide)), own); };
    if (y.isFloat())
      return inFloat();
    Scalar power = integerPower(*this, x, y);
    return y.isUnsigned ? power : select(y < constant(0, y), inFloat(), power);
  }
  Scalar exponent = cast(y, x.type());
  return make(math::PowFOp::create(b, x.value, exponent.value), x);
}

//===----------------------------------------------------------------------===//
// Functions of floats
//===----------------------------------------------------------------------===//

#define FRIT_UNARY(name, Op)                                                   \
  Scalar ScalarBuilder::name(Scalar x) {                                       \
    return make(Op::create(b, x.value), x);                                    \
  }
FRIT_UNARY(exp, math::ExpOp)
FRIT_UNARY(log, math::LogOp)
FRIT_UNARY(log1p, math::Log1pOp)
FRIT_UNARY(sqrt, math::SqrtOp)
FRIT_UNARY(rsqrt, math::RsqrtOp)
FRIT_UNARY(sin, math::SinOp)
FRIT_UNARY(cos, math::CosOp)
FRIT_UNARY(tan, math::TanOp)
FRIT_UNARY(asin, math::AsinOp)
FRIT_UNARY(acos, math::AcosOp)
FRIT_UNARY(atan, math::AtanOp)
FRIT_UNARY(sinh, math::SinhOp)
FRIT_UNARY(cosh, math::CoshOp)
FRIT_UNARY(asinh, math::AsinhOp)
FRIT_UNARY(acosh, math::AcoshOp)
FRIT_UNARY(atanh, math::AtanhOp)
FRIT_UNARY(tanh, math::TanhOp)
FRIT_UNARY(erf, math::ErfOp)
FRIT_UNARY(floor, math::FloorOp)
FRIT_UNARY(ceil, math::CeilOp)
FRIT_UNARY(round, math::RoundEvenOp)
#undef FRIT_UNARY

Scalar ScalarBuilder::sigmoid(Scalar x) { return 1.0 / (1.0 + exp(neg(x))); }

Scalar ScalarBuilder::softplus(Scalar x) {
  return max(x, constant(0, x)) + log1p(exp(neg(abs(x))));
}

//===----------------------------------------------------------------------===//
// Comparison, selection, bits
//===----------------------------------------------------------------------===//

Scalar ScalarBuilder::compare(Compare predicate, Scalar x, Scalar y) {
  using F = arith::CmpFPredicate;
  using I = arith::CmpIPredicate;
  static constexpr F floats[] = {F::OEQ, F::UNE, F::OLT,
                                 F::OLE, F::OGT, F::OGE};
  static constexpr I integers[] = {I::eq,  I::ne,  I::slt,
                                   I::sle, I::sgt, I::sge};
  static constexpr I naturals[] = {I::eq,  I::ne,  I::ult,
                                   I::ule, I::ugt, I::uge};
  auto i = static_cast<size_t>(predicate);
  Value result;
  if (x.isFloat())
    result = arith::CmpFOp::create(b, floats[i], x.value, y.value);
  else
    // false < true, so i1 compares as unsigned.
    result = arith::CmpIOp::create(
        b, x.isUnsigned || x.isBool() ? naturals[i] : integers[i], x.value,
        y.value);
  return {result, false, this};
}

Scalar ScalarBuilder::isNaN(Scalar x) {
  return {arith::CmpFOp::create(b, arith::CmpFPredicate::UNO, x.value, x.value),
          false, this};
}

Scalar ScalarBuilder::isInf(Scalar x, bool negative, bool positive) {
  double inf = std::numeric_limits<double>::infinity();
  Scalar none = {arith::ConstantOp::create(b, b.getBoolAttr(false)), false,
                 this};
  Scalar below = negative ? compare(Compare::eq, x, constant(-inf, x)) : none;
  Scalar above = positive ? compare(Compare::eq, x, constant(inf, x)) : none;
  return bitOr(below, above);
}

Scalar ScalarBuilder::select(Scalar condition, Scalar x, Scalar y) {
  return make(arith::SelectOp::create(b, condition.value, x.value, y.value), x);
}
Scalar ScalarBuilder::bitAnd(Scalar x, Scalar y) {
  return make(arith::AndIOp::create(b, x.value, y.value), x);
}
Scalar ScalarBuilder::bitOr(Scalar x, Scalar y) {
  return make(arith::OrIOp::create(b, x.value, y.value), x);
}
Scalar ScalarBuilder::bitXor(Scalar x, Scalar y) {
  return make(arith::XOrIOp::create(b, x.value, y.value), x);
}
Scalar ScalarBuilder::bitNot(Scalar x) {
  auto ones = arith::ConstantOp::create(b, b.getIntegerAttr(x.type(), -1));
  return make(arith::XOrIOp::create(b, x.value, ones), x);
}
/// Builds a shift. A shift by all bits or more is poison in arith; here it
/// gives 0.
template <typename Shift>
static Scalar shift(ImplicitLocOpBuilder &b, ScalarBuilder &s, Scalar x,
                    Scalar y) {
  y.isUnsigned = true;
  Scalar zero = s.constant(0, x);
  Scalar fits = y < static_cast<double>(x.type().getIntOrFloatBitWidth());
  Scalar places = s.select(fits, y, s.constant(0, y));
  Scalar shifted = {Shift::create(b, x.value, places.value), x.isUnsigned, &s};
  return s.select(fits, shifted, zero);
}

Scalar ScalarBuilder::shiftLeft(Scalar x, Scalar y) {
  return shift<arith::ShLIOp>(b, *this, x, y);
}
Scalar ScalarBuilder::shiftRight(Scalar x, Scalar y) {
  if (x.isUnsigned)
    return shift<arith::ShRUIOp>(b, *this, x, y);
  // Only the sign remains beyond the last bit.
  y.isUnsigned = true;
  double last = x.type().getIntOrFloatBitWidth() - 1;
  Scalar places = min(y, constant(last, y));
  return make(arith::ShRSIOp::create(b, x.value, places.value), x);
}

//===----------------------------------------------------------------------===//
// Casts
//===----------------------------------------------------------------------===//

/// Converts a float to an integer of `type`: towards zero, saturating, NaN to
/// 0.
static Value floatToInteger(ImplicitLocOpBuilder &b, Value x, IntegerType type,
                            bool isUnsigned) {
  unsigned bits = type.getWidth();
  double low = isUnsigned ? 0.0 : -std::ldexp(1.0, bits - 1);
  double past = std::ldexp(1.0, isUnsigned ? bits : bits - 1);
  auto constant = [&](double v) -> Value {
    return arith::ConstantOp::create(b, b.getFloatAttr(x.getType(), v));
  };
  auto integer = [&](const APInt &v) -> Value {
    return arith::ConstantOp::create(b, b.getIntegerAttr(type, v));
  };
  // Outside of the range the conversion is poison, so replace its operand.
  Value fits = arith::AndIOp::create(
      b, arith::CmpFOp::create(b, arith::CmpFPredicate::OGE, x, constant(low)),
      arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, x, constant(past)));
  Value safe = arith::SelectOp::create(b, fits, x, constant(0));
  Value inside = isUnsigned ? Value(arith::FPToUIOp::create(b, type, safe))
                            : Value(arith::FPToSIOp::create(b, type, safe));
  Value above =
      arith::CmpFOp::create(b, arith::CmpFPredicate::OGE, x, constant(past));
  Value below =
      arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, x, constant(low));
  APInt most =
      isUnsigned ? APInt::getMaxValue(bits) : APInt::getSignedMaxValue(bits);
  APInt least =
      isUnsigned ? APInt::getZero(bits) : APInt::getSignedMinValue(bits);
  Value result = arith::SelectOp::create(b, above, integer(most), inside);
  return arith::SelectOp::create(b, below, integer(least), result);
}

Scalar ScalarBuilder::cast(Scalar x, Type storage) {
  Type to = bodyType(storage);
  bool toUnsigned = storage.isUnsignedInteger();
  auto result = [&](Value v) { return Scalar{v, toUnsigned, this}; };
  // Bool is an i1; any number but 0 is true.
  if (to.isInteger(1))
    return x.isBool() ? x : compare(Compare::ne, x, constant(0, x));
  if (x.type() == to)
    return result(x.value);
  if (x.isBool()) {
    if (isa<FloatType>(to))
      return result(arith::UIToFPOp::create(b, to, x.value));
    return result(arith::ExtUIOp::create(b, to, x.value));
  }
  unsigned from = x.type().getIntOrFloatBitWidth();
  unsigned width = to.getIntOrFloatBitWidth();
  if (x.isFloat()) {
    if (auto integer = dyn_cast<IntegerType>(to))
      return result(floatToInteger(b, x.value, integer, toUnsigned));
    if (width > from)
      return result(arith::ExtFOp::create(b, to, x.value));
    return result(arith::TruncFOp::create(b, to, x.value));
  }
  if (isa<FloatType>(to))
    return result(x.isUnsigned
                      ? Value(arith::UIToFPOp::create(b, to, x.value))
                      : Value(arith::SIToFPOp::create(b, to, x.value)));
  if (width < from)
    return result(arith::TruncIOp::create(b, to, x.value));
  return result(x.isUnsigned ? Value(arith::ExtUIOp::create(b, to, x.value))
                             : Value(arith::ExtSIOp::create(b, to, x.value)));
}
