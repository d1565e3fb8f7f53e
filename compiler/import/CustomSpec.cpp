//===- CustomSpec.cpp - Operators of a user's own -------------------------===//

#include "compiler/import/CustomSpec.h"

#include "compiler/import/Elements.h"
#include "dialects/nn/operators/Custom.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;
using namespace frit;
using namespace frit::importer;

/// Limits of CUDA for a launch on any GPU. Each target checks shared memory.
static constexpr int64_t kMostBlocks[] = {INT32_MAX, 65535, 65535};
static constexpr int64_t kMostThreads[] = {1024, 1024, 64};
static constexpr int64_t kMostThreadsOfBlock = 1024;

namespace {
/// Works out an operator's attributes and results for the tensors of a node.
class Resolver {
public:
  Resolver(const CustomSpec &spec, Location loc,
           const CustomAttributes &attributes, ArrayRef<CustomSpec> specs)
      : spec(spec), loc(loc), given(attributes), specs(specs),
        b(loc.getContext()) {}

  LogicalResult run(ArrayRef<RankedTensorType> inputs);
  LogicalResult addGradients(ArrayRef<RankedTensorType> inputs);

  NamedAttrList attributes;
  SmallVector<Type> results; ///< the last one is the workspace, if there is one
  int64_t workspaceBytes = 0;

private:
  InFlightDiagnostic fail() { return emitError(loc); }
  LogicalResult readAttributes();
  LogicalResult bindTypes(ArrayRef<RankedTensorType> inputs);
  LogicalResult checkInputs(ArrayRef<RankedTensorType> inputs);
  LogicalResult inferOutputs(ArrayRef<RankedTensorType> inputs);
  LogicalResult addConstants();
  LogicalResult addLaunch();
  FailureOr<DictionaryAttr> gradient(StringRef name,
                                     ArrayRef<RankedTensorType> inputs,
                                     ArrayRef<RankedTensorType> wanted);
  nn::CustomAttr customAttr();

  FailureOr<int64_t> evaluate(const SizeExpr &expr, const Twine &what);
  FailureOr<int64_t> inRange(const SizeExpr &expr, const Twine &what,
                             int64_t least, int64_t most);
  Type typeNamed(StringRef name) { return parseType(name, b.getContext()); }

  const CustomSpec &spec;
  Location loc;
  const CustomAttributes &given;
  ArrayRef<CustomSpec> specs;
  Builder b;
  SizeExpr::Values values;
  SmallVector<double> reals; ///< by attribute, 0 for integers
  llvm::StringMap<Type> variables;
  std::vector<SmallVector<int64_t>> shapes; ///< of inputs, then outputs
};
} // namespace

FailureOr<int64_t> Resolver::evaluate(const SizeExpr &expr, const Twine &what) {
  auto value = expr.evaluate(values);
  if (value)
    return *value;
  return fail() << what.str() << ": " << llvm::toString(value.takeError())
                << " (" << spec.path << ")";
}

FailureOr<int64_t> Resolver::inRange(const SizeExpr &expr, const Twine &what,
                                     int64_t least, int64_t most) {
  FailureOr<int64_t> value = evaluate(expr, what);
  if (succeeded(value) && (*value < least || *value > most))
    return fail() << what.str() << ": '" << expr.text() << "' is " << *value
                  << ", not from " << least << " to " << most << " ("
                  << spec.path << ")";
  return value;
}

LogicalResult Resolver::readAttributes() {
  for (const CustomSpec::Attribute &attribute : spec.attributes) {
    auto found = given.find(attribute.name);
    double real = attribute.real.value_or(0);
    int64_t integer = attribute.integer.value_or(0);
    if (found == given.end()) {
      if (!attribute.real && !attribute.integer)
        return fail() << "has no attribute '" << attribute.name << "', and "
                      << spec.path << " gives it no default";
    } else if (const auto *number = std::get_if<int64_t>(&found->second)) {
      integer = *number;
      real = double(*number);
    } else if (attribute.isReal) {
      real = std::get<double>(found->second);
    } else {
      return fail() << "attribute '" << attribute.name
                    << "' must be an integer";
    }
    reals.push_back(attribute.isReal ? real : 0);
    values.attributes.push_back(attribute.isReal ? 0 : integer);
  }
  return success();
}

