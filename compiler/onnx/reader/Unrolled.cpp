//===- Unrolled.cpp - Steps of unrolled loops -----------------------------===//

#include "compiler/onnx/reader/Unrolled.h"
#include "compiler/onnx/reader/Node.h"

using namespace mlir;
using namespace frit;
using namespace frit::importer;

bool importer::areTensors(Node &node, ValueRange values, Value condition) {
  auto other = llvm::find_if_not(values, isTensor);
  if (!node.failed && other != values.end())
    node.error() << "its subgraph returns " << kindOf(*other)
                 << ", which is not supported if the condition depends on the "
                    "data or steps are joined"
                 << (condition ? fixInputsHint(condition) : "");
  return !node.failed;
}

Value importer::stackSteps(Node &node, ArrayRef<Value> steps, int64_t axis) {
  SmallVector<Value> parts;
  for (Value step : steps) {
    if (!step)
      return {};
    auto shape = sizes(step);
    axis = node.axis(axis, rankOf(step) + 1);
    if (node.failed)
      return {};
    shape.insert(shape.begin() + axis, 1);
    parts.push_back(node.reshape(step, shape));
  }
  return parts.size() == 1 ? parts[0] : node.concat(parts, axis);
}
