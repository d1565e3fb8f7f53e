//===- QuantizedOperands.cpp - Bytes, zero points and scales --------------===//
//
// Operands of products are described as bytes minus a zero point, times scales:
// nn.mul nn.cast(nn.sub(nn.cast %q : ui8, 117)), %s and the like. Constants of
// other types, whose integers fit, become bytes. Floats of 8 bits have no zero
// point: nn.mul nn.cast(%q : f8E4M3FN), %s.
//
//===----------------------------------------------------------------------===//

#include "compiler/transform/recognize/QuantizedOperands.h"

#include "compiler/transform/Graph.h"

using namespace mlir;
using namespace frit;
using namespace frit::nn;

/// Folded weights have at most this many elements.
static constexpr int64_t kLargestConstant = 1 << 16;
/// Reshapes and transposes that may follow a dequantization.
static constexpr size_t kMostMoves = 8;

bool frit::hasOneElement(Value value) {
  auto type = tensorType(value);
  return type.hasStaticShape() && type.getNumElements() == 1;
}

Value frit::createByte(NNBuilder &b, Type element, int64_t number) {
  auto type = RankedTensorType::get({}, element);
  return ConstantOp::create(
      b, DenseElementsAttr::get(type, APInt(8, uint64_t(number) & 255)),
      StringAttr());
}

std::optional<SmallVector<int64_t>> frit::integersOf(Value value) {
  DenseElementsAttr elements = constantValue(value, kLargestConstant);
  if (!elements)
    return std::nullopt;
  SmallVector<int64_t> numbers;
  numbers.reserve(elements.getNumElements());
  if (auto type = dyn_cast<IntegerType>(elements.getElementType())) {
    for (const APInt &number : elements.getValues<APInt>())
      numbers.push_back(type.isUnsigned() ? number.getZExtValue()
                                          : number.getSExtValue());
  } else {
    for (const APFloat &number : elements.getValues<APFloat>()) {
      double real = number.convertToDouble();
      if (!(std::abs(real) <= INT32_MAX) || real != std::trunc(real))
        return std::nullopt;
      numbers.push_back(int64_t(real));
    }
  }
  if (llvm::any_of(numbers, [](int64_t n) { return std::abs(n) > INT32_MAX; }))
    return std::nullopt;
  return numbers;
}

/// Creates the constant of integers, which span at most 255, as bytes.
static std::optional<Bytes> bytesOfConstant(NNBuilder &b, Value value) {
  // Weights that may be replaced are read at run time.
  if (!isFoldable(value.getDefiningOp<ConstantOp>()))
    return std::nullopt;
  auto numbers = integersOf(value);
  if (!numbers || numbers->empty())
    return std::nullopt;
  auto [low, high] = std::minmax_element(numbers->begin(), numbers->end());
  int64_t shift = *high > 127 ? 127 - *high : *low < -128 ? -128 - *low : 0;
  if (*high - *low > 255 || std::abs(shift) > 127)
    return std::nullopt;
  SmallVector<int8_t> bytes;
  for (int64_t number : *numbers)
    bytes.push_back(int8_t(number + shift));
  auto type = RankedTensorType::get(shapeOf(value), b.getI8Type());
  Bytes result;
  result.value = ConstantOp::create(
      b, DenseElementsAttr::get(type, ArrayRef<int8_t>(bytes)), StringAttr());
  if (shift)
    result.zero = createByte(b, b.getI8Type(), shift);
  return result;
}

/// Returns a zero point, which a tensor of type `element` is reduced by, as a
/// byte; null if it is none. Equal zero points of all filters are one.
static Value zeroOf(NNBuilder &b, Value zero, Type element) {
  if (auto cast = zero.getDefiningOp<CastOp>();
      cast && hasOneElement(cast.getX()) &&
      tensorType(cast.getX()).getElementType() == element)
    return b.reshape(cast.getX(), {});
  // Those of many filters are not folded.
  while (Operation *def = zero.getDefiningOp()) {
    if (!isa<ReshapeOp, CastOp>(def) ||
        (isa<CastOp>(def) &&
         !isByte(tensorType(def->getOperand(0)).getElementType())))
      break;
    zero = def->getOperand(0);
  }
  auto constant = zero.getDefiningOp<ConstantOp>();
  auto numbers =
      constant && isFoldable(constant) ? integersOf(zero) : std::nullopt;
  if (!numbers || numbers->empty() || !llvm::all_equal(*numbers))
    return {};
  int64_t number = numbers->front(),
          low = element.isUnsignedInteger() ? 0 : -128;
  return number >= low && number <= low + 255 ? createByte(b, element, number)
                                              : Value();
}

