//===- QuantizedTensors.cpp - Pools and ranges of quantized tensors -------===//
//
//   nn.max_pool (nn.mul nn.cast(nn.sub(nn.cast %q, 3)), 0.5)
// ==>
//   nn.mul nn.cast(nn.sub(nn.cast (nn.max_pool %q), 3)), 0.5
//
// Scales are positive, so the maximum is the same, of bytes.
//
// A quantization by the scale and zero point of such a tensor gives its codes,
// which it is replaced by.
//
//   %s = nn.reduce %x {kind = max, axes = [0, 1]}
// ==>
//   %r = nn.reduce %x {kind = max, axes = [1]}
//   %s = nn.reduce %r {kind = max, axes = [0, 1]}
//
// A target may find the range of a tensor, by which it is quantized, by rows
// first, on many threads.
//
//===----------------------------------------------------------------------===//

#include "compiler/transform/Graph.h"
#include "compiler/transform/recognize/QuantizedOperands.h"

using namespace mlir;
using namespace frit;
using namespace frit::nn;

/// Rows of fewer elements do not pay.
static constexpr int64_t kShortRow = 16;

/// Returns the type of the codes of a dequantized value; null if it is none.
static Type codeOf(Value value) {
  constexpr int most = 16;
  for (int i = 0; i < most; ++i) {
    Type element = tensorType(value).getElementType();
    if (isCode(element))
      return element;
    Operation *def = value.getDefiningOp();
    if (!isa_and_nonnull<CastOp, SubOp, MulOp, ReshapeOp, TransposeOp>(def))
      return {};
    Value first = def->getOperand(0);
    bool isSecond = def->getNumOperands() == 2 &&
                    shapeOf(first) != shapeOf(value) &&
                    shapeOf(def->getOperand(1)) == shapeOf(value);
    value = isSecond ? def->getOperand(1) : first;
  }
  return {};
}

bool frit::isDequantized(Value value) { return bool(codeOf(value)); }

bool frit::multipliesQuantized(Operation *op) {
  if (!isa<ConvOp, MatmulOp>(op))
    return false;
  auto conv = dyn_cast<ConvOp>(op);
  return (!conv || conv.getGroup() == 1) && isDequantized(op->getOperand(0)) &&
         isDequantized(op->getOperand(1)) &&
         dependsOnConstants(op->getOperand(1), kWeightDepth);
}

bool frit::filtersBytes(Operation *op) {
  return isa<ConvOp, MatmulOp>(op) &&
         isa_and_nonnull<IntegerType>(codeOf(op->getOperand(0))) &&
         dependsOnConstants(op->getOperand(1), kWeightDepth);
}

bool frit::quantizes(DivOp quotient) {
  if (!quotient->hasOneUse())
    return false;
  auto cast = dyn_cast<CastOp>(*quotient->user_begin());
  return cast && isFloat8(resultType(cast).getElementType());
}

/// Returns whether an operand of 16 bits is rounded from bytes times scales.
static bool isRoundedBytes(NNBuilder &b, Value value) {
  auto rounded = value.getDefiningOp<CastOp>();
  return rounded && tensorType(rounded.getX()).getElementType().isF32() &&
         isa_and_nonnull<IntegerType>(codeOf(value)) &&
         describeScaled(b, rounded.getX());
}

/// Returns whether both operands of a product are, and the second depends on
/// constants alone.
static bool multipliesRoundedBytes(Operation *op) {
  if (!isa<ConvOp, MatmulOp>(op))
    return false;
  NNBuilder b(op->getLoc(), op);
  return dependsOnConstants(op->getOperand(1), kWeightDepth) &&
         isRoundedBytes(b, op->getOperand(0)) &&
         isRoundedBytes(b, op->getOperand(1));
}

void frit::widenProducts(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    bool multipliesFloats =
        multipliesQuantized(&op) && isFloat8(codeOf(op.getOperand(0)));
    if ((!multipliesFloats && !multipliesRoundedBytes(&op)) ||
        !isa<Float16Type, BFloat16Type>(resultType(&op).getElementType()))
      continue;
    NNBuilder b(op.getLoc(), &op);
    for (OpOperand &use : op.getOpOperands()) {
      auto rounded = use.get().getDefiningOp<CastOp>();
      bool isWide =
          rounded && tensorType(rounded.getX()).getElementType().isF32();
      use.set(isWide ? rounded.getX() : b.cast(use.get(), b.getF32Type()));
    }
    Value y = op.getResult(0);
    Type narrow = tensorType(y).getElementType();
    y.setType(tensorType(y).clone(b.getF32Type()));
    b.setInsertionPointAfter(&op);
    Value rounded = b.cast(y, narrow);
    y.replaceAllUsesExcept(rounded, rounded.getDefiningOp());
  }
}

