//===- Calls.cpp - Inline functions and subgraphs -------------------------===//

#include "compiler/onnx/reader/Importer.h"
#include "compiler/onnx/reader/Node.h"
#include "compiler/onnx/reader/Registry.h"

using namespace mlir;
using namespace frit;
using namespace frit::importer;
using ::onnx::AttributeProto;
using ::onnx::NodeProto;

/// Limits against small files that expand to huge models: call depth, inlined
/// nodes, operators, and elements of generated tables (512 MiB).
static constexpr unsigned mostDepth = 64;
static constexpr size_t mostInlined = 1 << 20, mostOperators = 1 << 19;
static constexpr size_t mostTabulated = 1 << 26;

bool Importer::mayBecome(size_t more) {
  operators += more;
  return operators <= mostOperators;
}

bool Importer::mayTabulate(size_t elements) {
  tabulated += elements;
  return tabulated <= mostTabulated;
}

bool Importer::checkFunction(Function &function, Location call,
                             unsigned depth) {
  if (function.state == Function::done)
    return true;
  if (function.state == Function::open) {
    emitError(call) << "function '" << text(function.proto->name())
                    << "' calls itself";
    return false;
  }
  if (depth > mostDepth) {
    emitError(call) << "functions call each other more than " << mostDepth
                    << " deep";
    return false;
  }
  function.state = Function::open;
  function.scope.prefix = function.proto->name() + "/";
  bool good = checkNodes(function.proto->node(), function.scope, depth);
  llvm::StringSet<> parameters;
  for (const std::string &input : function.proto->input())
    parameters.insert(input);
  auto order = sortNodes(
      function.proto->node(),
      [&](StringRef name) { return parameters.contains(name); },
      [&](const NodeProto &node) { return locate(node, function.scope); });
  if (order)
    function.order = std::move(*order);
  function.state = Function::done;
  return good && order;
}

void Importer::importNodes(const Order &order, Scope &scope, unsigned depth) {
  for (const NodeProto *proto : order) {
    if (depth && ++inlined > mostInlined)
      return;
    importNode(*proto, scope, depth);
  }
}

std::optional<Results> Importer::importCall(Node &node, Function &function,
                                            std::string prefix,
                                            unsigned depth) {
  const ::onnx::FunctionProto &proto = *function.proto;
  if (!checkInputCount(node, 0, proto.input_size()))
    return std::nullopt;
  Scope scope;
  scope.opsets = function.scope.opsets;
  scope.prefix = prefix + "/";
  for (auto [i, name] : llvm::enumerate(proto.input()))
    scope.values[name] = node.has(i) ? node.input(i) : Value();
  for (const std::string &name : proto.attribute())
    if (const AttributeProto *given = node.attribute(name))
      scope.attributes[name] = given;
  for (const AttributeProto &attribute : proto.attribute_proto()) {
    const AttributeProto *given = node.attribute(attribute.name());
    scope.attributes[attribute.name()] = given ? given : &attribute;
  }

  importNodes(function.order, scope, depth);
  if (inlined > mostInlined) {
    if (depth > 1)
      return std::nullopt;
    node.error() << "the model has more than " << mostInlined
                 << " nodes when functions are inlined";
    return std::nullopt;
  }
  Results outputs;
  for (const std::string &name : proto.output()) {
    if (scope.failed.contains(name))
      return std::nullopt;
    auto it = scope.values.find(name);
    if (it == scope.values.end()) {
      node.error() << "function '" << text(proto.name())
                   << "' does not compute its output '" << text(name) << "'";
      return std::nullopt;
    }
    outputs.push_back(it->second);
  }
  return outputs;
}

std::optional<Results> Importer::importGraph(const ::onnx::GraphProto &graph,
                                             ArrayRef<Value> inputs,
                                             Scope &outer, std::string name,
                                             Location loc, unsigned depth) {
  if (depth > mostDepth) {
    emitError(loc) << "graphs are more than " << mostDepth << " deep";
    return std::nullopt;
  }
  Scope scope;
  scope.opsets = outer.opsets;
  for (const auto &entry : outer.attributes)
    scope.attributes[entry.getKey()] = entry.getValue();
  scope.prefix = std::move(name) + "/";
  scope.outer = &outer;
  if (graph.input_size() != static_cast<int>(inputs.size())) {
    emitError(loc) << "its subgraph takes " << graph.input_size()
                   << " inputs, but gets " << inputs.size();
    return std::nullopt;
  }
  for (auto [input, value] : llvm::zip_equal(graph.input(), inputs))
    scope.values[input.name()] = value;
  for (const ::onnx::TensorProto &weight : graph.initializer())
    scope.weights[weight.name()] = &weight;
  auto isGiven = [&](StringRef given) {
    for (const Scope *at = &scope; at; at = at->outer)
      if (at->values.contains(given) || at->weights.contains(given) ||
          at->failed.contains(given))
        return true;
    return false;
  };
  bool good = checkNodes(graph.node(), scope, depth);
  auto order = sortNodes(graph.node(), isGiven, [&](const NodeProto &node) {
    return locate(node, scope);
  });
  if (!good || !order)
    return std::nullopt;
  importNodes(*order, scope, depth);
  if (inlined > mostInlined) {
    emitError(loc) << "the model has more than " << mostInlined
                   << " nodes when subgraphs are inlined";
    return std::nullopt;
  }
  Results results;
  for (const auto &output : graph.output()) {
    if (!isGiven(output.name())) {
      emitError(loc) << "its subgraph does not compute its output '"
                     << text(output.name()) << "'";
      return std::nullopt;
    }
    std::optional<Value> result = lookUp(output.name(), scope);
    if (!result)
      return std::nullopt;
    if (!*result) {
      emitError(loc) << "output '" << text(output.name())
                     << "' of its subgraph is an input that is left out";
      return std::nullopt;
    }
    results.push_back(*result);
  }
  return results;
}
