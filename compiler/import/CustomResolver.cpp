//===- CustomResolver.cpp - Resolve the custom operator of a node ---------===//

#include "compiler/import/CustomResolver.h"

#include "compiler/import/Elements.h"

using namespace mlir;
using namespace frit;
using namespace frit::importer;

/// Limits of CUDA for a launch on any GPU. Each target checks shared memory.
static constexpr int64_t kMostBlocks[] = {INT32_MAX, 65535, 65535};
static constexpr int64_t kMostThreads[] = {1024, 1024, 64};
static constexpr int64_t kMostThreadsOfBlock = 1024;

FailureOr<int64_t> CustomResolver::evaluate(const SizeExpr &expr,
                                            const Twine &what) {
  auto value = expr.evaluate(values);
  if (value)
    return *value;
  return fail() << what.str() << ": " << llvm::toString(value.takeError())
                << " (" << spec.path << ")";
}

FailureOr<int64_t> CustomResolver::inRange(const SizeExpr &expr,
                                           const Twine &what, int64_t least,
                                           int64_t most) {
  FailureOr<int64_t> value = evaluate(expr, what);
  if (succeeded(value) && (*value < least || *value > most))
    return fail() << what.str() << ": '" << expr.text() << "' is " << *value
                  << ", not from " << least << " to " << most << " ("
                  << spec.path << ")";
  return value;
}

LogicalResult CustomResolver::readAttributes() {
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

LogicalResult CustomResolver::bindTypes(ArrayRef<RankedTensorType> inputs) {
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

LogicalResult CustomResolver::checkInputs(ArrayRef<RankedTensorType> inputs) {
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

LogicalResult CustomResolver::inferOutputs(ArrayRef<RankedTensorType> inputs) {
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

LogicalResult CustomResolver::addConstants() {
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

LogicalResult CustomResolver::addLaunch() {
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
  // Tensors cannot be empty.
  workspaceBytes = std::max<int64_t>(*bytes, 1);
  attributes.set("workspace", b.getUnitAttr());
  results.push_back(RankedTensorType::get({workspaceBytes}, b.getI8Type()));
  return success();
}

nn::CustomAttr CustomResolver::customAttr() {
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

LogicalResult CustomResolver::run(ArrayRef<RankedTensorType> inputs) {
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
