//===- QuantizedConvs.cpp - Recognize products of quantized tensors -------===//
//
//   %x = nn.mul nn.cast(nn.sub(nn.cast %q : ui8, 117)), %s      dequantized
//   %w = nn.mul nn.cast(%v : i8), %t                             per filter
//   %y = nn.conv %x, %w, %b
//   %p = nn.cast nn.min(nn.max(nn.add(nn.round(nn.div %y, %u), 3), 0), 255)
// ==>
//   %p = nn.quantized_conv %q, %v, 117, 0, %s · %t / %u, %b / %u, 3
//
// between transposes that put channels last. Operands are quantized tensors
// minus their zero points, with or without scales: those of QDQ models, of
// QLinearConv and ConvInteger, and likewise of matrix products with one matrix
// on the right. Of what follows, sums with one number per filter, scales, a
// relu and a quantization become a part of it. As in ONNX Runtime, scales are
// multiplied first, so that a result halfway between two numbers may round the
// other way.
//
// If the target does not keep the operator, nothing changes.
//
//===----------------------------------------------------------------------===//

#include "compiler/transform/Graph.h"
#include "compiler/transform/Passes.h"
#include "compiler/transform/layout/LayoutPatterns.h"

namespace frit {
#define GEN_PASS_DEF_QUANTIZEDCONVS
#include "compiler/transform/Passes.h.inc"
} // namespace frit

using namespace mlir;
using namespace frit;
using namespace frit::nn;

/// Folded weights have at most this many elements.
static constexpr int64_t kLargestConstant = 1 << 16;

static bool isByte(Type type) { return type.isInteger(8); }

static bool isScalar(Value value) {
  auto type = tensorType(value);
  return type.hasStaticShape() && type.getNumElements() == 1;
}

namespace {
/// A tensor of bytes minus a zero point.
struct Bytes {
  Value value;
  Value zero; ///< a number of the same type; null: 0
};

/// Such a tensor times scales.
struct Scaled {
  Bytes bytes;
  SmallVector<Value> scales;
};
} // namespace

static Value createByte(NNBuilder &b, Type element, int64_t number) {
  auto type = RankedTensorType::get({}, element);
  return ConstantOp::create(
      b, DenseElementsAttr::get(type, APInt(8, uint64_t(number) & 255)),
      StringAttr());
}

/// Returns the integers of a constant, or nothing if some element is none or
/// has more than 32 bits.
static std::optional<SmallVector<int64_t>> integersOf(Value value) {
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
      cast && isScalar(cast.getX()) &&
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
  if (isByte(element))
    return Bytes{value, {}};
  if (!element.isF32() && !element.isF64() && !element.isInteger(32))
    return std::nullopt;
  Operation *def = value.getDefiningOp();
  if (auto cast = dyn_cast_or_null<CastOp>(def)) {
    Type from = tensorType(cast.getX()).getElementType();
    if (isByte(from) || from.isInteger(32))
      return describeBytes(b, cast.getX());
    return std::nullopt;
  }
  if (auto sub = dyn_cast_or_null<SubOp>(def)) {
    auto bytes = describeBytes(b, sub.getA());
    if (!bytes || bytes->zero || shapeOf(sub.getA()) != shapeOf(value))
      return std::nullopt;
    bytes->zero =
        zeroOf(b, sub.getB(), tensorType(bytes->value).getElementType());
    return bytes->zero ? bytes : std::nullopt;
  }
  if (isa_and_nonnull<ConstantOp>(def))
    return bytesOfConstant(b, value);
  return std::nullopt;
}

/// Describes a tensor as one of bytes times scales, which are smaller.
static std::optional<Scaled> describeScaled(NNBuilder &b, Value value) {
  Scaled result;
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
  if (!bytes)
    return std::nullopt;
  result.bytes = *bytes;
  return result;
}

/// Returns a factor of a tensor of rank `rank` as a vector if it differs only
/// along `axis`, where the tensor has `count` elements, as a number if it is
/// one, else null.
static Value alongAxis(NNBuilder &b, Value factor, int64_t rank, int64_t axis,
                       int64_t count) {
  ArrayRef<int64_t> shape = shapeOf(factor);
  int64_t missing = rank - int64_t(shape.size());
  if (missing < 0)
    return {};
  if (isScalar(factor))
    return shape.empty() ? factor : b.reshape(factor, {});
  for (auto [i, size] : llvm::enumerate(shape))
    if (size != (int64_t(i) + missing == axis ? count : 1))
      return {};
  return axis < missing ? Value() : b.reshape(factor, {count});
}

