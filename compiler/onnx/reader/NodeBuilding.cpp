//===- NodeBuilding.cpp - The operations that a hook creates --------------===//

#include "compiler/import/CreateOp.h"
#include "compiler/onnx/reader/Node.h"
#include "dialects/nn/Fold.h"
#include "dialects/nn/lowering/Lowering.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace mlir;
using namespace frit;
using namespace frit::importer;

Value Node::create(OperationName name, ValueRange operands,
                   ArrayRef<NamedAttribute> attributes) {
  if (failed)
    return {};
  if (llvm::is_contained(operands, Value())) {
    error() << "an input is missing";
    return {};
  }
  if (llvm::any_of(operands, isMarked))
    return propagate(name, operands, attributes);
  Value y = build(name, operands, attributes);
  if (!y || state.sizes.empty())
    return y;
  // A result may be constant even if it is computed from data-dependent sizes.
  Operation *op = y.getDefiningOp();
  state.sizes.follow(*this, op);
  auto known = state.sizes.elementsOf(y);
  if (isa<nn::ConstantOp>(op) || !known ||
      !llvm::all_of(*known, [](const Size &size) { return size.isKnown(); }))
    return y;
  auto type = nn::tensorType(y);
  SmallVector<Attribute> numbers;
  for (const Size &size : *known)
    numbers.push_back(IntegerAttr::get(type.getElementType(),
                                       APInt(type.getElementTypeBitWidth(),
                                             size.constant, /*isSigned=*/true,
                                             /*implicitTrunc=*/true)));
  return constant(DenseElementsAttr::get(type, numbers));
}

/// Returns whether an operator stays one although it may be folded: lists that
/// are joined from those of several scales, as steps of anchors are, and
/// numbers that may be computed of a size, as its root.
static bool followsSize(Operation *op) {
  auto type = nn::tensorType(op->getResult(0));
  bool isFloat = isa<FloatType>(type.getElementType());
  if (isa<nn::ConcatOp>(op))
    return isFloat || type.getRank() > 1;
  return isFloat && type.getNumElements() == 1 && isa<nn::ElementwiseOp>(op) &&
         !isa<nn::CastOp>(op);
}

Value Node::build(OperationName name, ValueRange operands,
                  ArrayRef<NamedAttribute> attributes) {
  Operation *op = importer::createInferred(loc, name, operands, attributes);
  if (!op) {
    failed = true;
    return {};
  }
  bool isKept = state.computesPlaces() && followsSize(op);
  if (DenseElementsAttr value = isKept ? nullptr : nn::evaluate(op)) {
    op->destroy();
    return constant(value);
  }
  auto isNothing = [](Value v) {
    return nn::tensorType(v).getNumElements() == 0;
  };
  if (isNothing(op->getResult(0)) || llvm::any_of(operands, isNothing))
    if (Value known = valueOfNothing(op)) {
      op->destroy();
      return known;
    }
  if (!mayBecome(1)) {
    op->destroy();
    return {};
  }
  return builder().insert(op)->getResult(0);
}

/// Returns the result of an operator on an empty tensor, a constant or another
/// operand, so that no empty tensor remains; null if others decide it.
Value Node::valueOfNothing(Operation *op) {
  auto type = nn::tensorType(op->getResult(0));
  Type element = type.getElementType();
  if (type.getNumElements() == 0)
    return constant(DenseElementsAttr::get(type, ArrayRef<Attribute>()));
  if (auto scatter = dyn_cast<nn::ScatterElementsOp>(op))
    return scatter.getX();
  double number = 0;
  if (auto reduce = dyn_cast<nn::ReduceOp>(op)) {
    auto first =
        nn::identity(reduce.getKind(), element, element.isUnsignedInteger());
    return expand(constant(DenseElementsAttr::get(
                      type.clone(ArrayRef<int64_t>()), Attribute(first))),
                  type.getShape());
  }
  if (isa<nn::ReduceMeanOp>(op))
    number = std::numeric_limits<double>::quiet_NaN();
  else if (!isa<nn::MatmulOp>(op))
    return {};
  return expand(scalar(element, number), type.getShape());
}

Value Node::constant(ElementsAttr value) {
  if (!value)
    return {};
  // The error is reported, but a value still returned.
  mayBecome(1);
  return nn::ConstantOp::create(builder(), loc, value, StringAttr());
}

