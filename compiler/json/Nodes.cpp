//===- Nodes.cpp - Read the nodes of JSON graphs --------------------------===//

#include "compiler/json/Reader.h"

#include "compiler/import/CreateCustom.h"
#include "compiler/import/CreateOp.h"

using namespace mlir;
using namespace frit;
using namespace frit::importer;
using Json = nlohmann::ordered_json;

/// Returns the possible attributes for a value; the operator's definition
/// selects one.
SmallVector<Attribute> JsonReader::forms(const Json &value) {
  SmallVector<Attribute> result;
  if (value.is_boolean()) {
    if (value.get<bool>())
      result.push_back(builder.getUnitAttr());
    result.push_back(builder.getBoolAttr(value.get<bool>()));
  }
  if (value.is_number_integer()) {
    result.push_back(builder.getI64IntegerAttr(value.get<int64_t>()));
    result.push_back(IntegerAttr::get(
        builder.getIntegerType(64, /*isSigned=*/true), value.get<int64_t>()));
  }
  if (value.is_number()) {
    result.push_back(builder.getF32FloatAttr(value.get<float>()));
    result.push_back(builder.getF64FloatAttr(value.get<double>()));
  }
  if (value.is_array() &&
      llvm::all_of(value, [](const Json &v) { return v.is_number_integer(); }))
    result.push_back(
        builder.getDenseI64ArrayAttr(value.get<std::vector<int64_t>>()));
  if (value.is_string()) {
    auto text = value.get<std::string>();
    if (Type type = elementNamed(text, context))
      result.push_back(TypeAttr::get(type));
    if (auto combiner = nn::symbolizeCombiner(text))
      result.push_back(nn::CombinerAttr::get(&context, *combiner));
    result.push_back(builder.getStringAttr(text));
  }
  return result;
}

std::optional<SmallVector<NamedAttribute>>
JsonReader::readAttributes(const Json &node, RegisteredOperationName name,
                           Location loc) {
  SmallVector<NamedAttribute> result;
  auto found = node.find("attributes");
  if (found == node.end())
    return result;
  bool good = found->is_object() || fail(loc, "\"attributes\" is no object");
  for (const auto &[key, value] : found->items()) {
    if (!llvm::is_contained(name.getAttributeNames(), StringRef(key))) {
      good = fail(loc, "has no attribute '" + key + "'");
      continue;
    }
    // A unit attribute that is false is omitted.
    if (value.is_boolean() && !value.get<bool>() &&
        !chooseForm(name, key, builder.getBoolAttr(false)))
      continue;
    if (Attribute form = chooseForm(name, key, forms(value)))
      result.push_back(builder.getNamedAttr(key, form));
    else
      good = fail(loc, "attribute '" + key + "' cannot be " + printed(value));
  }
  return good ? std::optional(result) : std::nullopt;
}

bool JsonReader::readNode(const Json &node, size_t index) {
  std::string type = textAt(node, "op"), called = textAt(node, "name");
  if (type.empty())
    return fail(locate("node " + Twine(index)), "needs an \"op\"");
  Location loc = locate(
      (called.empty() ? "node " + Twine(index) : "node '" + called + "'") +
      " (" + type + ")");
  const CustomSpec *custom = findCustom(options.customOps, type);
  bool known = llvm::any_of(nn::operators(), [&](const auto &entry) {
    return entry.operation == "nn." + type && type != "constant" &&
           type != "counted";
  });
  auto name = RegisteredOperationName::lookup("nn." + type, &context);
  if (!custom && (!known || !name))
    return fail(loc, "is not an operator; `fritc --help-ops` lists them");

  auto inputs = names(node, "inputs", loc),
       outputs = names(node, "outputs", loc);
  auto attributes =
      custom ? SmallVector<NamedAttribute>() : readAttributes(node, *name, loc);
  if (!inputs || !outputs || !attributes)
    return false;
  SmallVector<Value> operands;
  for (const std::string &input : *inputs) {
    operands.push_back(lookup(input));
    if (!operands.back())
      return fail(loc, "reads '" + input +
                           "', which no input, weight or node before it is");
  }
  if (custom)
    return readCustom(node, *custom, *outputs, operands, loc);
  Operation *op = createInferred(loc, *name, operands, *attributes);
  if (!op)
    return false;
  auto hasElements = [&](Value x) {
    return nn::tensorType(x).getNumElements() != 0 ||
           fail(loc, "tensors without elements, " +
                         nn::shapeText(nn::shapeOf(x)) + ", are not supported");
  };
  // A concat leaves such parts out.
  if ((!isa<nn::ConcatOp>(op) &&
       !llvm::all_of(op->getOperands(), hasElements)) ||
      !llvm::all_of(op->getResults(), hasElements)) {
    op->destroy();
    return false;
  }
  if (op->getNumResults() != outputs->size()) {
    fail(loc, "has " + Twine(op->getNumResults()) + " outputs, not " +
                  Twine(outputs->size()));
    op->destroy();
    return false;
  }
  builder.insert(op);
  return bindOutputs(*outputs, op->getResults(), loc);
}

bool JsonReader::readCustom(const Json &node, const CustomSpec &spec,
                            ArrayRef<std::string> outputs, ValueRange operands,
                            Location loc) {
  CustomAttributes attributes;
  if (auto found = node.find("attributes"); found != node.end()) {
    if (!found->is_object())
      return fail(loc, "\"attributes\" is no object");
    for (const auto &[key, value] : found->items()) {
      if (value.is_number_integer())
        attributes[key] = value.get<int64_t>();
      else if (value.is_number())
        attributes[key] = value.get<double>();
      else
        return fail(loc, "attribute '" + key + "' cannot be " + printed(value));
    }
  }
  if (outputs.size() > spec.outputs.size())
    return fail(loc, "has " + Twine(spec.outputs.size()) + " outputs, not " +
                         Twine(outputs.size()));
  ArrayRef<CustomSpec> gradients;
  if (options.trains)
    gradients = options.customOps;
  Operation *op =
      createCustom(spec, loc, operands, attributes, gradients, builder);
  return op &&
         bindOutputs(outputs, op->getResults().take_front(outputs.size()), loc);
}

bool JsonReader::bindOutputs(ArrayRef<std::string> outputs, ValueRange results,
                             Location loc) {
  for (auto [output, result] : llvm::zip_equal(outputs, results)) {
    if (lookup(output))
      return fail(loc, "computes '" + output + "', which is there already");
    values[output] = result;
    if (options.onValue)
      options.onValue(output, result);
  }
  return true;
}
