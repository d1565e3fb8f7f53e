//===- AbstractValue.cpp - Abstract value of a number ---------------------===//

#include "compiler/padding/values/AbstractValue.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/IR/Operation.h"

#include <cmath>
#include <cstring>

using namespace mlir;
using namespace frit;

static std::optional<APFloat> floatOf(const AbstractValue &x) {
  auto number = dyn_cast_if_present<FloatAttr>(x.value);
  return number ? std::optional(number.getValue()) : std::nullopt;
}

AbstractValue::Kind AbstractValue::sign() const {
  if (kind != constant)
    return kind;
  if (auto number = floatOf(*this)) {
    if (!number->isFinite())
      return number->isInfinity() && number->isNegative() ? below : any;
    return number->isZero()       ? notNegative
           : number->isNegative() ? real
                                  : positive;
  }
  auto integer = dyn_cast<IntegerAttr>(value);
  if (!integer)
    return any;
  return integer.getValue().isStrictlyPositive() ? positive
         : integer.getValue().isZero()           ? notNegative
                                                 : real;
}

bool AbstractValue::isZero() const {
  if (auto number = floatOf(*this))
    return number->isZero();
  auto integer = dyn_cast_if_present<IntegerAttr>(value);
  return integer && integer.getValue().isZero();
}

int AbstractValue::infinity() const {
  auto number = floatOf(*this);
  return !number || !number->isInfinity() ? 0 : number->isNegative() ? -1 : 1;
}

AbstractValue AbstractValue::operator|(const AbstractValue &other) const {
  if (kind == nothing || *this == other)
    return other;
  if (other.kind == nothing)
    return *this;
  // Zeros of either sign are equal.
  if (isZero() && other.isZero())
    return *this;
  if (kind == given || other.kind == given)
    return any;
  return std::max(sign(), other.sign());
}

std::string AbstractValue::text() const {
  std::string text(1, "-gcpnrba"[kind]);
  if (value) {
    llvm::raw_string_ostream os(text);
    os << value;
  }
  return text;
}

AbstractValue frit::unknownNumber(Type type) {
  type = getElementTypeOrSelf(type);
  return isa<FloatType>(type) ? AbstractValue::any : AbstractValue::real;
}

/// Returns whether all floats in `bytes`, whose exponent mask is `exponent`,
/// are finite.
template <typename Bits>
static bool areFinite(ArrayRef<char> bytes, Bits exponent) {
  bool finite = true;
  for (size_t i = 0; i + sizeof(Bits) <= bytes.size(); i += sizeof(Bits)) {
    Bits bits;
    std::memcpy(&bits, bytes.data() + i, sizeof(Bits));
    finite &= (bits & exponent) != exponent;
  }
  return finite;
}

AbstractValue frit::numbersOf(Attribute constant) {
  auto elements = dyn_cast<ElementsAttr>(constant);
  if (!elements)
    return AbstractValue::any;
  Type type = elements.getElementType();
  if (auto dense = dyn_cast<DenseElementsAttr>(constant)) {
    if (dense.isSplat())
      if (auto value = dyn_cast<TypedAttr>(dense.getSplatValue<Attribute>()))
        return AbstractValue(value);
    if (!isa<FloatType>(type))
      return AbstractValue::real;
    AbstractValue all;
    for (Attribute value : dense.getValues<Attribute>())
      all = all | AbstractValue(cast<TypedAttr>(value)).sign();
    return all;
  }
  if (!isa<FloatType>(type))
    return AbstractValue::real;
  auto resource = dyn_cast<DenseResourceElementsAttr>(constant);
  AsmResourceBlob *blob =
      resource ? resource.getRawHandle().getBlob() : nullptr;
  if (!blob)
    return AbstractValue::any;
  ArrayRef<char> bytes = blob->getData();
  bool finite = type.isF64()    ? areFinite<uint64_t>(bytes, 0x7ffull << 52)
                : type.isF32()  ? areFinite<uint32_t>(bytes, 0xffu << 23)
                : type.isF16()  ? areFinite<uint16_t>(bytes, 0x1f << 10)
                : type.isBF16() ? areFinite<uint16_t>(bytes, 0xff << 7)
                                : false;
  return finite ? AbstractValue::real : AbstractValue::any;
}
