//===- Node.cpp - The interface of a hook to its node ---------------------===//

#include "compiler/onnx/reader/Node.h"

#include "compiler/import/CreateOp.h"
#include "dialects/nn/Fold.h"
#include "dialects/nn/lowering/Lowering.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace mlir;
using namespace frit;
using namespace frit::importer;
using ::onnx::AttributeProto;

Node::Node(ImportState &state, const ::onnx::NodeProto &proto, Scope &scope,
           unsigned depth, int64_t opset, Location loc, Results inputs)
    : opset(opset), loc(loc), state(state), proto(proto), scope(scope),
      depth(depth), values(std::move(inputs)) {
  for (const AttributeProto &attribute : proto.attribute()) {
    const AttributeProto *value = &attribute;
    if (attribute.has_ref_attr_name() && !attribute.ref_attr_name().empty()) {
      value = scope.attributes.lookup(attribute.ref_attr_name());
      // If the call does not set an attribute, the body's node does not have
      // it.
      if (!value)
        continue;
    }
    if (!attributes.try_emplace(attribute.name(), value).second)
      error() << "has attribute '" << attribute.name() << "' twice";
  }
}

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

Value Node::input(size_t i) {
  if (has(i))
    return values[i];
  if (!failed)
    error() << "input " << i << " is missing";
  return {};
}

Value Node::valueCalled(StringRef name) {
  for (Scope *at = &scope; at; at = at->outer)
    if (Value value = at->values.lookup(name))
      return value;
  error() << "nothing before it computes '" << name << "'";
  return {};
}

void Node::notKnown(size_t i) {
  error() << "input " << i << ", '" << text(proto.input(i))
          << "', must be known when compiling" << fixInputsHint(values[i]);
}

std::optional<SmallVector<int64_t>> Node::integers(size_t i) {
  Value value = input(i);
  if (!value)
    return std::nullopt;
  DenseElementsAttr elements = nn::constantValue(value);
  if (!elements) {
    notKnown(i);
    return std::nullopt;
  }
  if (!isa<IntegerType>(elements.getElementType())) {
    error() << "input " << i << " must have integer elements, not "
            << elements.getElementType();
    return std::nullopt;
  }
  SmallVector<int64_t> result;
  bool isUnsigned = elements.getElementType().isUnsignedInteger() ||
                    elements.getElementType().isInteger(1);
  for (const APInt &x : elements.getValues<APInt>())
    result.push_back(isUnsigned ? x.getZExtValue() : x.getSExtValue());
  return result;
}

std::optional<int64_t> Node::integer(size_t i) {
  auto all = integers(i);
  if (!all)
    return std::nullopt;
  if (all->size() == 1)
    return all->front();
  error() << "input " << i << " must have one element, not " << all->size();
  return std::nullopt;
}

