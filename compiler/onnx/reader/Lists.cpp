//===- Lists.cpp - Sequences of tensors -----------------------------------===//
//
// The length of a sequence is known at compile time, so it is a list of values.
// During import one value stands for the list: a tuple cast from its elements.
// Nothing reads it after the import.
//
//===----------------------------------------------------------------------===//

#include "compiler/onnx/reader/Hooks.h"
#include "compiler/onnx/reader/Node.h"

using namespace mlir;
using namespace frit;
using namespace frit::importer;

using Elements = SmallVector<Value>;

static Elements elementsOf(Node &node, size_t i) {
  Value list = node.input(i);
  if (!list)
    return {};
  if (!isList(list)) {
    node.error() << "input " << i << " is a tensor, not a sequence";
    return {};
  }
  return Elements(list.getDefiningOp()->getOperands());
}

/// Returns an input that becomes an element; it must be a tensor.
static Value tensorOf(Node &node, size_t i) {
  Value x = node.input(i);
  if (x && !isTensor(x)) {
    node.error() << "input " << i << " is " << kindOf(x) << ", not a tensor";
    return {};
  }
  return x;
}

/// Creates a list of non-null tensors with equal element types.
static Results makeList(Node &node, const Elements &elements) {
  if (node.failed || llvm::is_contained(elements, Value()) ||
      !node.mayBecome(elements.size()))
    return {};
  for (Value element : elements)
    if (elementOf(element) != elementOf(elements.front())) {
      node.error() << "a sequence holds " << elementOf(elements.front())
                   << " and " << elementOf(element);
      return {};
    }
  return {listOf(node.builder(), node.loc, elements)};
}

/// Returns the list index in input `i`, or `otherwise` if it was omitted: at
/// most `last`, negative from the end. 0, after an error, if it is out of
/// range.
static size_t place(Node &node, size_t i, const Elements &elements,
                    int64_t last, int64_t otherwise) {
  if (node.failed)
    return 0;
  auto at = node.has(i) ? node.integer(i) : otherwise;
  auto size = static_cast<int64_t>(elements.size());
  if (at && (*at < -size || *at > last))
    node.error() << "there is no element " << *at << " in a sequence of "
                 << size;
  if (node.failed)
    return 0;
  return *at < 0 ? *at + size : *at;
}

static Results sequenceEmpty(Node &node) {
  node.ignore("dtype");
  return makeList(node, {});
}

static Results sequenceConstruct(Node &node) {
  Elements elements;
  for (size_t i = 0; i < node.inputs().size(); ++i)
    elements.push_back(tensorOf(node, i));
  return makeList(node, elements);
}

static Results sequenceAt(Node &node) {
  Elements elements = elementsOf(node, 0);
  size_t at = place(node, 1, elements, int64_t(elements.size()) - 1, 0);
  return node.failed ? Results() : Results{elements[at]};
}

static Results sequenceInsert(Node &node) {
  Elements elements = elementsOf(node, 0);
  Value x = tensorOf(node, 1);
  auto size = static_cast<int64_t>(elements.size());
  size_t at = place(node, 2, elements, size, size);
  if (node.failed)
    return {};
  elements.insert(elements.begin() + at, x);
  return makeList(node, elements);
}

static Results sequenceErase(Node &node) {
  Elements elements = elementsOf(node, 0);
  size_t at = place(node, 1, elements, int64_t(elements.size()) - 1, -1);
  if (node.failed)
    return {};
  elements.erase(elements.begin() + at);
  return makeList(node, elements);
}

static Results sequenceLength(Node &node) {
  size_t count = elementsOf(node, 0).size();
  return {node.scalar(node.builder().getI64Type(), double(count))};
}

