//===- QuantizedEpilogue.cpp - What follows an integer product ------------===//
//
// Sums with one number per filter, scales, a relu and a quantization become a
// part of the product, as long as each is the only reader of the one before.
//
//===----------------------------------------------------------------------===//

#include "compiler/transform/recognize/QuantizedEpilogue.h"

using namespace mlir;
using namespace frit;
using namespace frit::nn;

/// Returns the integers that a tensor holds, perhaps as floats, as i32; null if
/// they are not known to be integers.
static Value toIntegers(NNBuilder &b, Value value) {
  if (tensorType(value).getElementType().isInteger(32))
    return value;
  if (auto cast = value.getDefiningOp<CastOp>();
      cast && tensorType(cast.getX()).getElementType().isInteger(32))
    return cast.getX();
  auto constant = value.getDefiningOp<ConstantOp>();
  auto numbers =
      constant && isFoldable(constant) ? integersOf(value) : std::nullopt;
  if (!numbers)
    return {};
  SmallVector<int32_t> values(numbers->begin(), numbers->end());
  auto type = RankedTensorType::get(shapeOf(value), b.getI32Type());
  return ConstantOp::create(
      b, DenseElementsAttr::get(type, ArrayRef<int32_t>(values)), StringAttr());
}

/// Takes an addend: integers before there is a scale, or floats.
bool QuantizedEpilogue::takeAddend(Value addend) {
  if (scale) {
    Value vector = factor(addend);
    if (!vector || relu)
      return false;
    // A bias has an element per filter.
    if (hasOneElement(vector))
      vector = ExpandOp::create(b, b.reshape(vector, {1}), {count});
    bias = bias ? b.add(bias, vector) : vector;
    return true;
  }
  if (offset || (hasOneElement(addend) && count != 1))
    return false;
  Value integers = toIntegers(b, addend);
  Value vector = integers ? alongAxis(b, integers, rank, axis, count) : Value();
  if (vector)
    offset = b.reshape(vector, {count});
  return bool(vector);
}

bool QuantizedEpilogue::takeBias(Value vector) {
  if (!scale)
    offset = toIntegers(b, vector);
  else if (tensorType(vector).getElementType().isF32())
    bias = vector;
  return offset || bias;
}

/// Takes clamp(round(x / scale) + zero).
bool QuantizedEpilogue::takeQuantization(DivOp div) {
  auto number = [](Value value) { return splatNumber(value); };
  if (!hasOneElement(div.getB()) ||
      !tensorType(div.getB()).getElementType().isF32())
    return false;
  auto round = dyn_cast_or_null<RoundOp>(reader(div));
  Operation *next = round ? reader(round) : nullptr;
  std::optional<double> shift = 0;
  if (auto add = dyn_cast_or_null<AddOp>(next)) {
    Value other = add.getA() == round.getY() ? add.getB() : add.getA();
    shift = hasOneElement(other) ? number(other) : std::nullopt;
    next = reader(add);
  }
  auto low = dyn_cast_or_null<MaxOp>(next);
  auto high = dyn_cast_or_null<MinOp>(low ? reader(low) : nullptr);
  auto cast = dyn_cast_or_null<CastOp>(high ? reader(high) : nullptr);
  if (!shift || !cast || !isByte(resultType(cast).getElementType()))
    return false;
  Type to = resultType(cast).getElementType();
  double least = to.isUnsignedInteger() ? 0 : -128;
  auto isClamp = [&](Operation *op, double bound) {
    return llvm::any_of(op->getOperands(), [&](Value operand) {
      return hasOneElement(operand) && number(operand) == bound;
    });
  };
  if (!isClamp(low, least) || !isClamp(high, least + 255) ||
      *shift != std::trunc(*shift) || *shift < least || *shift > least + 255)
    return false;
  Value by = b.reshape(div.getB(), {});
  scale = scale ? b.div(scale, by) : b.div(b.scalarLike(by, 1), by);
  if (bias)
    bias = b.div(bias, by);
  zero = createByte(b, to, int64_t(*shift));
  end = cast;
  return true;
}

/// Takes one operator, or those of a quantization.
bool QuantizedEpilogue::take(Operation *next) {
  Value value = end->getResult(0);
  if (auto cast = dyn_cast<CastOp>(next)) {
    Type to = resultType(cast).getElementType();
    bool isExact = !scale && (to.isF32() || to.isF64() || to.isInteger(32));
    if (isExact)
      end = cast;
    return isExact;
  }
  if (resultType(next).getShape() != resultType(end).getShape())
    return false;
  if (auto div = dyn_cast<DivOp>(next))
    return div.getA() == value && element().isF32() && takeQuantization(div);
  if (auto activation = dyn_cast<ReluOp>(next)) {
    if (!scale)
      return false;
    relu = true;
    end = next;
    return true;
  }
  if (!isa<AddOp, MulOp>(next))
    return false;
  Value other =
      next->getOperand(0) == value ? next->getOperand(1) : next->getOperand(0);
  if (isa<AddOp>(next) ? !takeAddend(other)
                       : !element().isF32() || relu || !factor(other))
    return false;
  if (isa<MulOp>(next))
    multiply(factor(other));
  end = next;
  return true;
}

void QuantizedEpilogue::extend() {
  while (!zero) {
    Operation *next = reader(end);
    // Values that the new operator reads are made where it will be.
    if (!next || next->getBlock() != end->getBlock() ||
        next->hasTrait<OpTrait::IsTerminator>())
      return;
    b.setInsertionPoint(next);
    if (!take(next))
      return;
  }
}