namespace {
/// What follows a product. `end` is the last operator that becomes a part of
/// it.
class Epilogue {
public:
  Epilogue(NNBuilder &b, Operation *product, int64_t axis, int64_t count)
      : b(b), end(product), rank(resultType(product).getRank()), axis(axis),
        count(count) {}

  /// Takes a vector with a number for each filter that the product adds.
  bool takeBias(Value vector);
  /// Takes the operators after the product, as far as possible.
  void extend();
  void multiply(Value factor) {
    scale = scale ? b.mul(scale, factor) : factor;
    if (bias)
      bias = b.mul(bias, factor);
  }

  NNBuilder &b;
  Operation *end;
  Value scale, bias, offset, zero;
  bool relu = false;

private:
  bool take(Operation *next);
  bool takeAddend(Value addend);
  bool takeQuantization(DivOp div);
  Operation *reader(Operation *op) const {
    return op->getResult(0).hasOneUse() ? *op->getResult(0).user_begin()
                                        : nullptr;
  }
  Type element() const { return resultType(end).getElementType(); }
  Value factor(Value value) {
    return tensorType(value).getElementType().isF32()
               ? alongAxis(b, value, rank, axis, count)
               : Value();
  }

  int64_t rank, axis, count;
};
} // namespace

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
bool Epilogue::takeAddend(Value addend) {
  if (scale) {
    Value vector = factor(addend);
    if (!vector || relu)
      return false;
    // A bias has an element per filter.
    if (isScalar(vector))
      vector = ExpandOp::create(b, b.reshape(vector, {1}), {count});
    bias = bias ? b.add(bias, vector) : vector;
    return true;
  }
  if (offset || (isScalar(addend) && count != 1))
    return false;
  Value integers = toIntegers(b, addend);
  Value vector = integers ? alongAxis(b, integers, rank, axis, count) : Value();
  if (vector)
    offset = b.reshape(vector, {count});
  return bool(vector);
}

bool Epilogue::takeBias(Value vector) {
  if (!scale)
    offset = toIntegers(b, vector);
  else if (tensorType(vector).getElementType().isF32())
    bias = vector;
  return offset || bias;
}

