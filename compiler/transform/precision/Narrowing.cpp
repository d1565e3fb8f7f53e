//===- Narrowing.cpp - A function in a narrower float type ----------------===//

#include "compiler/transform/precision/Narrowing.h"

#include "compiler/transform/recognize/QuantizedOperands.h"
#include "dialects/nn/Fold.h"
#include "dialects/nn/operators/Quantized.h"

#include <limits>

using namespace mlir;
using namespace frit;
using namespace frit::nn;
using namespace frit::precision;

bool frit::precision::isTensorOf(Value value, Type element) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.getElementType() == element;
}

static void setInsertionPointAfterValue(OpBuilder &builder, Value value) {
  if (Operation *def = value.getDefiningOp())
    builder.setInsertionPointAfter(def);
  else
    builder.setInsertionPointToStart(value.getParentBlock());
}

Value Narrowing::wide(Value value) {
  Forms &form = forms[value];
  if (widens() && !form.wide && !form.narrow) // an argument or constant
    form.narrow = value;
  if (!form.wide && form.narrow) {
    OpBuilder builder(value.getContext());
    setInsertionPointAfterValue(builder, form.narrow);
    form.wide = CastOp::create(builder, form.narrow.getLoc(), form.narrow,
                               builder.getF32Type());
  }
  if (!form.wide) // an argument or constant
    form.wide = value;
  return form.wide;
}

Value Narrowing::narrow(Value value) {
  Forms &form = forms[value];
  if (widens() && !form.wide)
    form.narrow = value;
  if (form.narrow)
    return form.narrow;
  Value source = form.wide ? form.wide : value;
  OpBuilder builder(value.getContext());
  setInsertionPointAfterValue(builder, source);
  if (auto constant = source.getDefiningOp<ConstantOp>())
    form.narrow = narrowConstant(constant, builder);
  if (!form.narrow && readers.mask(value))
    source = saturate(source, builder);
  if (!form.narrow)
    form.narrow = NNBuilder(source.getLoc(), builder).cast(source, to);
  return form.narrow;
}

/// Replaces numbers below the range of the narrow type by its lowest number,
/// but not -inf: what masks say by the lowest f32 is not what they say by -inf.
Value Narrowing::saturate(Value value, OpBuilder &builder) {
  NNBuilder b(value.getLoc(), builder);
  Value never = b.scalarLike(value, -std::numeric_limits<double>::infinity());
  APFloat lowest = APFloat::getLargest(to.getFloatSemantics(), true);
  Value within =
      MaxOp::create(b, value, b.scalarLike(value, lowest.convertToDouble()));
  return WhereOp::create(b, EqualOp::create(b, value, never), never, within);
}

/// Converts a foldable constant; returns null for a weight. Finite values stay
/// finite: masks use the lowest f32 as "never", and a row of infinities would
/// make softmax NaN.
Value Narrowing::narrowConstant(ConstantOp constant, OpBuilder &builder) {
  if (!isFoldable(constant))
    return {};
  auto convert = [&](APFloat number) {
    bool finite = number.isFinite(), lossy;
    number.convert(to.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                   &lossy);
    if (finite && number.isInfinity())
      number = APFloat::getLargest(to.getFloatSemantics(), number.isNegative());
    return number;
  };
  auto type = constant.getY().getType().clone(to);
  DenseElementsAttr value = splatOf(constant.getY());
  if (value)
    value =
        DenseElementsAttr::get(type, convert(value.getSplatValue<APFloat>()));
  else if ((value = constantValue(constant.getY())))
    value = DenseElementsAttr::get(
        type, llvm::map_to_vector(value.getValues<APFloat>(), convert));
  if (!value)
    return {};
  return ConstantOp::create(builder, constant.getLoc(), value, StringAttr());
}

void Narrowing::rewrite(Operation *op) {
  if (isa<ConstantOp>(op))
    return;
  auto cast = dyn_cast<CastOp>(op);
  bool named = isNamed(kept, op);
  // Results of a named node may not fit into 16 bits.
  bool readsNamed = llvm::any_of(op->getOperands(), [&](Value operand) {
    return forms.lookup(operand).named;
  });
  bool scale = isScale(op), scaled = isScaled(op), summed = isSummed(op);
  bool normOfScaled =
      isa<LayerNormOp, RmsNormOp>(op) && forms.lookup(op->getOperand(0)).scaled;
  bool keep = named || readsNamed || scale || scaled || normOfScaled ||
              staysWide(op) || followsWide(op) || leadsToWide(op) ||
              findsWide(op) || centres(op) || readers.findsPosition(op) ||
              readers.findsLog(op) || op->hasTrait<OpTrait::IsTerminator>() ||
              loss.keepsWide(op, [&](Value x) {
                return wasFrom(x) && (forms.lookup(x).kept || isInput(x));
              });
  // A cast connects f32 to other types: numbers cast from integers are counts
  // and positions.
  if (cast)
    keep = wasFrom(cast.getX()) != isFrom(cast.getY());
  // The model's own types hold where results leave it, for bits, and where it
  // rounds to them.
  bool rounds = cast && !wasFrom(cast.getX());
  if (widens() &&
      (rounds || isa<BitCastOp>(op) || op->hasTrait<OpTrait::IsTerminator>()))
    keep = false;
  for (OpOperand &use : op->getOpOperands()) {
    Value operand = use.get();
    bool takesWide = keep || (!widens() && isWideOperand(use, to));
    if (wasFrom(operand))
      use.set(takesWide ? wide(operand) : narrow(operand));
  }
  for (OpResult result : op->getResults()) {
    if (!isFrom(result))
      continue;
    Forms &form = forms[result];
    if (keep || givesWide(op) || (!widens() && isWideResult(result, to))) {
      result.setType(
          tensorType(result).clone(Float32Type::get(result.getContext())));
      form.wide = result;
      form.kept = true;
      form.named = named;
      form.parameter = scale;
      form.scaled = scaled;
      form.summed = summed;
      // Codes are summed in f32, but their sums are stored in 16 bits. A cast
      // with `storage` would merge with a cast back.
      if (summed && !named && isReduced(result)) {
        OpBuilder builder(op->getContext());
        setInsertionPointAfterValue(builder, result);
        form = {Value(), CastOp::create(builder, op->getLoc(), result, to)};
      }
    } else {
      result.setType(tensorType(result).clone(to));
      form.narrow = result;
    }
  }
  if (cast)
    cast.setTo(tensorType(cast.getY()).getElementType());
  if (auto codes = dyn_cast<DequantizeOp>(op))
    codes.setTo(tensorType(codes.getY()).getElementType());
}

void Narrowing::run(Block &block) {
  // Results change their types in place, so do not visit new operators.
  SmallVector<Operation *> ops;
  for (Operation &op : block)
    ops.push_back(&op);
  for (Operation *op : ops)
    rewrite(op);
}