/// Describes a tensor of integers as bytes minus a zero point.
static std::optional<Bytes> describeBytes(NNBuilder &b, Value value) {
  Type element = tensorType(value).getElementType();
  if (isCode(element))
    return Bytes{value, {}};
  if (!element.isF32() && !element.isF64() && !element.isInteger(32))
    return std::nullopt;
  Operation *def = value.getDefiningOp();
  if (auto cast = dyn_cast_or_null<CastOp>(def)) {
    Type from = tensorType(cast.getX()).getElementType();
    if (isCode(from) || from.isInteger(32))
      return describeBytes(b, cast.getX());
    return std::nullopt;
  }
  if (auto sub = dyn_cast_or_null<SubOp>(def)) {
    auto bytes = describeBytes(b, sub.getA());
    if (!bytes || bytes->zero || shapeOf(sub.getA()) != shapeOf(value) ||
        !isByte(tensorType(bytes->value).getElementType()))
      return std::nullopt;
    bytes->zero =
        zeroOf(b, sub.getB(), tensorType(bytes->value).getElementType());
    return bytes->zero ? bytes : std::nullopt;
  }
  if (isa_and_nonnull<ConstantOp>(def))
    return bytesOfConstant(b, value);
  return std::nullopt;
}

/// Returns what a value was before it was rounded to 16 bits, if it is f32
/// again.
static Value beforeRounding(Value value) {
  auto widened = value.getDefiningOp<CastOp>();
  auto rounded = widened ? widened.getX().getDefiningOp<CastOp>() : CastOp();
  if (!rounded || !tensorType(value).getElementType().isF32() ||
      !tensorType(rounded.getX()).getElementType().isF32() ||
      !isa<Float16Type, BFloat16Type>(
          tensorType(rounded.getY()).getElementType()))
    return value;
  return rounded.getX();
}

std::optional<Scaled> frit::describeScaled(NNBuilder &b, Value value) {
  Scaled result;
  Value given = value;
  value = beforeRounding(value);
  bool isRounded = value != given;
  // Bytes with one scale are moved as well before the dequantization.
  SmallVector<Operation *> moves;
  while (moves.size() < kMostMoves && tensorType(value).hasStaticShape() &&
         isa_and_nonnull<ReshapeOp, TransposeOp>(value.getDefiningOp())) {
    moves.push_back(value.getDefiningOp());
    value = moves.back()->getOperand(0);
  }
  while (auto mul = value.getDefiningOp<MulOp>()) {
    bool isSecond = shapeOf(mul.getA()) == shapeOf(value) &&
                    shapeOf(mul.getB()) != shapeOf(value);
    Value factor = isSecond ? mul.getB() : mul.getA();
    Value rest = isSecond ? mul.getA() : mul.getB();
    if (shapeOf(rest) != shapeOf(value) ||
        !tensorType(factor).getElementType().isF32())
      return std::nullopt;
    result.scales.push_back(factor);
    value = rest;
  }
  auto bytes = describeBytes(b, value);
  if (!bytes || (!moves.empty() && !llvm::all_of(result.scales, hasOneElement)))
    return std::nullopt;
  if (isRounded && !isFloat8(tensorType(bytes->value).getElementType()))
    return std::nullopt;
  result.bytes = *bytes;
  Value &moved = result.bytes.value;
  for (Operation *move : llvm::reverse(moves))
    if (auto transpose = dyn_cast<TransposeOp>(move))
      moved = TransposeOp::create(b, moved, transpose.getPerm());
    else
      moved = b.reshape(moved, shapeOf(move->getResult(0)));
  return result;
}

Value frit::alongAxis(NNBuilder &b, Value factor, int64_t rank, int64_t axis,
                      int64_t count) {
  ArrayRef<int64_t> shape = shapeOf(factor);
  int64_t missing = rank - int64_t(shape.size());
  if (missing < 0)
    return {};
  if (hasOneElement(factor))
    return shape.empty() ? factor : b.reshape(factor, {});
  for (auto [i, size] : llvm::enumerate(shape))
    if (size != (int64_t(i) + missing == axis ? count : 1))
      return {};
  return axis < missing ? Value() : b.reshape(factor, {count});
}
