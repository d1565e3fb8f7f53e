//===- Model.cpp - Remove parts of a model --------------------------------===//

#include "tools/frit-reduce/Model.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace frit::reduce;
using llvm::ArrayRef;
using llvm::StringRef;
using llvm::StringSet;

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

static void addNamesRead(const onnx::NodeProto &node, StringSet<> &names);

/// Adds the names that a subgraph reads from the enclosing graph.
static void addNamesRead(const onnx::GraphProto &graph, StringSet<> &names) {
  StringSet<> read, own;
  for (const onnx::NodeProto &node : graph.node()) {
    addNamesRead(node, read);
    for (const std::string &name : node.output())
      own.insert(name);
  }
  for (const onnx::ValueInfoProto &output : graph.output())
    read.insert(output.name());
  for (const onnx::ValueInfoProto &input : graph.input())
    own.insert(input.name());
  for (const onnx::TensorProto &weight : graph.initializer())
    own.insert(weight.name());
  for (StringRef name : read.keys())
    if (!own.contains(name))
      names.insert(name);
}

/// Adds the names that a node and its subgraphs read. An omitted input has an
/// empty name.
static void addNamesRead(const onnx::NodeProto &node, StringSet<> &names) {
  for (const std::string &name : node.input())
    if (!name.empty())
      names.insert(name);
  for (const onnx::AttributeProto &attribute : node.attribute()) {
    if (attribute.has_g())
      addNamesRead(attribute.g(), names);
    for (const onnx::GraphProto &graph : attribute.graphs())
      addNamesRead(graph, names);
  }
}

static bool computesAny(const onnx::NodeProto &node, const StringSet<> &names) {
  return llvm::any_of(node.output(), [&](const std::string &name) {
    return names.contains(name);
  });
}

/// Removes the elements of a repeated field for which `isKept` is false.
template <typename Field, typename Predicate>
static void keepIf(Field &field, Predicate isKept) {
  int count = 0;
  for (int i = 0; i < field.size(); ++i)
    if (isKept(field.Get(i)))
      field.SwapElements(i, count++);
  field.DeleteSubrange(count, field.size() - count);
}

//===----------------------------------------------------------------------===//
// Removal of unused functions and domains
//===----------------------------------------------------------------------===//

/// Marks the functions and the domains that nodes use.
static void
addUses(const google::protobuf::RepeatedPtrField<onnx::NodeProto> &nodes,
        const onnx::ModelProto &model, StringSet<> &functions,
        StringSet<> &domains) {
  for (const onnx::NodeProto &node : nodes) {
    domains.insert(node.domain() == "ai.onnx" ? "" : node.domain());
    for (const onnx::AttributeProto &attribute : node.attribute()) {
      if (attribute.has_g())
        addUses(attribute.g().node(), model, functions, domains);
      for (const onnx::GraphProto &graph : attribute.graphs())
        addUses(graph.node(), model, functions, domains);
    }
    for (const onnx::FunctionProto &function : model.functions())
      if (function.name() == node.op_type() &&
          function.domain() == node.domain() &&
          functions.insert(function.domain() + "::" + function.name()).second)
        addUses(function.node(), model, functions, domains);
  }
}

void frit::reduce::prune(onnx::ModelProto &model) {
  onnx::GraphProto &graph = *model.mutable_graph();
  StringSet<> needed;
  for (const onnx::ValueInfoProto &output : graph.output())
    needed.insert(output.name());
  // Repeat until nothing is added: nodes may be in any order.
  for (size_t size = 0; size != needed.size();) {
    size = needed.size();
    for (const onnx::NodeProto &node : llvm::reverse(graph.node()))
      if (computesAny(node, needed))
        addNamesRead(node, needed);
  }
  keepIf(*graph.mutable_node(), [&](const onnx::NodeProto &node) {
    return computesAny(node, needed);
  });
  auto isNeeded = [&](const auto &named) {
    return needed.contains(named.name());
  };
  keepIf(*graph.mutable_input(), isNeeded);
  keepIf(*graph.mutable_initializer(), isNeeded);
  keepIf(*graph.mutable_sparse_initializer(), [&](const auto &sparse) {
    return needed.contains(sparse.values().name());
  });

  StringSet<> functions, domains;
  addUses(graph.node(), model, functions, domains);
  keepIf(*model.mutable_functions(), [&](const onnx::FunctionProto &function) {
    return functions.contains(function.domain() + "::" + function.name());
  });
  keepIf(*model.mutable_opset_import(), [&](const auto &opset) {
    return opset.domain().empty() || domains.contains(opset.domain());
  });
}

