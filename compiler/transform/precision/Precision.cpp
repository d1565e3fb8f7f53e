//===- Precision.cpp - The graph in a narrower float type -----------------===//
//
// mode=fp16:
//   func.func @main(%x: tensor<2x4xf32>) -> tensor<2x3xf32> {
//     %w = nn.constant "w" ... : tensor<4x3xf32>
//     %y = nn.matmul %x, %w : ...
//     return %y
// ==>
//     %w = nn.constant "w" ... : tensor<4x3xf32>
//     %h = nn.cast %x {storage, to = f16}
//     %v = nn.cast %w {storage, to = f16}
//     %z = nn.matmul %h, %v : (tensor<2x4xf16>, ...) -> tensor<2x3xf16>
//     %y = nn.cast %z {to = f32}
//     return %y
//
// mode=tf32 only sets `tf32` on contractions and attention. The graph's inputs
// and outputs keep their types; casts of weights move to @prepare. A value is
// cast to a type at most once, so no cast undoes another.
//
// Some values stay f32:
//
// - operands and results of nodes that `keep` names, and of operators that read
//   those results;
//
// - operands and results of the operators of `staysWide`, and elementwise
//   operators and means that read only such results;
//
// - f32 values from which such an operator or node is computed by elementwise
//   operators, movement, selection and products of coordinates, and a sine also
//   by averages and products of up to 32 coordinates. The angles of a rotary
//   embedding are position × frequency; at 1,000 radians, rounding changes an
//   angle by up to 0.25 in f16 and 2 in bf16. A selection finds elements by
//   their f32 values;
//
// - the operators behind the last products that compute a loss, where they read
//   f32 values (LossTail.h);
//
// - elementwise operators and softmax on the way to a logarithm: in f16,
//   sigmoid(-20) is 0;
//
// - products with a trained parameter, elementwise functions of these, and
//   their norms. A residual stream with layer scale is thus f32, as under
//   PyTorch's autocast: 16-bit sums would lose a branch that is scaled by 1e-5.
//
// A quantization is f32 from the division by its scale on. Its bytes are no
// positions: what it divides may be narrow.
//
// Sums of codes, and elementwise functions of these, are f32 by the second
// rule. A value among them that a norm or a reduction reads is rounded to 16
// bits first: another kernel reads it.
//
// In every mode, the model's own f16 and bf16 values become f32 by these rules,
// except the last one: of a model in f16, (x - mean(x))² is f32 up to the root
// of its mean.
//
//===----------------------------------------------------------------------===//

#include "compiler/transform/Graph.h"
#include "compiler/transform/Names.h"
#include "compiler/transform/Passes.h"
#include "compiler/transform/precision/LossTail.h"
#include "compiler/transform/precision/WideReaders.h"
#include "compiler/transform/recognize/QuantizedOperands.h"
#include "dialects/nn/Fold.h"
#include "dialects/nn/operators/Quantized.h"

#include <limits>

namespace frit {
#define GEN_PASS_DEF_PRECISION
#include "compiler/transform/Passes.h.inc"
} // namespace frit

using namespace mlir;
using namespace frit;
using namespace frit::nn;
using namespace frit::precision;

static bool hasElement(Value value, Type element) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.getElementType() == element;
}

namespace {
/// Rewrites one function in place, in program order.
class Narrowing {
public:
  /// Narrows values of type `from`, f32. If `from` is `to`, values of this type
  /// become f32 where they must.
  Narrowing(FloatType from, FloatType to, ArrayRef<std::string> keep,
            Block &block)
      : from(from), to(to), kept(keep), readers(keep, block), loss(block) {}

  void run(Block &block);

private:
  /// The two forms of a value of type `from`; one of them may be null.
  struct Forms {
    Value wide, narrow;
    bool kept = false;      ///< its producer stays f32
    bool named = false;     ///< computed by a node that `keep` names
    bool parameter = false; ///< the elements of a parameter that trains
    bool scaled = false;    ///< multiplied by one, and only elementwise since
    bool summed = false;    ///< sums of codes, and only elementwise since
  };

  void rewrite(Operation *op);
  Value wide(Value value);
  Value narrow(Value value);
  Value narrowConstant(ConstantOp constant, OpBuilder &builder);
  Value saturate(Value value, OpBuilder &builder);
  bool followsWide(Operation *op);
  bool leadsToWide(Operation *op);
  bool findsWide(Operation *op);
  bool centres(Operation *op);
  bool isScale(Operation *op);
  bool isScaled(Operation *op);
  bool isSummed(Operation *op);

  bool isFrom(Value value) const { return hasElement(value, from); }
  /// Returns whether the value has type `from` in the model; its type may have
  /// changed since.
  bool wasFrom(Value value) { return isFrom(value) || forms.contains(value); }
  /// Returns whether 16-bit values of the model itself become f32.
  bool widens() const { return from == to; }

  /// Returns whether the value has the elements of a parameter that trains.
  bool scales(Value value) {
    return isParameter(value) || forms.lookup(value).parameter;
  }

  FloatType from, to;
  ArrayRef<std::string> kept; ///< globs of nodes' names
  WideReaders readers;
  LossTail loss;
  llvm::DenseMap<Value, Forms> forms;
};
} // namespace

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