/// Returns the sizes of parts of `whole` elements: the list in input 1, or its
/// one size for all but the last part.
static SmallVector<int64_t> partSizes(Node &node, int64_t whole) {
  if (node.has(1) && rankOf(node.input(1)) == 1) {
    auto sizes = node.integers(1);
    int64_t left = whole;
    for (int64_t size : sizes.value_or(SmallVector<int64_t>()))
      left = size < 0 || size > left ? -1 : left - size;
    if (sizes && left == 0)
      return *sizes;
    if (sizes)
      node.error() << "the parts do not make up " << whole << " elements";
    return {};
  }
  int64_t part = node.has(1) ? node.integer(1).value_or(1) : 1;
  if (part < 1)
    node.error() << "cannot split into parts of " << part;
  if (node.failed || !node.mayBecome(llvm::divideCeil(whole, part)))
    return {};
  SmallVector<int64_t> sizes(whole / part, part);
  if (whole % part)
    sizes.push_back(whole % part);
  return sizes;
}

static Results splitToSequence(Node &node) {
  Value x = tensorOf(node, 0);
  if (!x)
    return {};
  auto shape = sizes(x);
  int64_t axis = node.axis(node.integer("axis", 0), rankOf(x));
  bool keeps = node.integer("keepdims", 1) || node.has(1);
  if (node.failed)
    return {};
  int64_t start = 0, whole = shape[axis];
  shape.erase(shape.begin() + axis);
  Elements parts;
  for (int64_t size : partSizes(node, whole)) {
    Value part = node.slice(x, axis, start, size);
    parts.push_back(keeps ? part : node.reshape(part, shape));
    start += size;
  }
  return makeList(node, parts);
}

static Results concatFromSequence(Node &node) {
  Elements elements = elementsOf(node, 0);
  bool stacks = node.integer("new_axis", 0);
  int64_t axis = node.integer("axis", 0);
  if (!node.failed && elements.empty())
    node.error() << "cannot join the tensors of a sequence without any";
  if (node.failed)
    return {};
  axis = node.axis(axis, rankOf(elements.front()) + stacks);
  for (Value &element : elements)
    if (stacks && !node.failed) {
      auto shape = sizes(element);
      shape.insert(shape.begin() + std::min<size_t>(axis, shape.size()), 1);
      element = node.reshape(element, shape);
    }
  return node.failed ? Results() : Results{node.concat(elements, axis)};
}

/// Applies a graph to each element of a sequence, together with tensors and the
/// matching elements of other sequences.
static Results sequenceMap(Node &node) {
  const ::onnx::GraphProto *body = node.graph("body");
  size_t count = elementsOf(node, 0).size();
  SmallVector<Elements> operands;
  for (size_t i = 0; i < node.inputs().size() && !node.failed; ++i) {
    Value x = node.input(i);
    operands.push_back(x && !isList(x) ? Elements(count, x)
                                       : elementsOf(node, i));
    if (!node.failed && operands.back().size() != count)
      node.error() << "input " << i << " has " << operands.back().size()
                   << " elements, input 0 has " << count;
  }
  SmallVector<Elements> outputs(node.numOutputs());
  for (size_t at = 0; at < count && !node.failed; ++at) {
    Elements inputs;
    for (const Elements &operand : operands)
      inputs.push_back(operand[at]);
    Results results = node.inlineGraph(*body, inputs, std::to_string(at));
    if (!node.failed && results.size() < outputs.size())
      node.error() << "its body has " << results.size() << " outputs";
    for (size_t i = 0; i < outputs.size() && !node.failed; ++i)
      outputs[i].push_back(results[i]);
  }
  Results lists;
  for (const Elements &elements : outputs)
    lists.append(makeList(node, elements));
  return lists;
}

ArrayRef<Hook> frit::importer::listHooks() {
  static constexpr Hook hooks[] = {
      {"SequenceEmpty", 11, 0, 0, sequenceEmpty, takesLists},
      {"SequenceConstruct", 11, 1, -1, sequenceConstruct, takesLists},
      {"SequenceAt", 11, 2, 2, sequenceAt, takesLists},
      {"SequenceInsert", 11, 2, 3, sequenceInsert, takesLists},
      {"SequenceErase", 11, 1, 2, sequenceErase, takesLists},
      {"SequenceLength", 11, 1, 1, sequenceLength, takesLists},
      {"SplitToSequence", 11, 1, 2, splitToSequence, takesLists},
      {"ConcatFromSequence", 11, 1, 1, concatFromSequence, takesLists},
      {"SequenceMap", 17, 1, -1, sequenceMap, takesLists},
  };
  return hooks;
}