Value Node::constant(ArrayRef<int64_t> values) {
  if (!mayTabulate(values.size()))
    return {};
  return constant(DenseElementsAttr::get(
      RankedTensorType::get({static_cast<int64_t>(values.size())},
                            builder().getI64Type()),
      values));
}

bool Node::modelTrains() const { return state.trains(); }

int64_t frit::importer::integerOf(double value) {
  if (std::isnan(value))
    return 0;
  // The largest int64_t is not a double; the next larger number is.
  constexpr double limit = 0x1p63;
  if (value >= limit)
    return std::numeric_limits<int64_t>::max();
  return value < -limit ? std::numeric_limits<int64_t>::min()
                        : static_cast<int64_t>(value);
}

Value Node::scalar(Value like, double value) {
  return like ? scalar(elementOf(like), value) : Value();
}

Value Node::scalar(Type element, double value) {
  Attribute attr;
  if (auto type = dyn_cast<FloatType>(element))
    attr = builder().getFloatAttr(type, value);
  else
    attr = IntegerAttr::get(element, APInt(element.getIntOrFloatBitWidth(),
                                           integerOf(value),
                                           /*isSigned=*/true,
                                           /*implicitTrunc=*/true));
  return constant(
      DenseElementsAttr::get(RankedTensorType::get({}, element), attr));
}

Value Node::reshape(Value x, ArrayRef<int64_t> shape) {
  if (!x || nn::shapeOf(x) == shape)
    return x;
  return create<nn::ReshapeOp>(x, named("shape", shape));
}

Value Node::expand(Value x, ArrayRef<int64_t> shape) {
  if (!x || nn::shapeOf(x) == shape)
    return x;
  return create<nn::ExpandOp>(x, named("shape", shape));
}

Value Node::transpose(Value x, ArrayRef<int64_t> perm) {
  return create<nn::TransposeOp>(x, named("perm", perm));
}

Value Node::cast(Value x, Type element) {
  if (!x || elementOf(x) == element)
    return x;
  return create<nn::CastOp>(x, named("to", TypeAttr::get(element)));
}

Value Node::reduce(Value x, nn::Combiner kind, ArrayRef<int64_t> axes) {
  return create<nn::ReduceOp>(
      x, {named("kind", nn::CombinerAttr::get(context(), kind)),
          named("axes", axes)});
}

Value Node::slice(Value x, int64_t axis, int64_t start, int64_t size) {
  if (!x || !hasDimension(x, axis))
    return {};
  SmallVector<int64_t> starts(rankOf(x), 0), steps(rankOf(x), 1);
  SmallVector<int64_t> counts = sizes(x);
  starts[axis] = start;
  counts[axis] = size;
  return create<nn::SliceOp>(
      x,
      {named("starts", starts), named("sizes", counts), named("steps", steps)});
}

bool Node::mayBecome(size_t operators) {
  if (state.mayBecome(operators))
    return true;
  if (!failed)
    error() << "the model expands to too many operators";
  return false;
}

bool Node::mayTabulate(size_t elements) {
  if (state.mayTabulate(elements))
    return true;
  if (!failed)
    error() << "the tables that the model asks for become too large";
  return false;
}

Value Node::concat(ValueRange xs, int64_t axis) {
  return create<nn::ConcatOp>(xs, namedSigned("axis", axis));
}

NamedAttribute Node::namedSigned(StringRef name, int64_t value) {
  auto type = builder().getIntegerType(64, /*isSigned=*/true);
  return named(name, IntegerAttr::get(type, value));
}

bool Node::hasDimension(Value x, int64_t dim) {
  if (dim >= 0 && dim < rankOf(x))
    return true;
  error() << "a tensor of shape " << nn::shapeText(nn::shapeOf(x))
          << " has no dimension " << dim;
  return false;
}

int64_t Node::axis(int64_t axis, int64_t rank) {
  if (auto normal = nn::normalizeAxis(loc, axis, rank))
    return *normal;
  failed = true;
  return 0;
}

SmallVector<int64_t> Node::axes(ArrayRef<int64_t> axes, int64_t rank) {
  SmallVector<int64_t> result;
  for (int64_t given : axes) {
    result.push_back(axis(given, rank));
    if (failed)
      return {};
  }
  llvm::sort(result);
  if (std::adjacent_find(result.begin(), result.end()) != result.end())
    error() << "names an axis twice";
  return result;
}