/// Returns whether an operator's f32 operands are only constants and values
/// that stayed f32. Holds for elementwise operators and means, and for those
/// that move elements on the way to a sum or an f32 result of the function.
bool Narrowing::followsWide(Operation *op) {
  bool moves =
      movesElements(op) && (readers.sum(op->getResult(0)) ||
                            (!widens() && readers.result(op->getResult(0))));
  if (!isa<ElementwiseOp, ReduceMeanOp, AvgPoolOp>(op) && !moves)
    return false;
  bool any = false;
  for (Value operand : op->getOperands()) {
    if (!wasFrom(operand) || operand.getDefiningOp<ConstantOp>())
      continue;
    if (!forms.lookup(operand).kept)
      return false;
    any = true;
  }
  return any;
}

/// Returns whether an operator's operands are f32 and it leads to one that
/// stays f32. If it depends on constants alone, all of its readers must: a
/// weight is stored in one form.
bool Narrowing::leadsToWide(Operation *op) {
  if (!readers.passes(op) || !readers.some(op->getResult(0)))
    return false;
  bool constant = true;
  for (Value operand : op->getOperands()) {
    if (!wasFrom(operand) || operand.getDefiningOp<ConstantOp>())
      continue;
    constant = false;
    if (!isa<BlockArgument>(operand) && !forms.lookup(operand).kept)
      return false;
  }
  return !constant || readers.all(op->getResult(0));
}

/// Returns whether an operator finds elements of a value that stays f32.
bool Narrowing::findsWide(Operation *op) {
  return findsElements(op) && llvm::all_of(op->getOperands(), [&](Value x) {
           return forms.lookup(x).kept || isa<BlockArgument>(x);
         });
}

/// Returns whether an operator computes a mean of the model's 16-bit values, or
/// subtracts an f32 mean from them: the difference may be much smaller.
bool Narrowing::centres(Operation *op) {
  if (!widens() || isa<ReduceMeanOp>(op))
    return widens();
  auto difference = dyn_cast<SubOp>(op);
  return difference && forms.lookup(difference.getB()).kept &&
         tensorType(difference.getB()).getNumElements() <
             tensorType(difference.getY()).getNumElements();
}

/// Returns whether an operator moves a parameter that trains to a product.
bool Narrowing::isScale(Operation *op) {
  return !widens() && movesElements(op) && op->getNumOperands() == 1 &&
         scales(op->getOperand(0)) && isFactor(op->getResult(0));
}

/// Returns whether an operator multiplies by a parameter that trains, or is
/// elementwise on such products or moves their elements.
bool Narrowing::isScaled(Operation *op) {
  if (widens())
    return false;
  if (isa<MulOp>(op) &&
      llvm::any_of(op->getOperands(), [&](Value x) { return scales(x); }))
    return true;
  return (isa<ElementwiseOp>(op) || movesElements(op)) &&
         llvm::any_of(op->getOperands(), [&](Value operand) {
           return forms.lookup(operand).scaled;
         });
}

/// Returns whether an operator multiplies codes, or is elementwise on f32
/// values of which one comes from such a product. Magnitudes do not count: they
/// give scales of rows, and narrowQuantizedRows rounds what they are of.
bool Narrowing::isSummed(Operation *op) {
  if (widens())
    return false;
  return multipliesQuantized(op) ||
         (isa<ElementwiseOp>(op) && !isa<CastOp, AbsOp>(op) &&
          llvm::any_of(op->getOperands(), [&](Value operand) {
            return forms.lookup(operand).summed;
          }));
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

/// Sets `tf32` on contractions, except those that `keep` names or that compute
/// angles.
static void setTf32(ArrayRef<std::string> keep, Block &block) {
  WideReaders readers({}, block);
  for (Operation &op : block)
    if (isa<MatmulOp, ConvOp, AttentionOp>(op) &&
        hasElement(op.getResult(0), Float32Type::get(op.getContext())) &&
        !isNamed(keep, &op) && !multipliesCoordinates(&op) &&
        !(computesAngles(&op) && readers.passes(&op)))
      op.setAttr("tf32", UnitAttr::get(op.getContext()));
}

namespace {
class Precision : public frit::impl::PrecisionBase<Precision> {
public:
  using PrecisionBase::PrecisionBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    Builder builder(&getContext());
    FloatType f32 = builder.getF32Type(), to;
    SmallVector<std::string> kept(keep.begin(), keep.end());
    auto inEach = [&](llvm::function_ref<void(Block &)> rewrite) {
      for (auto function : module.getOps<func::FuncOp>())
        if (!function.isExternal())
          rewrite(function.getBody().front());
    };
    inEach(widenProducts);
    auto narrow = [&](FloatType from, FloatType to) {
      inEach(
          [&](Block &block) { Narrowing(from, to, kept, block).run(block); });
    };
    for (FloatType own :
         {FloatType(builder.getF16Type()), FloatType(builder.getBF16Type())})
      narrow(own, own);
    if (mode == "fp32")
      return;
    if (mode == "tf32") {
      inEach([&](Block &block) { setTf32(kept, block); });
      return;
    }
    if (mode == "fp16" || mode == "amp-fp16")
      to = builder.getF16Type();
    else if (mode == "bf16" || mode == "amp-bf16" || mode == "amp-fp8")
      to = builder.getBF16Type();
    else {
      module.emitError("unknown precision '")
          << mode
          << "': fp32, tf32, fp16, bf16, amp-fp16, amp-bf16 and amp-fp8 are "
             "known";
      return signalPassFailure();
    }
    narrow(f32, to);
    inEach([&](Block &block) { narrowQuantizedRows(block, to); });
  }
};
} // namespace