std::optional<DataShape> Node::sizesIn(size_t i) {
  Value value = input(i);
  if (!value)
    return std::nullopt;
  auto elements = state.sizes.elementsOf(value);
  if (!elements && isa<IntegerType>(elementOf(value)) &&
      nn::constantValue(value)) {
    error() << "input " << i << " must have at most "
            << DataSizes::kMostElements << " elements";
    return std::nullopt;
  }
  if (!elements)
    notKnown(i);
  return elements;
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

const AttributeProto *Node::attribute(StringRef name) {
  asked.insert(name);
  return attributes.lookup(name);
}

const AttributeProto *Node::attribute(StringRef name,
                                      AttributeProto::AttributeType type) {
  const AttributeProto *found = attribute(name);
  if (!found || !found->has_type() || found->type() == type)
    return found;
  error() << "attribute '" << name << "' has the wrong type";
  return nullptr;
}

int64_t Node::integer(StringRef name, int64_t otherwise) {
  auto found = attribute(name, AttributeProto::INT);
  return found ? found->i() : otherwise;
}

double Node::real(StringRef name, double otherwise) {
  auto found = attribute(name, AttributeProto::FLOAT);
  return found ? found->f() : otherwise;
}

StringRef Node::string(StringRef name, StringRef otherwise) {
  auto found = attribute(name, AttributeProto::STRING);
  return found ? text(found->s()) : otherwise;
}

std::optional<SmallVector<int64_t>> Node::integers(StringRef name) {
  auto found = attribute(name, AttributeProto::INTS);
  if (!found)
    return std::nullopt;
  return SmallVector<int64_t>(found->ints().begin(), found->ints().end());
}

SmallVector<double> Node::reals(StringRef name) {
  auto found = attribute(name, AttributeProto::FLOATS);
  return found ? SmallVector<double>(found->floats().begin(),
                                     found->floats().end())
               : SmallVector<double>();
}

SmallVector<StringRef> Node::strings(StringRef name) {
  auto found = attribute(name, AttributeProto::STRINGS);
  return found ? SmallVector<StringRef>(found->strings().begin(),
                                        found->strings().end())
               : SmallVector<StringRef>();
}

ElementsAttr Node::tensor(StringRef name) {
  auto found = attribute(name, AttributeProto::TENSOR);
  if (!found)
    return {};
  ElementsAttr value = state.tensors.read(found->t(), loc);
  failed |= !value;
  return value;
}

const ::onnx::GraphProto *Node::graph(StringRef name) {
  auto found = attribute(name, AttributeProto::GRAPH);
  if (found)
    return &found->g();
  if (!failed)
    error() << "has no subgraph '" << name << "'";
  return nullptr;
}

Results Node::inlineGraph(const ::onnx::GraphProto &graph,
                          ArrayRef<Value> inputs, std::string name) {
  if (failed)
    return {};
  auto results = state.importGraph(graph, inputs, scope,
                                   scope.prefix + ownName(proto) + "/" + name,
                                   loc, depth + 1);
  if (results)
    return *results;
  failed = true;
  return {};
}

void Node::checkAttributes() {
  if (failed)
    return;
  for (const AttributeProto &attribute : proto.attribute())
    // Memory hints of models before opset 6 are ignored.
    if (attributes.contains(attribute.name()) &&
        attribute.name() != "consumed_inputs" &&
        !asked.contains(attribute.name()))
      error() << "attribute '" << text(attribute.name())
              << "' is not supported";
}

/// Converts an ONNX attribute to the form that the nn operator's definition
/// expects, with signed or signless integers.
std::optional<Attribute> Node::convert(const AttributeProto &attribute,
                                       RegisteredOperationName operation) {
  OpBuilder &b = builder();
  SmallVector<Attribute> forms;
  switch (attribute.type()) {
  case AttributeProto::FLOAT:
    forms = {b.getF32FloatAttr(attribute.f())};
    break;
  case AttributeProto::INT:
    forms = {b.getI64IntegerAttr(attribute.i()),
             IntegerAttr::get(b.getIntegerType(64, /*isSigned=*/true),
                              attribute.i()),
             b.getBoolAttr(attribute.i() != 0)};
    break;
  case AttributeProto::STRING:
    forms = {b.getStringAttr(attribute.s())};
    break;
  case AttributeProto::INTS:
    forms = {b.getDenseI64ArrayAttr(
        ArrayRef(attribute.ints().data(), attribute.ints_size()))};
    break;
  default:
    break;
  }
  Attribute form = chooseForm(operation, attribute.name(), forms);
  return form ? std::optional(form) : std::nullopt;
}

SmallVector<NamedAttribute>
Node::convertAll(RegisteredOperationName operation) {
  SmallVector<NamedAttribute> result;
  for (StringAttr name : operation.getAttributeNames()) {
    const AttributeProto *found = attribute(name.getValue());
    if (!found)
      continue;
    if (auto converted = convert(*found, operation))
      result.push_back(named(name.getValue(), *converted));
    else
      error() << "attribute '" << name.getValue() << "' has the wrong type";
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Building
//===----------------------------------------------------------------------===//

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
  // Sizes may depend on the data while what is computed from them does not.
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

Value Node::build(OperationName name, ValueRange operands,
                  ArrayRef<NamedAttribute> attributes) {
  Operation *op = importer::createInferred(loc, name, operands, attributes);
  if (!op) {
    failed = true;
    return {};
  }
  if (DenseElementsAttr value = nn::evaluate(op)) {
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

/// Returns a constant result for an operator on an empty tensor, so that no
/// empty tensor remains; null if it also reads others.
Value Node::valueOfNothing(Operation *op) {
  auto type = nn::tensorType(op->getResult(0));
  Type element = type.getElementType();
  if (type.getNumElements() == 0)
    return constant(DenseElementsAttr::get(type, ArrayRef<Attribute>()));
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

bool Node::checkIndices(Value indices, ArrayRef<int64_t> limits) {
  DenseElementsAttr known =
      indices ? nn::constantValue(indices, mostInTable) : DenseElementsAttr();
  if (!known || !isa<IntegerType>(known.getElementType()) || limits.empty())
    return true;
  for (auto [i, index] : llvm::enumerate(known.getValues<APInt>())) {
    int64_t limit = limits[i % limits.size()], place = index.getSExtValue();
    if (place >= -limit && place < limit)
      continue;
    error() << "index " << place << " is out of range for a dimension of "
            << limit << (limit == 1 ? " entry" : " entries");
    return false;
  }
  return true;
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