/// Takes clamp(round(x / scale) + zero).
bool Epilogue::takeQuantization(DivOp div) {
  auto number = [](Value value) { return splatNumber(value); };
  if (!isScalar(div.getB()) || !tensorType(div.getB()).getElementType().isF32())
    return false;
  auto round = dyn_cast_or_null<RoundOp>(reader(div));
  Operation *next = round ? reader(round) : nullptr;
  std::optional<double> shift = 0;
  if (auto add = dyn_cast_or_null<AddOp>(next)) {
    Value other = add.getA() == round.getY() ? add.getB() : add.getA();
    shift = isScalar(other) ? number(other) : std::nullopt;
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
      return isScalar(operand) && number(operand) == bound;
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
bool Epilogue::take(Operation *next) {
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

void Epilogue::extend() {
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

namespace {
class QuantizedConvs : public frit::impl::QuantizedConvsBase<QuantizedConvs> {
public:
  explicit QuantizedConvs(const Target &target) : target(target) {}

  void runOnOperation() override {
    SmallVector<Operation *> products;
    getOperation().walk([&](Operation *op) {
      if (isa<ConvOp, MatmulOp>(op))
        products.push_back(op);
    });
    for (Operation *op : products)
      if (auto conv = dyn_cast<ConvOp>(op))
        rewrite(conv);
      else
        rewrite(cast<MatmulOp>(op));
    for (auto function : getOperation().getOps<func::FuncOp>())
      for (Block &block : function)
        eraseDead(block);
  }

private:
  void rewrite(ConvOp conv);
  void rewrite(MatmulOp product);
  Value create(Epilogue &epilogue, Value x, Value w, const Scaled &left,
               const Scaled &right, ConvOp conv);

  const Target &target;
};
} // namespace

/// Creates the operator at the end of the epilogue; null if the target does
/// not keep it. `conv` is null for a product of matrices.
Value QuantizedConvs::create(Epilogue &epilogue, Value x, Value w,
                             const Scaled &left, const Scaled &right,
                             ConvOp conv) {
  NNBuilder &b = epilogue.b;
  auto zeroOr = [&](const Bytes &bytes) {
    return bytes.zero
               ? bytes.zero
               : createByte(b, tensorType(bytes.value).getElementType(), 0);
  };
  Type element = resultType(epilogue.end).getElementType();
  auto y = QuantizedConvOp::create(
      b, x, w, zeroOr(left.bytes), zeroOr(right.bytes), epilogue.offset,
      epilogue.scale, epilogue.bias, epilogue.zero,
      conv ? conv.getStrides() : ArrayRef<int64_t>(),
      conv ? conv.getPads() : ArrayRef<int64_t>(),
      conv ? conv.getDilations() : ArrayRef<int64_t>(),
      conv ? conv.getGroup() : 1, epilogue.relu);
  if (!target.keepsWhole(cast<CompositeOp>(y.getOperation()))) {
    y.erase();
    return {};
  }
  return b.cast(y.getY(), element);
}

/// Multiplies the scales of both operands. Returns whether they are numbers
/// or, on the right, one for each filter.
static bool takeScales(Epilogue &epilogue, const Scaled &left,
                       const Scaled &right, int64_t axis, int64_t count) {
  for (Value scale : left.scales) {
    if (!isScalar(scale))
      return false;
    epilogue.multiply(epilogue.b.reshape(scale, {}));
  }
  int64_t rank = tensorType(right.bytes.value).getRank();
  for (Value scale : right.scales) {
    Value vector = alongAxis(epilogue.b, scale, rank, axis, count);
    if (!vector)
      return false;
    epilogue.multiply(vector);
  }
  return true;
}

void QuantizedConvs::rewrite(ConvOp conv) {
  int64_t rank = tensorType(conv.getX()).getRank();
  if (rank < 3 || rank > 4 || !tensorType(conv.getX()).hasStaticShape() ||
      !tensorType(conv.getW()).hasStaticShape())
    return;
  NNBuilder b(conv.getLoc(), conv.getOperation());
  auto left = describeScaled(b, conv.getX());
  auto right = left ? describeScaled(b, conv.getW()) : std::nullopt;
  if (!right || !dependsOnConstants(right->bytes.value))
    return;
  bool isLast = conv.getChannelsLast();
  int64_t filters = shapeOf(conv.getW())[0];
  Epilogue epilogue(b, conv, isLast ? rank - 1 : 1, filters);
  if (!takeScales(epilogue, *left, *right, 0, filters))
    return;
  if (conv.getBias() && !epilogue.takeBias(conv.getBias()))
    return;
  epilogue.extend();
  b.setInsertionPoint(epilogue.end);
  b.setLoc(fuseLocations({conv, epilogue.end}));
  Value x = left->bytes.value, w = right->bytes.value;
  if (!isLast) {
    x = transposeToLast(b, x);
    w = transposeToLast(b, w);
  }
  Value y = create(epilogue, x, w, *left, *right, conv);
  if (!y)
    return;
  epilogue.end->replaceAllUsesWith(
      ValueRange{isLast ? y : transposeToFirst(b, y)});
}

void QuantizedConvs::rewrite(MatmulOp product) {
  auto typeA = tensorType(product.getA()), typeB = tensorType(product.getB());
  if (typeB.getRank() != 2 || typeA.getRank() < 2 || product.getTransposeA() ||
      !typeA.hasStaticShape() || !typeB.hasStaticShape() ||
      typeA.getNumElements() == 0 || typeB.getNumElements() == 0)
    return;
  NNBuilder b(product.getLoc(), product.getOperation());
  auto left = describeScaled(b, product.getA());
  auto right = left ? describeScaled(b, product.getB()) : std::nullopt;
  if (!right || !dependsOnConstants(right->bytes.value))
    return;
  bool isTransposed = product.getTransposeB();
  int64_t columns = typeB.getDimSize(isTransposed ? 0 : 1);
  int64_t depth = typeA.getShape().back();
  Epilogue epilogue(b, product, typeA.getRank() - 1, columns);
  if (!takeScales(epilogue, *left, *right, isTransposed ? 0 : 1, columns))
    return;
  epilogue.extend();
  b.setInsertionPoint(epilogue.end);
  b.setLoc(fuseLocations({product, epilogue.end}));
  Value x =
      b.reshape(left->bytes.value, {typeA.getNumElements() / depth, depth});
  Value w = right->bytes.value;
  if (!isTransposed)
    w = TransposeOp::create(b, w, {1, 0});
  Value y = create(epilogue, x, w, *left, *right, ConvOp());
  if (!y)
    return;
  epilogue.end->replaceAllUsesWith(
      ValueRange{b.reshape(y, shapeOf(epilogue.end->getResult(0)))});
}

std::unique_ptr<Pass> frit::createQuantizedConvs(const Target &target) {
  return std::make_unique<QuantizedConvs>(target);
}
