//===- ModelTensors.cpp - All tensors of an ONNX file ---------------------===//

#include "compiler/onnx/ModelTensors.h"

using namespace frit;

namespace {
class TensorFinder {
public:
  void visit(onnx::GraphProto &graph) {
    for (onnx::TensorProto &tensor : *graph.mutable_initializer())
      found.push_back(&tensor);
    for (onnx::SparseTensorProto &sparse : *graph.mutable_sparse_initializer())
      visit(sparse);
    for (onnx::NodeProto &node : *graph.mutable_node())
      visit(node);
  }

  void visit(onnx::NodeProto &node) {
    for (onnx::AttributeProto &attribute : *node.mutable_attribute())
      visit(attribute);
  }

  void visit(onnx::AttributeProto &attribute) {
    if (attribute.has_t())
      found.push_back(attribute.mutable_t());
    for (onnx::TensorProto &tensor : *attribute.mutable_tensors())
      found.push_back(&tensor);
    if (attribute.has_sparse_tensor())
      visit(*attribute.mutable_sparse_tensor());
    for (onnx::SparseTensorProto &sparse : *attribute.mutable_sparse_tensors())
      visit(sparse);
    if (attribute.has_g())
      visit(*attribute.mutable_g());
    for (onnx::GraphProto &graph : *attribute.mutable_graphs())
      visit(graph);
  }

  void visit(onnx::SparseTensorProto &sparse) {
    for (onnx::TensorProto *part :
         {sparse.mutable_values(), sparse.mutable_indices()})
      found.push_back(part);
  }

  std::vector<onnx::TensorProto *> found;
};
} // namespace

std::vector<onnx::TensorProto *> frit::findTensors(onnx::ModelProto &model) {
  TensorFinder finder;
  finder.visit(*model.mutable_graph());
  for (onnx::FunctionProto &function : *model.mutable_functions()) {
    for (onnx::NodeProto &node : *function.mutable_node())
      finder.visit(node);
    for (onnx::AttributeProto &attribute : *function.mutable_attribute_proto())
      finder.visit(attribute);
  }
  return finder.found;
}

std::string frit::externalLocation(const onnx::TensorProto &tensor) {
  if (tensor.data_location() == onnx::TensorProto::EXTERNAL)
    for (const onnx::StringStringEntryProto &entry : tensor.external_data())
      if (entry.key() == "location")
        return entry.value();
  return "";
}
