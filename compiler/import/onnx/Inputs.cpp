//===- Inputs.cpp - The inputs and outputs of a model
//------------------------===//

#include "compiler/import/onnx/Importer.h"

#include "dialects/nn/NN.h"

#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace frit;
using namespace frit::importer;
using ::onnx::TypeProto;
using ::onnx::ValueInfoProto;

/// A dimension's size, or nothing where it is open; exporters write open ones
/// as a name, as nothing or as -1.
static std::optional<int64_t>
fixedSize(const ::onnx::TensorShapeProto::Dimension &dim) {
  if (dim.has_dim_value() && dim.dim_value() >= 0)
    return dim.dim_value();
  return std::nullopt;
}

/// A declared shape as people write it: batchx3x224x224.
static std::string
declaredText(const ::onnx::TensorShapeProto &shape,
             llvm::function_ref<std::string(StringRef)> open) {
  std::string result;
  for (const auto &dim : shape.dim()) {
    if (!result.empty())
      result += 'x';
    if (auto size = fixedSize(dim))
      result += std::to_string(*size);
    else
      result += open(text(dim.dim_param()));
  }
  return result;
}

/// "'a', 'b' and 'c'"
static std::string listText(ArrayRef<StringRef> names) {
  std::string result;
  for (auto [i, name] : llvm::enumerate(names)) {
    if (i)
      result += i + 1 == names.size() ? " and " : ", ";
    result += ("'" + name + "'").str();
  }
  return names.empty() ? "none" : result;
}

void Importer::checkOptions(ArrayRef<const ValueInfoProto *> inputs) {
  Location loc = FileLineColLoc::get(&context, path, 0, 0);
  SmallVector<StringRef> names;
  llvm::SetVector<StringRef> dims;
  for (const ValueInfoProto *input : inputs) {
    names.push_back(text(input->name()));
    for (const auto &dim : input->type().tensor_type().shape().dim())
      if (!fixedSize(dim) && !dim.dim_param().empty())
        dims.insert(text(dim.dim_param()));
  }
  // Maps of strings have no order of their own, messages should.
  auto unknown = [&](const auto &map, auto isKnown) {
    SmallVector<StringRef> keys;
    for (StringRef key : map.keys())
      if (!isKnown(key))
        keys.push_back(key);
    llvm::sort(keys);
    failed |= !keys.empty();
    return keys;
  };
  for (StringRef key : unknown(options.inputShapes, [&](StringRef key) {
         return key.empty() ? names.size() == 1
                            : llvm::is_contained(names, key);
       })) {
    if (key.empty())
      emitError(loc) << "-fshape must say which input it means: "
                     << listText(names);
    else
      emitError(loc) << "-fshape names '" << key
                     << "', which is no input; there is " << listText(names);
  }
  for (StringRef key : unknown(options.constInputs, [&](StringRef key) {
         return llvm::is_contained(names, key);
       }))
    emitError(loc) << "-fconst-input names '" << key
                   << "', which is no input; there is " << listText(names);
  for (StringRef key : unknown(
           options.symbols, [&](StringRef key) { return dims.contains(key); }))
    emitError(loc) << "-fshape names '" << key
                   << "', which is no dimension of an input; there is "
                   << listText(dims.getArrayRef());
}

std::optional<SmallVector<int64_t>>
Importer::resolveShape(const ValueInfoProto &input, bool isOnly) {
  Location loc = locate("input '" + input.name() + "'");
  const TypeProto::Tensor &type = input.type().tensor_type();
  auto given = options.inputShapes.find(input.name());
  if (given == options.inputShapes.end() && isOnly)
    given = options.inputShapes.find("");
  bool isGiven = given != options.inputShapes.end();
  if (!type.has_shape()) {
    if (isGiven)
      return given->second;
    emitError(loc) << "has no shape; -fshape=" << text(input.name())
                   << ":SIZExSIZE gives one";
    return std::nullopt;
  }

  SmallVector<int64_t> shape;
  bool isOpen = false;
  for (const auto &dim : type.shape().dim()) {
    auto size = fixedSize(dim);
    auto bound = symbols.find(dim.dim_param());
    if (!size && bound != symbols.end())
      size = bound->second;
    isOpen |= !size;
    shape.push_back(size.value_or(ShapedType::kDynamic));
  }
  std::string declared = declaredText(type.shape(), [](StringRef name) {
    return name.empty() ? "?" : name.str();
  });
  if (isGiven) {
    bool fits = given->second.size() == shape.size();
    for (size_t i = 0; fits && i < shape.size(); ++i)
      fits &= ShapedType::isDynamic(shape[i]) || shape[i] == given->second[i];
    if (!fits) {
      emitError(loc) << "-fshape gives it the shape "
                     << nn::shapeText(given->second) << ", but the model says "
                     << nn::shapeText(shape);
      return std::nullopt;
    }
    return given->second;
  }
  if (isOpen) {
    auto diagnostic = emitError(loc);
    diagnostic << "has the dynamic shape " << declared << "; fix it with ";
    llvm::SetVector<StringRef> names;
    for (const auto &dim : type.shape().dim())
      if (!fixedSize(dim) && !dim.dim_param().empty() &&
          !symbols.contains(dim.dim_param()))
        names.insert(text(dim.dim_param()));
    for (StringRef name : names)
      diagnostic << "-fshape=" << name << "=SIZE or ";
    diagnostic << "-fshape=" << text(input.name()) << ":"
               << declaredText(type.shape(),
                               [](StringRef) { return std::string("SIZE"); });
    return std::nullopt;
  }
  return shape;
}

