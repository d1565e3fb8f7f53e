//===- CreateCustom.cpp - Create custom operators -------------------------===//

#include "compiler/import/CreateCustom.h"

#include "compiler/import/CustomResolver.h"

using namespace mlir;
using namespace frit;
using namespace frit::importer;

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

FailureOr<DictionaryAttr>
CustomResolver::gradient(StringRef name, ArrayRef<RankedTensorType> inputs,
                         ArrayRef<RankedTensorType> wanted) {
  const CustomSpec *other = findCustom(specs, name);
  if (!other)
    return fail() << "its gradient '" << name
                  << "' is defined by no file of --custom-op (" << spec.path
                  << ")";
  CustomAttributes known;
  for (auto [i, attribute] : llvm::enumerate(spec.attributes)) {
    if (attribute.isReal)
      known[attribute.name] = reals[i];
    else
      known[attribute.name] = values.attributes[i];
  }
  SmallVector<RankedTensorType> operands(inputs);
  operands.push_back(cast<RankedTensorType>(results[0]));
  CustomResolver resolver(*other, loc, known, specs);
  {
    // The node's error alone would not say which operator it is about.
    ScopedDiagnosticHandler add(b.getContext(), [&](Diagnostic &diagnostic) {
      diagnostic << ", in the gradient " << name;
      return failure();
    });
    if (failed(resolver.run(operands)))
      return failure();
  }
  size_t outputs = other->outputs.size();
  if (outputs != wanted.size())
    return fail() << "its gradient '" << name << "' has " << outputs
                  << " outputs for " << wanted.size() << " inputs ("
                  << other->path << ")";
  for (auto [result, input] : llvm::zip(resolver.results, wanted)) {
    auto type = cast<RankedTensorType>(result);
    // An elementwise gradient is summed over broadcast dimensions.
    if (!other->elementwise && type.getShape() != input.getShape())
      return fail() << "its gradient '" << name << "' gives "
                    << nn::shapeText(type.getShape()) << " for an input of "
                    << nn::shapeText(input.getShape()) << " (" << other->path
                    << ")";
  }
  if (resolver.workspaceBytes)
    resolver.attributes.set("workspace_bytes",
                            b.getI64IntegerAttr(resolver.workspaceBytes));
  return resolver.attributes.getDictionary(b.getContext());
}

LogicalResult CustomResolver::addGradients(ArrayRef<RankedTensorType> inputs) {
  if (spec.gradients.empty())
    return success();
  SmallVector<Attribute> all;
  for (auto [i, name] : llvm::enumerate(spec.gradients)) {
    if (name.empty()) {
      all.push_back(b.getUnitAttr());
      continue;
    }
    auto one = gradient(
        name, inputs, spec.gradients.size() == 1 ? inputs : inputs.slice(i, 1));
    if (failed(one))
      return failure();
    all.push_back(*one);
  }
  attributes.set("gradients", b.getArrayAttr(all));
  return success();
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

const CustomSpec *importer::findCustom(ArrayRef<CustomSpec> specs,
                                       StringRef name) {
  auto found = llvm::find_if(
      specs, [&](const CustomSpec &spec) { return spec.name == name; });
  return found == specs.end() ? nullptr : &*found;
}

Operation *importer::createCustom(const CustomSpec &spec, Location loc,
                                  ValueRange inputs,
                                  const CustomAttributes &attributes,
                                  ArrayRef<CustomSpec> specs,
                                  OpBuilder &builder) {
  for (const auto &entry : attributes)
    if (llvm::none_of(spec.attributes, [&](const CustomSpec::Attribute &known) {
          return known.name == entry.getKey();
        })) {
      emitError(loc) << "has the attribute '" << entry.getKey() << "', which "
                     << spec.path << " does not have";
      return nullptr;
    }
  SmallVector<RankedTensorType> types;
  for (Value input : inputs)
    types.push_back(nn::tensorType(input));
  CustomResolver resolver(spec, loc, attributes, specs);
  if (failed(resolver.run(types)) ||
      (!specs.empty() && failed(resolver.addGradients(types))))
    return nullptr;
  SmallVector<NamedAttribute> node;
  for (const auto &entry : attributes) {
    Attribute value =
        std::holds_alternative<int64_t>(entry.second)
            ? Attribute(
                  builder.getI64IntegerAttr(std::get<int64_t>(entry.second)))
            : builder.getF64FloatAttr(std::get<double>(entry.second));
    node.push_back(builder.getNamedAttr(entry.getKey(), value));
  }
  if (!node.empty())
    resolver.attributes.set("node", builder.getDictionaryAttr(node));
  OperationState state(loc,
                       spec.elementwise
                           ? nn::CustomElementwiseOp::getOperationName()
                           : nn::CustomOp::getOperationName(),
                       inputs, resolver.results, resolver.attributes);
  return builder.create(state);
}
