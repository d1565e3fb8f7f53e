//===- SmallTypes.cpp - Types of 8, 4 and 2 bits --------------------------===//
//
// These types are stored as bytes and only converted, by bit operations, so
// that no target needs them. The floats are those of Micikevicius et al., "FP8
// Formats for Deep Learning", arXiv:2209.05433, of Noune et al.,
// arXiv:2206.02915 (FNUZ), and of the OCP Microscaling specification.
//
//===----------------------------------------------------------------------===//

#include "dialects/nn/ScalarBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace frit::nn;

namespace {

/// A float format: sign, exponent and mantissa from the highest bit on.
/// `largest` is the code of the largest magnitude; `infinity` and `nan` are
/// codes, or -1 if there is none. FNUZ formats use the code of minus zero for
/// NaN.
struct Layout {
  unsigned exponent, mantissa;
  int bias, largest, infinity, nan;

  unsigned signBit() const { return exponent + mantissa; }
  bool hasMinusZero() const { return nan < 1 << signBit(); }
};

std::optional<Layout> layoutOf(Type type) {
  if (isa<Float8E4M3FNType>(type))
    return Layout{4, 3, 7, 0x7e, -1, 0x7f};
  if (isa<Float8E5M2Type>(type))
    return Layout{5, 2, 15, 0x7b, 0x7c, 0x7e};
  if (isa<Float8E4M3FNUZType>(type))
    return Layout{4, 3, 8, 0x7f, -1, 0x80};
  if (isa<Float8E5M2FNUZType>(type))
    return Layout{5, 2, 16, 0x7f, -1, 0x80};
  if (isa<Float4E2M1FNType>(type))
    return Layout{2, 1, 1, 7, -1, -1};
  return std::nullopt;
}

/// Builds 32-bit integer and float operations.
class Bits {
public:
  explicit Bits(ImplicitLocOpBuilder &b) : b(b) {}

  Value integer(int64_t value) {
    return arith::ConstantOp::create(b, b.getI32IntegerAttr(value));
  }
  Value real(double value) {
    return arith::ConstantOp::create(b, b.getF32FloatAttr(value));
  }
  Value ofReal(Value x) {
    return arith::BitcastOp::create(b, b.getI32Type(), x);
  }
  Value toReal(Value x) {
    return arith::BitcastOp::create(b, b.getF32Type(), x);
  }
  Value add(Value x, int64_t y) {
    return arith::AddIOp::create(b, x, integer(y));
  }
  Value keep(Value x, int64_t mask) {
    return arith::AndIOp::create(b, x, integer(mask));
  }
  Value left(Value x, int64_t places) {
    return arith::ShLIOp::create(b, x, integer(places));
  }
  Value right(Value x, int64_t places) {
    return arith::ShRUIOp::create(b, x, integer(places));
  }
  Value is(arith::CmpIPredicate how, Value x, int64_t y) {
    return arith::CmpIOp::create(b, how, x, integer(y));
  }
  Value select(Value condition, Value x, Value y) {
    return arith::SelectOp::create(b, condition, x, y);
  }

private:
  ImplicitLocOpBuilder &b;
};

using P = arith::CmpIPredicate;

constexpr int kMantissa = 23, kBias = 127;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

} // namespace

bool frit::nn::isSmall(Type storage) {
  if (auto integer = dyn_cast<IntegerType>(storage))
    return integer.getWidth() > 1 && integer.getWidth() < 8;
  return isa<Float8E8M0FNUType>(storage) || layoutOf(storage);
}

/// Decodes the byte `x` to f32.
static Value decode(ImplicitLocOpBuilder &b, Value x, Layout f) {
  Bits bits(b);
  Value all = arith::ExtUIOp::create(b, b.getI32Type(), x);
  Value size = bits.keep(all, (1 << f.signBit()) - 1);
  // Exponent and mantissa are adjacent in both formats.
  Value normal = bits.toReal(bits.add(bits.left(size, kMantissa - f.mantissa),
                                      int64_t(kBias - f.bias) << kMantissa));
  int step = 1 - f.bias - static_cast<int>(f.mantissa);
  Value tiny =
      arith::MulFOp::create(b, arith::SIToFPOp::create(b, b.getF32Type(), size),
                            bits.real(std::ldexp(1.0, step)));
  Value y = bits.select(bits.is(P::slt, size, 1 << f.mantissa), tiny, normal);
  if (f.infinity >= 0) {
    double infinity = std::numeric_limits<double>::infinity();
    y = bits.select(bits.is(P::eq, size, f.infinity), bits.real(infinity), y);
    y = bits.select(bits.is(P::sgt, size, f.infinity), bits.real(kNaN), y);
  } else if (f.nan >= 0 && f.hasMinusZero()) {
    y = bits.select(bits.is(P::eq, size, f.nan), bits.real(kNaN), y);
  }
  Value negative = bits.is(P::sge, all, 1 << f.signBit());
  y = bits.select(negative, arith::NegFOp::create(b, y), y);
  if (f.nan >= 0 && !f.hasMinusZero())
    y = bits.select(bits.is(P::eq, all, f.nan), bits.real(kNaN), y);
  return y;
}