bool Importer::addInputs() {
  SmallVector<const ValueInfoProto *> inputs;
  llvm::StringSet<> seen;
  bool good = true;
  for (const ValueInfoProto &input : model->graph().input()) {
    if (!seen.insert(input.name()).second) {
      emitError(locate("input '" + input.name() + "'")) << "is there twice";
      good = false;
      continue;
    }
    // Up to IR version 3 weights were inputs too, with a default.
    if (!graph.weights.contains(input.name()))
      inputs.push_back(&input);
  }
  checkOptions(inputs);

  // Sizes that one input's shape gives hold for all of them.
  symbols = options.symbols;
  for (const ValueInfoProto *input : inputs) {
    auto given = options.inputShapes.find(input->name());
    if (given == options.inputShapes.end() && inputs.size() == 1)
      given = options.inputShapes.find("");
    const auto &dims = input->type().tensor_type().shape().dim();
    if (given == options.inputShapes.end() ||
        static_cast<int>(given->second.size()) != dims.size())
      continue;
    for (auto [dim, size] : llvm::zip_equal(dims, given->second))
      if (!fixedSize(dim) && !dim.dim_param().empty())
        symbols.try_emplace(dim.dim_param(), size);
  }

  Block &entry = main.getBody().front();
  for (const ValueInfoProto *input : inputs) {
    Location loc = locate("input '" + input->name() + "'");
    auto fail = [&] {
      good = false;
      graph.failed.insert(input->name());
    };
    auto isTensor =
        input->type().value_case() == ::onnx::TypeProto::kTensorType;
    int32_t dataType = input->type().tensor_type().elem_type();
    Type element = elementType(dataType, context);
    if (!isTensor || !element) {
      if (isTensor)
        emitError(loc) << "element type " << dataTypeName(dataType)
                       << " is not supported";
      else
        emitError(loc) << "is not a tensor, which is not supported";
      fail();
      continue;
    }
    auto file = options.constInputs.find(input->name());
    if (file != options.constInputs.end()) {
      ElementsAttr value = tensors.readFile(file->second, input->name(), loc);
      if (value && value.getElementType() != element) {
        emitError(loc) << "has elements of type " << element << ", but '"
                       << text(file->second) << "' of "
                       << value.getElementType();
        value = {};
      }
      if (value)
        graph.values[input->name()] = nn::ConstantOp::create(
            builder, loc, value, builder.getStringAttr(input->name()));
      else
        fail();
      continue;
    }
    auto shape = resolveShape(*input, inputs.size() == 1);
    if (shape && !countElements(*shape)) {
      emitError(loc) << "has a shape that is out of reach: "
                     << nn::shapeText(*shape);
      shape.reset();
    }
    if (!shape) {
      fail();
      continue;
    }
    graph.values[input->name()] =
        entry.addArgument(RankedTensorType::get(*shape, element), loc);
    inputNames.push_back(builder.getStringAttr(input->name()));
  }
  return good && !failed;
}

/// Tells of a declaration that differs from what was computed; which is no
/// error, as exporters get it wrong.
static void compareDeclared(const ValueInfoProto &output, RankedTensorType type,
                            Location loc) {
  const TypeProto::Tensor &declared = output.type().tensor_type();
  if (!declared.has_shape())
    return;
  bool same = declared.shape().dim_size() == type.getRank();
  for (int64_t d = 0; same && d < type.getRank(); ++d) {
    auto size = fixedSize(declared.shape().dim(d));
    same &= !size || *size == type.getDimSize(d);
  }
  if (!same)
    emitWarning(loc) << "is declared as "
                     << declaredText(declared.shape(),
                                     [](StringRef name) {
                                       return name.empty() ? "?" : name.str();
                                     })
                     << ", but has the shape "
                     << nn::shapeText(type.getShape());
}

bool Importer::addOutputs() {
  SmallVector<Value> results;
  SmallVector<Attribute> names;
  bool good = true;
  for (const ValueInfoProto &output : model->graph().output()) {
    Location loc = locate("output '" + output.name() + "'");
    Value value = graph.values.lookup(output.name());
    if (!value)
      if (auto weight = graph.weights.lookup(output.name()))
        value = readWeight(*weight);
    if (!value) {
      emitError(loc) << "is not computed by any node";
      good = false;
      continue;
    }
    compareDeclared(output, nn::tensorType(value), loc);
    results.push_back(value);
    names.push_back(builder.getStringAttr(output.name()));
  }
  if (good && results.empty()) {
    emitError(FileLineColLoc::get(&context, path, 0, 0))
        << "the model has no outputs";
    return false;
  }
  if (!good)
    return false;
  func::ReturnOp::create(builder, main.getLoc(), results);
  main.setFunctionType(builder.getFunctionType(
      main.getBody().getArgumentTypes(), ValueRange(results).getTypes()));
  for (auto [i, name] : llvm::enumerate(inputNames))
    main.setArgAttr(i, "nn.name", name);
  for (auto [i, name] : llvm::enumerate(names))
    main.setResultAttr(i, "nn.name", name);
  return true;
}