void frit::reduce::removeNotes(onnx::ModelProto &model) {
  model.clear_producer_name();
  model.clear_producer_version();
  model.clear_domain();
  model.clear_model_version();
  model.clear_doc_string();
  model.clear_metadata_props();
  model.clear_training_info();
  onnx::GraphProto &graph = *model.mutable_graph();
  graph.clear_doc_string();
  graph.clear_metadata_props();
  graph.clear_value_info();
  graph.clear_quantization_annotation();
  for (onnx::NodeProto &node : *graph.mutable_node()) {
    node.clear_doc_string();
    node.clear_metadata_props();
  }
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

std::optional<onnx::ModelProto>
frit::reduce::keepOutputs(const onnx::ModelProto &model,
                          ArrayRef<unsigned> kept) {
  if (kept.empty())
    return std::nullopt;
  onnx::ModelProto part = model;
  auto &outputs = *part.mutable_graph()->mutable_output();
  outputs.Clear();
  for (unsigned i : kept)
    *outputs.Add() = model.graph().output(i);
  prune(part);
  return part;
}

std::optional<onnx::ModelProto>
frit::reduce::keepNodes(const onnx::ModelProto &model, ArrayRef<unsigned> kept,
                        const Knowledge &known) {
  onnx::ModelProto part = model;
  onnx::GraphProto &graph = *part.mutable_graph();
  graph.clear_node();
  StringSet<> readBefore, read, computed, given;
  for (const onnx::NodeProto &node : model.graph().node())
    addNamesRead(node, readBefore);
  for (unsigned i : kept) {
    const onnx::NodeProto &node = *graph.add_node() = model.graph().node(i);
    addNamesRead(node, read);
    for (const std::string &name : node.output())
      if (!name.empty())
        computed.insert(name);
  }
  for (const auto &input : graph.input())
    given.insert(input.name());
  for (const auto &weight : graph.initializer())
    given.insert(weight.name());
  for (const auto &weight : graph.sparse_initializer())
    given.insert(weight.values().name());

  // Values that removed nodes computed become inputs.
  for (const onnx::NodeProto &node : model.graph().node())
    for (const std::string &name : node.output()) {
      if (!read.contains(name) || computed.contains(name))
        continue;
      auto constant = known.constants.find(name);
      auto type = known.types.find(name);
      if (constant != known.constants.end()) {
        *graph.add_initializer() = constant->second;
      } else if (type != known.types.end()) {
        onnx::ValueInfoProto &input = *graph.add_input();
        input.set_name(name);
        *input.mutable_type() = type->second;
      } else {
        return std::nullopt;
      }
    }

  // Values that only removed nodes read become outputs.
  StringSet<> isOutput;
  keepIf(*graph.mutable_output(), [&](const onnx::ValueInfoProto &output) {
    bool isThere =
        computed.contains(output.name()) || given.contains(output.name());
    return isThere && isOutput.insert(output.name()).second;
  });
  for (const onnx::NodeProto &node : graph.node())
    for (const std::string &name : node.output()) {
      if (!readBefore.contains(name) || read.contains(name) ||
          !isOutput.insert(name).second)
        continue;
      onnx::ValueInfoProto &output = *graph.add_output();
      output.set_name(name);
      if (auto type = known.types.find(name); type != known.types.end())
        *output.mutable_type() = type->second;
    }
  if (graph.output_size() == 0)
    return std::nullopt;
  prune(part);
  return part;
}