LogicalResult Resolver::bindTypes(ArrayRef<RankedTensorType> inputs) {
  for (auto [tensor, type] : llvm::zip_equal(spec.inputs, inputs)) {
    Type element = type.getElementType();
    auto variable =
        llvm::find_if(spec.variables, [&](const CustomSpec::Variable &v) {
          return v.name == tensor.type;
        });
    if (variable == spec.variables.end()) {
      if (typeNamed(tensor.type) != element)
        return fail() << "input '" << tensor.name << "' is " << element
                      << ", and the operator takes " << tensor.type << " ("
                      << spec.path << ")";
      continue;
    }
    if (!llvm::is_contained(
            llvm::map_range(variable->types,
                            [&](StringRef name) { return typeNamed(name); }),
            element))
      return fail() << "input '" << tensor.name << "' is " << element
                    << ", and the operator takes "
                    << llvm::join(variable->types, ", ") << " (" << spec.path
                    << ")";
    Type &bound = variables[variable->name];
    if (bound && bound != element)
      return fail() << "input '" << tensor.name << "' is " << element
                    << ", and another input of type " << variable->name
                    << " is " << bound;
    bound = element;
  }
  return success();
}

LogicalResult Resolver::checkInputs(ArrayRef<RankedTensorType> inputs) {
  for (auto [tensor, type] : llvm::zip_equal(spec.inputs, inputs)) {
    if (tensor.like && type.getShape() != inputs[*tensor.like].getShape())
      return fail() << "input '" << tensor.name << "' is "
                    << nn::shapeText(type.getShape()) << ", and input '"
                    << spec.inputs[*tensor.like].name << "' is "
                    << nn::shapeText(inputs[*tensor.like].getShape())
                    << ", which should be the same (" << spec.path << ")";
    if (!tensor.shape)
      continue;
    if (tensor.shape->size() != size_t(type.getRank()))
      return fail() << "input '" << tensor.name << "' has " << type.getRank()
                    << " dimensions, and the operator takes "
                    << tensor.shape->size() << " (" << spec.path << ")";
    for (auto [dim, expr] : llvm::enumerate(*tensor.shape)) {
      if (!expr)
        continue;
      auto size = evaluate(*expr, "shape of input '" + tensor.name + "'");
      if (failed(size))
        return failure();
      if (*size != type.getDimSize(dim))
        return fail() << "input '" << tensor.name << "' is "
                      << nn::shapeText(type.getShape())
                      << ", and its dimension " << dim << " should be '"
                      << expr->text() << "' = " << *size << " (" << spec.path
                      << ")";
    }
  }
  return success();
}

LogicalResult Resolver::inferOutputs(ArrayRef<RankedTensorType> inputs) {
  auto elementOf = [&](const CustomSpec::Tensor &output) {
    auto bound = variables.find(output.type);
    return bound == variables.end() ? typeNamed(output.type) : bound->second;
  };
  if (spec.elementwise) {
    SmallVector<ArrayRef<int64_t>> operands;
    for (RankedTensorType type : inputs)
      operands.push_back(type.getShape());
    auto shape = nn::broadcastShapes(operands);
    if (!shape)
      return fail() << "has inputs whose shapes do not broadcast";
    shapes.push_back(*shape);
  } else {
    for (const CustomSpec::Tensor &output : spec.outputs) {
      SmallVector<int64_t> shape;
      if (output.like) {
        shapes.emplace_back(inputs[*output.like].getShape());
        continue;
      }
      for (const std::optional<SizeExpr> &expr : *output.shape) {
        auto size = inRange(*expr, "shape of output '" + output.name + "'", 1,
                            nn::maxEntry);
        if (failed(size))
          return failure();
        shape.push_back(*size);
      }
      shapes.push_back(std::move(shape));
    }
  }
  for (auto [output, shape] :
       llvm::zip(spec.outputs, ArrayRef(shapes).drop_front(inputs.size()))) {
    if (!countElements(shape))
      return fail() << "output '" << output.name << "' of shape "
                    << nn::shapeText(shape) << " is too large";
    results.push_back(RankedTensorType::get(shape, elementOf(output)));
    values.shapes.push_back(shape);
  }
  return success();
}

LogicalResult Resolver::addConstants() {
  SmallVector<Attribute> constants;
  for (const CustomSpec::Argument &argument : spec.arguments) {
    Type type = typeNamed(argument.type);
    if (argument.real) {
      constants.push_back(b.getFloatAttr(type, reals[*argument.real]));
      continue;
    }
    bool isNarrow = type.isInteger(32);
    auto value =
        inRange(argument.value, "argument", isNarrow ? INT32_MIN : INT64_MIN,
                isNarrow ? INT32_MAX : INT64_MAX);
    if (failed(value))
      return failure();
    constants.push_back(isa<FloatType>(type)
                            ? Attribute(b.getFloatAttr(type, double(*value)))
                            : b.getIntegerAttr(type, *value));
  }
  attributes.set("constants", b.getArrayAttr(constants));
  return success();
}