void frit::narrowQuantizedRows(Block &block, FloatType narrow) {
  SmallVector<DivOp> quotients;
  for (auto quotient : block.getOps<DivOp>())
    if (quantizes(quotient) && !hasOneElement(quotient.getB()) &&
        shapeOf(quotient.getB()).back() == 1)
      quotients.push_back(quotient);
  for (DivOp quotient : quotients) {
    Value x = quotient.getA();
    Operation *def = x.getDefiningOp();
    if (!tensorType(x).getElementType().isF32() || !def || isa<CastOp>(def))
      continue;
    NNBuilder b(x.getLoc(), def);
    b.setInsertionPointAfter(def);
    // With `storage` it would merge with the cast back.
    auto rounded = CastOp::create(b, x, narrow);
    x.replaceAllUsesExcept(b.cast(rounded, b.getF32Type()), rounded);
  }
}

bool frit::quantizes(RoundOp round) {
  constexpr int most = 5;
  Operation *op = round;
  for (int i = 0; i < most; ++i) {
    if (!op->getResult(0).hasOneUse())
      return false;
    op = *op->getResult(0).user_begin();
    if (auto cast = dyn_cast<CastOp>(op))
      return isByte(resultType(cast).getElementType());
    if (!isa<AddOp, MaxOp, MinOp>(op))
      return false;
  }
  return false;
}

void frit::poolBytes(MaxPoolOp pool) {
  if (!tensorType(pool.getX()).getElementType().isF32() ||
      !isDequantized(pool.getX()))
    return;
  NNBuilder b(pool.getLoc(), pool.getOperation());
  auto scaled = describeScaled(b, pool.getX());
  if (!scaled || scaled->bytes.value.getDefiningOp<ConstantOp>() ||
      !isByte(tensorType(scaled->bytes.value).getElementType()))
    return;
  for (Value scale : scaled->scales) {
    std::optional<double> number = splatNumber(scale);
    if (!hasOneElement(scale) || !number || !(*number > 0))
      return;
  }
  Value y =
      MaxPoolOp::create(b, scaled->bytes.value, pool.getWindow(),
                        pool.getStrides(), pool.getPads(), pool.getDilations(),
                        pool.getShape(), pool.getChannelsLast());
  y = b.cast(y, b.getI32Type());
  if (Value zero = scaled->bytes.zero)
    y = b.sub(y, b.cast(zero, b.getI32Type()));
  y = b.cast(y, b.getF32Type());
  for (Value scale : llvm::reverse(scaled->scales))
    y = b.mul(y, b.reshape(scale, {}));
  pool.replaceAllUsesWith(y);
}

/// Returns the number that a binary operator has as one operand, and sets
/// `other` to the other one.
static std::optional<double> numberBeside(Operation *op, Value &other) {
  for (unsigned i : {1, 0})
    if (hasOneElement(op->getOperand(i)))
      if (auto number = splatNumber(op->getOperand(i))) {
        other = op->getOperand(1 - i);
        return number;
      }
  return std::nullopt;
}

bool frit::dropQuantization(CastOp cast) {
  Type to = resultType(cast).getElementType();
  if (!isByte(to))
    return false;
  double least = to.isUnsignedInteger() ? 0 : -128, zero = 0;
  Value value = cast.getX();
  auto high = value.getDefiningOp<MinOp>();
  if (!high || numberBeside(high, value) != least + 255)
    return false;
  auto low = value.getDefiningOp<MaxOp>();
  if (!low || numberBeside(low, value) != least)
    return false;
  if (auto add = value.getDefiningOp<AddOp>()) {
    auto number = numberBeside(add, value);
    if (!number)
      return false;
    zero = *number;
  }
  auto round = value.getDefiningOp<RoundOp>();
  auto quotient = round ? round.getX().getDefiningOp<DivOp>() : DivOp();
  if (!quotient || !hasOneElement(quotient.getB()))
    return false;
  NNBuilder b(cast.getLoc(), cast.getOperation());
  auto scaled = describeScaled(b, quotient.getA());
  auto scale = splatNumber(quotient.getB());
  if (!scaled || !scale || scaled->scales.size() != 1 ||
      !hasOneElement(scaled->scales[0]) ||
      splatNumber(scaled->scales[0]) != scale ||
      scaled->bytes.value.getType() != cast.getY().getType())
    return false;
  auto integers = scaled->bytes.zero ? integersOf(scaled->bytes.zero)
                                     : SmallVector<int64_t>{0};
  if (!integers || integers->size() != 1 || double(integers->front()) != zero)
    return false;
  cast.replaceAllUsesWith(scaled->bytes.value);
  return true;
}

void frit::splitRange(ReduceOp reduce, int64_t longRange) {
  auto type = tensorType(reduce.getX());
  if ((reduce.getKind() != Combiner::max &&
       reduce.getKind() != Combiner::min) ||
      !type.hasStaticShape() || type.getRank() < 2 ||
      int64_t(reduce.getAxes().size()) != type.getRank() ||
      type.getNumElements() < longRange || type.getShape().back() < kShortRow ||
      type.getShape().back() == type.getNumElements())
    return;
  OpBuilder b(reduce);
  int64_t last = type.getRank() - 1;
  auto rows = ReduceOp::create(b, reduce.getLoc(), reduce.getX(),
                               reduce.getKind(), ArrayRef<int64_t>{last});
  reduce.getXMutable().assign(rows.getY());
}
