//===- GroupQueryCaches.cpp - Caches of GroupQueryAttention ---------------===//
//
// onnxruntime-genai leaves the size of heads open: batch × 2 ×
// past_sequence_length × kv_cache_dim. The product that reads the attention has
// a weight with a row for each number of all heads.
//
//===----------------------------------------------------------------------===//

#include "compiler/onnx/GroupQueryCaches.h"

#include "compiler/onnx/onnx.pb.h"

using namespace frit;

static int64_t integerOf(const onnx::NodeProto &node, llvm::StringRef name) {
  for (const onnx::AttributeProto &attribute : node.attribute())
    if (attribute.name() == name)
      return attribute.i();
  return 0;
}

/// Returns the rows of the matrix that multiplies each value, by the value's
/// name.
static llvm::StringMap<int64_t> multipliedRows(const onnx::GraphProto &graph) {
  llvm::StringMap<const onnx::TensorProto *> weights;
  for (const onnx::TensorProto &weight : graph.initializer())
    weights[weight.name()] = &weight;
  llvm::StringMap<int64_t> rows;
  for (const onnx::NodeProto &node : graph.node()) {
    if (node.input_size() < 2 || node.output_size() < 1)
      continue;
    // Codes have the shape of the matrix that they stand for.
    if (node.op_type() == "DequantizeLinear")
      weights[node.output(0)] = weights.lookup(node.input(0));
    const onnx::TensorProto *weight = weights.lookup(node.input(1));
    if (node.op_type() == "MatMulNBits")
      rows[node.input(0)] = integerOf(node, "K");
    else if (node.op_type() == "MatMul" && weight && weight->dims_size() == 2)
      rows[node.input(0)] = weight->dims(0);
  }
  return rows;
}

llvm::StringMap<int64_t> frit::groupQueryCaches(const onnx::ModelProto &model) {
  llvm::StringMap<int64_t> caches;
  const llvm::StringMap<int64_t> rows = multipliedRows(model.graph());
  for (const onnx::NodeProto &node : model.graph().node()) {
    if (node.op_type() != "GroupQueryAttention" || node.input_size() < 5 ||
        node.output_size() < 1)
      continue;
    int64_t heads = integerOf(node, "num_heads"),
            width = rows.lookup(node.output(0));
    for (int i : {3, 4})
      if (!node.input(i).empty())
        caches[node.input(i)] =
            heads > 0 && width % heads == 0 ? width / heads : 0;
  }
  return caches;
}
