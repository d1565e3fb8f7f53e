//===- InferenceMode.cpp - An ONNX model in inference mode ----------------===//

#include "tools/frit-train/weights/InferenceMode.h"
#include "compiler/onnx/DropModules.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace {
using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

class ModeSetter {
public:
  /// Collect the names that are read in a graph or function.
  template <typename Graph> void collect(const Graph &graph) {
    for (const onnx::NodeProto &node : graph.node()) {
      read.insert(node.input().begin(), node.input().end());
      for (const onnx::AttributeProto &attribute : node.attribute()) {
        if (attribute.has_g())
          collectGraph(attribute.g());
        for (const onnx::GraphProto &inner : attribute.graphs())
          collectGraph(inner);
      }
    }
  }
  void collectGraph(const onnx::GraphProto &graph) {
    collect(graph);
    for (const onnx::ValueInfoProto &output : graph.output())
      read.insert(output.name());
  }
  void collectFunction(const onnx::FunctionProto &function) {
    collect(function);
    read.insert(function.output().begin(), function.output().end());
  }

  bool readsAny(const auto &names) const {
    return std::any_of(names.begin(), names.end(),
                       [&](const auto &name) { return read.contains(name); });
  }

  void set(Nodes &nodes);

private:
  void stopNorm(onnx::NodeProto &node, Nodes &copies) const;

  std::set<std::string> read;
};
} // namespace

/// Leaves a BatchNormalization its first output. The next two are the running
/// statistics after a step, inputs 3 and 4 where nothing moves them: adds an
/// Identity for each that is read.
void ModeSetter::stopNorm(onnx::NodeProto &node, Nodes &copies) const {
  for (onnx::AttributeProto &attribute : *node.mutable_attribute())
    if (attribute.name() == "training_mode")
      attribute.set_i(0);
  for (int i = 1; i <= 2 && i < node.output_size(); ++i) {
    if (!read.contains(node.output(i)) || node.input_size() <= i + 2)
      continue;
    onnx::NodeProto &copy = *copies.Add();
    copy.set_op_type("Identity");
    copy.add_input(node.input(i + 2));
    copy.add_output(node.output(i));
  }
  if (node.output_size() > 1)
    node.mutable_output()->DeleteSubrange(1, node.output_size() - 1);
}

void ModeSetter::set(Nodes &nodes) {
  Nodes all;
  for (onnx::NodeProto &node : nodes) {
    bool isStandard = node.domain().empty() || node.domain() == "ai.onnx";
    // Without its third input, Dropout is in inference mode.
    if (isStandard && node.op_type() == "Dropout" && node.input_size() > 2)
      node.mutable_input()->DeleteSubrange(2, node.input_size() - 2);
    for (onnx::AttributeProto &attribute : *node.mutable_attribute()) {
      if (attribute.has_g())
        set(*attribute.mutable_g()->mutable_node());
      for (onnx::GraphProto &inner : *attribute.mutable_graphs())
        set(*inner.mutable_node());
    }
    Nodes copies;
    if (isStandard && node.op_type() == "BatchNormalization")
      stopNorm(node, copies);
    *all.Add() = std::move(node);
    for (onnx::NodeProto &copy : copies)
      *all.Add() = std::move(copy);
  }
  nodes.Swap(&all);
}

/// Removes the modules that drop: readers of their results read their inputs.
static void removeDropModules(onnx::GraphProto &graph) {
  std::map<std::string, std::string> inputs = frit::findDropModules(graph);
  if (inputs.empty())
    return;
  Nodes &nodes = *graph.mutable_node();
  for (onnx::NodeProto &node : nodes)
    for (int i = 0; i < node.output_size(); ++i) {
      auto module = inputs.find(node.output(i));
      if (module == inputs.end())
        continue;
      node.Clear();
      node.set_op_type("Identity");
      node.add_input(module->second);
      node.add_output(module->first);
      break;
    }
  // What else the modules compute is read by no node.
  for (int before = 0; before != nodes.size();) {
    before = nodes.size();
    ModeSetter names;
    names.collectGraph(graph);
    nodes.erase(std::remove_if(nodes.begin(), nodes.end(),
                               [&](const auto &node) {
                                 return !names.readsAny(node.output());
                               }),
                nodes.end());
  }
}

void frit::train::setInferenceMode(onnx::ModelProto &model) {
  removeDropModules(*model.mutable_graph());
  ModeSetter setter;
  setter.collectGraph(model.graph());
  for (const onnx::FunctionProto &function : model.functions())
    setter.collectFunction(function);
  setter.set(*model.mutable_graph()->mutable_node());
  for (onnx::FunctionProto &function : *model.mutable_functions())
    setter.set(*function.mutable_node());
}