/// Encodes the f32 `x` as a byte, rounded to nearest even.
static Value encode(ImplicitLocOpBuilder &b, Value x, Layout f, bool wraps) {
  Bits bits(b);
  Value all = bits.ofReal(x), size = bits.keep(all, 0x7fffffff);
  // Round to nearest even: add just under half of the last kept bit, plus one
  // if that bit is odd. The carry goes into the exponent by itself.
  unsigned dropped = kMantissa - f.mantissa;
  Value odd = bits.keep(bits.right(size, dropped), 1);
  Value rounded =
      arith::AddIOp::create(b, bits.add(size, (1 << (dropped - 1)) - 1), odd);
  Value code = bits.add(bits.right(rounded, dropped),
                        -(int64_t(kBias - f.bias) << f.mantissa));
  // Subnormal numbers have a constant step.
  double least = std::ldexp(1.0, 1 - f.bias);
  Value magnitude = math::AbsFOp::create(b, x);
  Value capped = arith::MinimumFOp::create(b, magnitude, bits.real(least));
  Value steps = math::RoundEvenOp::create(
      b,
      arith::MulFOp::create(
          b, capped, bits.real(std::ldexp(1.0, f.bias - 1 + int(f.mantissa)))));
  Value isTiny = arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, magnitude,
                                       bits.real(least));
  code = bits.select(isTiny, arith::FPToSIOp::create(b, b.getI32Type(), steps),
                     code);
  int past = !wraps || f.nan < 0 ? f.largest
             : f.infinity >= 0   ? f.infinity
                                 : f.nan;
  Value isOver = bits.is(P::sgt, code, f.largest);
  code = bits.select(isOver, bits.integer(past), code);
  Value signedCode =
      arith::OrIOp::create(b, code, bits.integer(1 << f.signBit()));
  Value takesSign = bits.is(P::slt, all, 0);
  if (!f.hasMinusZero())
    takesSign = arith::AndIOp::create(b, takesSign, bits.is(P::ne, code, 0));
  code = bits.select(takesSign, signedCode, code);
  // NaN becomes minus zero in formats without NaN.
  Value isNaN = arith::CmpFOp::create(b, arith::CmpFPredicate::UNO, x, x);
  int none = f.nan < 0 ? 1 << f.signBit() : f.nan;
  code = bits.select(isNaN, bits.integer(none), code);
  return arith::TruncIOp::create(b, b.getI8Type(), code);
}

/// Decodes E8M0: the exponent of an f32, from 2^-127 on; 255 is NaN.
static Value decodeExponent(ImplicitLocOpBuilder &b, Value x) {
  Bits bits(b);
  Value e = arith::ExtUIOp::create(b, b.getI32Type(), x);
  Value y = bits.toReal(bits.left(e, kMantissa));
  y = bits.select(bits.is(P::eq, e, 0), bits.real(std::ldexp(1.0, -127)), y);
  return bits.select(bits.is(P::eq, e, 255), bits.real(kNaN), y);
}

static Value encodeExponent(ImplicitLocOpBuilder &b, Value x, StringRef round) {
  Bits bits(b);
  Value size = bits.keep(bits.ofReal(x), 0x7fffffff);
  Value e = bits.right(size, kMantissa);
  Value rest = bits.keep(size, (1 << kMantissa) - 1);
  Value up = e;
  if (round == "up")
    up = bits.select(bits.is(P::ne, rest, 0), bits.add(e, 1), e);
  else if (round == "nearest")
    up = bits.select(bits.is(P::sge, rest, 1 << (kMantissa - 1)),
                     bits.add(e, 1), e);
  up = arith::MinSIOp::create(b, up, bits.integer(254));
  up = bits.select(bits.is(P::eq, e, 255), e, up);
  return arith::TruncIOp::create(b, b.getI8Type(), up);
}

Scalar ScalarBuilder::convert(Scalar x, Type from, Type to, CastRules rules) {
  if (auto layout = layoutOf(from))
    x = {decode(b, x.value, *layout), false, this};
  else if (isa<Float8E8M0FNUType>(from))
    x = {decodeExponent(b, x.value), false, this};
  if (auto layout = layoutOf(to)) {
    Value wide = cast(x, b.getF32Type()).value;
    return {encode(b, wide, *layout, rules.wraps), false, this};
  }
  if (isa<Float8E8M0FNUType>(to)) {
    Value wide = cast(x, b.getF32Type()).value;
    return {encodeExponent(b, wide, rules.round), false, this};
  }
  if (!isSmall(to)) {
    Scalar result = cast(x, to);
    return rules.roundsNow ? roundTo(result, llvm::cast<FloatType>(to))
                           : result;
  }
  // Keep the low bits and sign-extend the highest of them.
  Value byte = cast(cast(x, b.getI32Type()), b.getI8Type()).value;
  Value places = arith::ConstantOp::create(
      b, b.getI8IntegerAttr(8 - to.getIntOrFloatBitWidth()));
  byte = arith::ShLIOp::create(b, byte, places);
  bool isUnsigned = to.isUnsignedInteger();
  byte = isUnsigned ? Value(arith::ShRUIOp::create(b, byte, places))
                    : Value(arith::ShRSIOp::create(b, byte, places));
  return {byte, isUnsigned, this};
}

Scalar ScalarBuilder::bitCast(Scalar x, Type from, Type to) {
  auto bits = b.getIntegerType(from.getIntOrFloatBitWidth());
  Value value = x.value;
  if (x.isBool()) {
    value = arith::ExtUIOp::create(b, b.getI8Type(), value);
  } else if (isa<FloatType>(from) && !isSmall(from)) {
    value = store(value, from);
    value = arith::BitcastOp::create(b, bits, value);
  }
  if (to.isInteger(1)) {
    Value zero = arith::ConstantOp::create(b, b.getI8IntegerAttr(0));
    return {arith::CmpIOp::create(b, P::ne, value, zero), false, this};
  }
  if (isa<FloatType>(to) && !isSmall(to))
    value = load(arith::BitcastOp::create(b, to, value));
  return {value, to.isUnsignedInteger(), this};
}
