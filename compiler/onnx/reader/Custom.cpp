//===- Custom.cpp - Import nodes of custom operators ----------------------===//

#include "compiler/import/CreateCustom.h"
#include "compiler/onnx/reader/Node.h"
#include "compiler/onnx/reader/Registry.h"

using namespace mlir;
using namespace frit;
using namespace frit::importer;
using ::onnx::AttributeProto;

/// Returns the node's attributes that `spec` has; others are errors later.
static CustomAttributes attributesOf(Node &node, const CustomSpec &spec) {
  CustomAttributes result;
  for (const CustomSpec::Attribute &known : spec.attributes) {
    const AttributeProto *attribute = node.attribute(known.name);
    if (!attribute)
      continue;
    if (attribute->type() == AttributeProto::INT)
      result[known.name] = attribute->i();
    else if (attribute->type() == AttributeProto::FLOAT)
      result[known.name] = double(attribute->f());
    else
      node.error() << "attribute '" << known.name
                   << "' is neither an integer nor a float";
  }
  return result;
}

Results frit::importer::importCustom(Node &node, const CustomSpec &spec,
                                     ArrayRef<CustomSpec> specs) {
  for (size_t i = 0; i < node.inputs().size(); ++i) {
    Value value = node.input(i);
    if (!value)
      return {};
    if (!isTensor(value))
      node.error() << "input " << i << " is " << kindOf(value)
                   << ", which a custom operator does not take";
    else if (isMarked(value))
      node.error() << "the size of input " << i
                   << " depends on the data, which a custom operator does not "
                      "support"
                   << fixInputsHint(value);
    else if (nn::tensorType(value).getNumElements() == 0)
      node.error() << "input " << i << " has no elements";
  }
  CustomAttributes attributes = attributesOf(node, spec);
  if (node.numOutputs() > spec.outputs.size())
    node.error() << "has " << node.numOutputs() << " outputs, and the operator "
                 << "gives " << spec.outputs.size() << " (" << spec.path << ")";
  if (node.failed || !node.mayBecome(1))
    return {};
  if (!node.modelTrains())
    specs = {};
  Operation *op = createCustom(spec, node.loc, node.inputs(), attributes, specs,
                               node.builder());
  if (!op) {
    node.failed = true;
    return {};
  }
  return Results(op->getResults().take_front(spec.outputs.size()));
}
