//===- Node.cpp - A node's inputs and attributes --------------------------===//

#include "compiler/onnx/reader/Node.h"

#include "compiler/import/CreateOp.h"
#include "dialects/nn/Fold.h"

#include "llvm/Support/SaveAndRestore.h"

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

void Node::notBounded(size_t i) {
  error() << "input " << i << ", '" << text(proto.input(i))
          << "', must be known when compiling, or held to a number by -fbound="
          << fullName() << ":NUMBER" << fixInputsHint(values[i]);
}

std::optional<SmallVector<int64_t>> Node::integers(size_t i) {
  Value value = input(i);
  if (!value)
    return std::nullopt;
  DenseElementsAttr elements = knownElements(value);
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

std::optional<DataShape> Node::shapeIn(size_t i) {
  if (!has(i) || state.sizes.elementsOf(values[i]) ||
      nn::constantValue(values[i]))
    return sizesIn(i);
  auto elements = boundElements(values[i]);
  if (!elements)
    notBounded(i);
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

Results Node::inlineUnused(const ::onnx::GraphProto &graph,
                           ArrayRef<Value> inputs, std::string name) {
  llvm::SaveAndRestore unused(state.mayBeUnused, true);
  return inlineGraph(graph, inputs, std::move(name));
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
