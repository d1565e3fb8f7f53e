//===- Bodies.cpp - Shorten subgraphs -------------------------------------===//

#include "tools/frit-reduce/Shrink.h"

#include "llvm/ADT/STLExtras.h"

using namespace frit::reduce;

/// Makes all readers of `from` in the graph read `to`.
static void redirect(onnx::GraphProto &graph, const std::string &from,
                     const std::string &to) {
  for (onnx::NodeProto &node : *graph.mutable_node()) {
    for (std::string &name : *node.mutable_input())
      if (name == from)
        name = to;
    for (onnx::AttributeProto &attribute : *node.mutable_attribute()) {
      if (attribute.has_g())
        redirect(*attribute.mutable_g(), from, to);
      for (onnx::GraphProto &inner : *attribute.mutable_graphs())
        redirect(inner, from, to);
    }
  }
  for (onnx::ValueInfoProto &output : *graph.mutable_output())
    if (output.name() == from)
      output.set_name(to);
}

/// Removes node number `index` of the bodies below `graph`. Decrements `index`
/// for each node before it.
static bool leaveOut(onnx::GraphProto &graph, unsigned &index, bool isBody) {
  for (int i = 0; i < graph.node_size(); ++i) {
    onnx::NodeProto &node = *graph.mutable_node(i);
    if (isBody && index-- == 0) {
      if (!node.input_size() || node.input(0).empty() || !node.output_size())
        return true;
      onnx::NodeProto gone = node;
      graph.mutable_node()->DeleteSubrange(i, 1);
      redirect(graph, gone.output(0), gone.input(0));
      return true;
    }
    for (onnx::AttributeProto &attribute : *node.mutable_attribute()) {
      if (attribute.has_g() && leaveOut(*attribute.mutable_g(), index, true))
        return true;
      for (onnx::GraphProto &inner : *attribute.mutable_graphs())
        if (leaveOut(inner, index, true))
          return true;
    }
  }
  return false;
}

bool frit::reduce::leaveOutOfBody(onnx::ModelProto &model, unsigned index) {
  return leaveOut(*model.mutable_graph(), index, false);
}

/// Replaces an If by a branch. Value names are unique in a graph and its
/// subgraphs, so the branch needs no renaming.
static void inlineBranch(onnx::GraphProto &graph, int at,
                         const onnx::GraphProto &branch) {
  onnx::NodeProto old = graph.node(at);
  google::protobuf::RepeatedPtrField<onnx::NodeProto> nodes;
  for (int i = 0; i < graph.node_size(); ++i) {
    if (i != at) {
      *nodes.Add() = graph.node(i);
      continue;
    }
    nodes.Add(branch.node().begin(), branch.node().end());
    for (auto [result, output] : llvm::zip(old.output(), branch.output())) {
      onnx::NodeProto &identity = *nodes.Add();
      identity.set_op_type("Identity");
      identity.add_input(output.name());
      identity.add_output(result);
    }
  }
  graph.mutable_node()->Swap(&nodes);
  graph.mutable_initializer()->MergeFrom(branch.initializer());
  graph.mutable_sparse_initializer()->MergeFrom(branch.sparse_initializer());
}

bool frit::reduce::takeBranch(onnx::ModelProto &model, unsigned index) {
  onnx::GraphProto &graph = *model.mutable_graph();
  for (int i = 0; i < graph.node_size(); ++i) {
    if (graph.node(i).op_type() != "If")
      continue;
    for (const onnx::AttributeProto &attribute : graph.node(i).attribute())
      if (attribute.has_g() && index-- == 0) {
        onnx::GraphProto branch = attribute.g();
        inlineBranch(graph, i, branch);
        prune(model);
        return true;
      }
  }
  return false;
}