LogicalResult Resolver::addLaunch() {
  SmallVector<int64_t> grid = {1, 1, 1}, block = {1, 1, 1};
  static constexpr char kDims[] = "xyz";
  for (auto [i, expr] : llvm::enumerate(spec.grid)) {
    auto size =
        inRange(expr, Twine("grid.") + Twine(kDims[i]), 1, kMostBlocks[i]);
    if (failed(size))
      return failure();
    grid[i] = *size;
  }
  for (auto [i, expr] : llvm::enumerate(spec.block)) {
    auto size =
        inRange(expr, Twine("block.") + Twine(kDims[i]), 1, kMostThreads[i]);
    if (failed(size))
      return failure();
    block[i] = *size;
  }
  if (block[0] * block[1] * block[2] > kMostThreadsOfBlock)
    return fail() << "has blocks of " << block[0] * block[1] * block[2]
                  << " threads, and CUDA takes " << kMostThreadsOfBlock
                  << " at most (" << spec.path << ")";
  auto shared = inRange(spec.sharedBytes, "shared memory", 0, INT32_MAX);
  if (failed(shared))
    return failure();
  attributes.set("grid", b.getDenseI64ArrayAttr(grid));
  attributes.set("block", b.getDenseI64ArrayAttr(block));
  attributes.set("shared_bytes", b.getI64IntegerAttr(*shared));
  if (spec.batched)
    attributes.set("batched", b.getUnitAttr());
  if (!spec.workspaceBytes)
    return success();
  constexpr int64_t mostBytes = int64_t(1) << 40;
  auto bytes = inRange(*spec.workspaceBytes, "workspace", 0, mostBytes);
  if (failed(bytes))
    return failure();
  // No tensor is empty.
  workspaceBytes = std::max<int64_t>(*bytes, 1);
  attributes.set("workspace", b.getUnitAttr());
  results.push_back(RankedTensorType::get({workspaceBytes}, b.getI8Type()));
  return success();
}

nn::CustomAttr Resolver::customAttr() {
  MLIRContext *context = b.getContext();
  SmallVector<NamedAttribute> all;
  for (const CustomSpec::Variable &variable : spec.variables) {
    SmallVector<Attribute> types;
    for (const std::string &type : variable.types)
      types.push_back(TypeAttr::get(typeNamed(type)));
    all.push_back(b.getNamedAttr(variable.name, b.getArrayAttr(types)));
  }
  SmallVector<Attribute> types;
  for (const auto *tensors : {&spec.inputs, &spec.outputs})
    for (const CustomSpec::Tensor &tensor : *tensors) {
      Type fixed =
          variables.contains(tensor.type) ? Type() : typeNamed(tensor.type);
      types.push_back(fixed ? Attribute(TypeAttr::get(fixed))
                            : b.getStringAttr(tensor.type));
    }
  auto function = [&](const std::optional<CustomSpec::Function> &of) {
    return of ? nn::UserFunctionAttr::get(context, of->name, of->path, of->text)
              : nn::UserFunctionAttr();
  };
  return nn::CustomAttr::get(context, spec.name, b.getArrayAttr(types),
                             b.getDictionaryAttr(all), function(spec.device),
                             function(spec.host));
}

LogicalResult Resolver::run(ArrayRef<RankedTensorType> inputs) {
  if (inputs.size() != spec.inputs.size())
    return fail() << "takes " << spec.inputs.size()
                  << (spec.inputs.size() == 1 ? " input" : " inputs")
                  << ", but has " << inputs.size() << " (" << spec.path << ")";
  // Pointers into `shapes` stay valid.
  shapes.reserve(inputs.size() + spec.outputs.size());
  for (RankedTensorType type : inputs) {
    shapes.emplace_back(type.getShape());
    values.shapes.push_back(shapes.back());
  }
  if (failed(readAttributes()) || failed(bindTypes(inputs)) ||
      failed(checkInputs(inputs)) || failed(inferOutputs(inputs)) ||
      failed(addConstants()) || (!spec.elementwise && failed(addLaunch())))
    return failure();
  attributes.set("custom", customAttr());
  return success();
}

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

FailureOr<DictionaryAttr>
Resolver::gradient(StringRef name, ArrayRef<RankedTensorType> inputs,
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
  Resolver resolver(*other, loc, known, specs);
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
    // An elementwise one is summed where its input was broadcast.
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

LogicalResult Resolver::addGradients(ArrayRef<RankedTensorType> inputs) {
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
  Resolver resolver(spec, loc, attributes, specs);
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
