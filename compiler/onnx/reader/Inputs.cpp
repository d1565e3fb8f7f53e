//===- Inputs.cpp - Inputs and outputs of a model -------------------------===//

#include "compiler/import/InputShapes.h"
#include "compiler/onnx/reader/Importer.h"

#include "dialects/nn/NN.h"

#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace frit;
using namespace frit::importer;
using ::onnx::TypeProto;
using ::onnx::ValueInfoProto;

/// Returns a dimension's size, or none if it is symbolic. Exporters write those
/// as a name, as nothing or as -1.
static std::optional<int64_t>
fixedSize(const ::onnx::TensorShapeProto::Dimension &dim) {
  if (dim.has_dim_value() && dim.dim_value() >= 0)
    return dim.dim_value();
  return std::nullopt;
}

static SmallVector<DeclaredDim>
declaredDims(const ::onnx::TensorShapeProto &shape) {
  SmallVector<DeclaredDim> dims;
  for (const auto &dim : shape.dim())
    dims.push_back({fixedSize(dim), dim.dim_param()});
  return dims;
}

/// Returns an input's tensor type, or null. An optional input is treated as
/// present.
static const TypeProto::Tensor *tensorType(const TypeProto &type) {
  const TypeProto &own = type.value_case() == TypeProto::kOptionalType
                             ? type.optional_type().elem_type()
                             : type;
  return own.value_case() == TypeProto::kTensorType ? &own.tensor_type()
                                                    : nullptr;
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
    // Up to IR version 3, weights are inputs too, with a default.
    if (!graph.weights.contains(input.name()))
      inputs.push_back(&input);
  }
  std::vector<DeclaredInput> declared;
  for (const ValueInfoProto *input : inputs) {
    const TypeProto::Tensor *type = tensorType(input->type());
    declared.push_back(
        {input->name(), locate("input '" + input->name() + "'"),
         type && type->has_shape(),
         type ? declaredDims(type->shape()) : SmallVector<DeclaredDim>()});
  }
  InputShapes shapes(options, std::move(declared));
  good &= shapes.checkOptions(FileLineColLoc::get(&context, path, 0, 0));

  Block &entry = main.getBody().front();
  for (auto [index, input] : llvm::enumerate(inputs)) {
    Location loc = locate("input '" + input->name() + "'");
    auto fail = [&] {
      good = false;
      graph.failed.insert(input->name());
    };
    const TypeProto::Tensor *declaredType = tensorType(input->type());
    Type element =
        declaredType ? elementType(declaredType->elem_type(), context) : Type();
    if (!element) {
      if (declaredType)
        emitError(loc) << "element type "
                       << dataTypeName(declaredType->elem_type())
                       << " is not supported";
      else
        emitError(loc) << "is not a tensor, which is not supported";
      fail();
      continue;
    }
    if (input->type().has_optional_type())
      emitWarning(loc) << "is optional; the model is compiled for calls that "
                          "give it [-Woptional]";
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
    auto shape = shapes.resolve(index);
    if (!shape) {
      fail();
      continue;
    }
    graph.values[input->name()] =
        entry.addArgument(RankedTensorType::get(*shape, element), loc);
    inputNames.push_back(builder.getStringAttr(input->name()));
    inputSymbols.push_back(shapes.openSymbols(index, context));
  }
  return good && !failed;
}

/// Warns if the declared shape differs from the computed one. Not an error,
/// because exporters get it wrong.
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
                     << declaredText(declaredDims(declared.shape()))
                     << ", but has the shape " << nn::shapeText(type.getShape())
                     << " [-Wshape]";
}

/// As above for the element type; 0 means undeclared.
static void compareDeclaredType(const ValueInfoProto &output,
                                RankedTensorType type, Location loc) {
  int32_t number = output.type().tensor_type().elem_type();
  if (number && elementType(number, *loc.getContext()) != type.getElementType())
    emitWarning(loc) << "is declared with elements of type "
                     << dataTypeName(number) << ", but has "
                     << type.getElementType()
                     << ", which is what it returns [-Wtype]";
}

bool Importer::addOutputs() {
  SmallVector<Value> results;
  SmallVector<Attribute> outputNames;
  llvm::StringSet<> given;
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
    if (isList(value)) {
      emitError(loc) << "is a sequence, which is not supported";
      good = false;
      continue;
    }
    if (!given.insert(output.name()).second) {
      emitError(loc) << "is given twice";
      good = false;
      continue;
    }
    compareDeclaredType(output, nn::tensorType(value), loc);
    // The upper bound of a data-dependent shape is not what is declared.
    if (!isMarked(value))
      compareDeclared(output, nn::tensorType(value), loc);
    results.push_back(value);
    outputNames.push_back(builder.getStringAttr(output.name()));
  }
  if (good && results.empty()) {
    emitError(FileLineColLoc::get(&context, path, 0, 0))
        << "the model has no outputs";
    return false;
  }
  if (!good)
    return false;
  for (const Check &check : checks) {
    results.push_back(check.number);
    outputNames.push_back(builder.getStringAttr(check.message));
  }
  func::ReturnOp::create(builder, main.getLoc(), results);
  main.setFunctionType(builder.getFunctionType(
      main.getBody().getArgumentTypes(), ValueRange(results).getTypes()));
  // Set all at once, because every change copies the list of attributes.
  SmallVector<DictionaryAttr> ofInputs, ofOutputs;
  for (auto [name, symbols] : llvm::zip_equal(inputNames, inputSymbols)) {
    NamedAttrList attributes;
    attributes.set("nn.name", name);
    if (symbols)
      attributes.set("nn.symbols", symbols);
    ofInputs.push_back(attributes.getDictionary(&context));
  }
  for (auto [i, name] : llvm::enumerate(outputNames)) {
    NamedAttrList attributes;
    attributes.set("nn.name", name);
    if (i >= outputNames.size() - checks.size())
      attributes.set("nn.count", builder.getUnitAttr());
    ofOutputs.push_back(attributes.getDictionary(&context));
  }
  main.setAllArgAttrs(ofInputs);
  main.setAllResultAttrs(ofOutputs);
  return true;
}
