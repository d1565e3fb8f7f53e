//===- Inputs.cpp - Inputs and outputs of a model -------------------------===//

#include "compiler/import/CacheShapes.h"
#include "compiler/import/InputShapes.h"
#include "compiler/onnx/reader/Importer.h"

#include "dialects/nn/NN.h"

#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace frit;
using namespace frit::importer;
using ::onnx::TypeProto;
using ::onnx::ValueInfoProto;

/// Returns a dimension's size, or none if it is symbolic. Exporters write
/// symbolic sizes as a name, as nothing or as -1.
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

namespace {

/// A tensor that a model takes: an input, or an element of one that is a
/// sequence.
struct Taken {
  const ValueInfoProto *input;
  std::string name;
  const TypeProto::Tensor *type; ///< null if it is no tensor
};

} // namespace

static const TypeProto &withoutOptional(const TypeProto &type) {
  return type.has_optional_type() ? type.optional_type().elem_type() : type;
}

/// Adds the `count` tensors of an input to `all`.
static void addTensors(const ValueInfoProto &input, int64_t count,
                       std::vector<Taken> &all) {
  const TypeProto *type = &withoutOptional(input.type());
  bool isSequence = type->has_sequence_type();
  if (isSequence)
    type = &type->sequence_type().elem_type();
  for (int64_t i = 0; i < count; ++i)
    all.push_back(
        {&input,
         isSequence ? input.name() + "." + std::to_string(i) : input.name(),
         type->has_tensor_type() ? &type->tensor_type() : nullptr});
}

/// Returns the shape that the model declares for a tensor.
static DeclaredInput declared(const Taken &taken, Location loc) {
  DeclaredInput input{
      taken.name, loc, taken.type && taken.type->has_shape(), {}};
  if (taken.type)
    input.dims = declaredDims(taken.type->shape());
  // Elements of a sequence may differ in a size that has a name.
  if (taken.name != taken.input->name())
    for (DeclaredDim &dim : input.dims)
      dim.symbol.clear();
  return input;
}

/// Maximum tensors of a sequence.
static constexpr int64_t kMostTensors = 4096;

/// Returns how many tensors an input has: one, or what -felements says about
/// sequences and optional inputs. None after an error.
std::optional<int64_t> Importer::countTensors(const ValueInfoProto &input) {
  Location loc = locate("input '" + input.name() + "'");
  bool isSequence = withoutOptional(input.type()).has_sequence_type(),
       isOptional = input.type().has_optional_type();
  auto found = options.elements.find(input.name());
  if (found == options.elements.end()) {
    if (isSequence) {
      emitError(loc) << "is a sequence; -felements=" << text(input.name())
                     << ":NUMBER says how many tensors it has";
      return std::nullopt;
    }
    if (isOptional)
      emitWarning(loc) << "is optional; the model is compiled for calls that "
                          "give it, and by -felements="
                       << text(input.name()) << ":0 for others [-Woptional]";
    return 1;
  }
  int64_t most = isSequence ? kMostTensors : isOptional ? 1 : 0;
  if (found->second <= most)
    return found->second;
  auto diagnostic = emitError(loc);
  diagnostic << "cannot have " << found->second << " tensors: it is ";
  if (isSequence)
    diagnostic << "a sequence of at most " << kMostTensors;
  else
    diagnostic << (isOptional ? "optional" : "no sequence");
  return std::nullopt;
}

bool Importer::addInputs() {
  std::vector<Taken> all;
  llvm::StringMap<int64_t> counts;
  llvm::StringSet<> seen;
  bool good = true;
  auto isNew = [&](const std::string &name) {
    if (seen.insert(name).second)
      return true;
    emitError(locate("input '" + name + "'")) << "is there twice";
    return good = false;
  };
  for (const ValueInfoProto &input : model->graph().input()) {
    if (!isNew(input.name()))
      continue;
    // Up to IR version 3, weights are inputs too, with a default.
    if (graph.weights.contains(input.name()))
      continue;
    auto count = countTensors(input);
    if (!count) {
      good = false;
      graph.failed.insert(input.name());
      continue;
    }
    addTensors(input, *count, all);
    counts[input.name()] = *count;
  }
  std::vector<DeclaredInput> inputs;
  for (const Taken &taken : all) {
    if (taken.name != taken.input->name())
      isNew(taken.name);
    inputs.push_back(declared(taken, locate("input '" + taken.name + "'")));
  }
  InputShapes shapes(options, std::move(inputs));
  good &= shapes.checkOptions(FileLineColLoc::get(&context, path, 0, 0));

  llvm::StringMap<Results> values;
  for (auto [index, taken] : llvm::enumerate(all)) {
    if (Value value = addInput(taken.name, taken.type, shapes, index)) {
      values[taken.input->name()].push_back(value);
      continue;
    }
    good = false;
    graph.failed.insert(taken.input->name());
  }
  for (const ValueInfoProto &input : model->graph().input()) {
    if (!counts.contains(input.name()) || graph.failed.contains(input.name()))
      continue;
    Results &own = values[input.name()];
    // An optional input without a value is null, as one that a node omits.
    graph.values[input.name()] =
        withoutOptional(input.type()).has_sequence_type()
            ? listOf(builder, locate("input '" + input.name() + "'"), own)
        : own.empty() ? Value()
                      : own.front();
  }
  for (const auto &[name, count] : options.elements)
    if (!counts.contains(name) && !graph.failed.contains(name)) {
      emitError(FileLineColLoc::get(&context, path, 0, 0))
          << "-felements names '" << name << "', which is no input";
      good = false;
    }
  return good && !failed;
}

/// Adds an argument of @main for a tensor that the model takes, or its
/// constant; null after an error.
Value Importer::addInput(const std::string &name, const TypeProto::Tensor *type,
                         const InputShapes &shapes, size_t index) {
  Location loc = locate("input '" + name + "'");
  if (!type) {
    emitError(loc) << "is not a tensor, which is not supported";
    return {};
  }
  auto file = options.constInputs.find(name);
  bool isString = type->elem_type() == ::onnx::TensorProto::STRING;
  if (isString && file != options.constInputs.end())
    return readStringsFile(file->second, loc);
  if (isString && options.trains) {
    emitError(loc) << "is of strings, which a model that trains does not take; "
                      "give it their numbers, as from an encoder fitted on "
                      "codes";
    return {};
  }
  Type element =
      isString ? builder.getI64Type() : elementType(type->elem_type(), context);
  if (!element) {
    emitError(loc) << "element type " << dataTypeName(type->elem_type())
                   << " is not supported";
    return {};
  }
  if (file != options.constInputs.end() &&
      (file->second == kTrue || file->second == kFalse))
    return nn::ConstantOp::create(
        builder, loc,
        DenseElementsAttr::get(RankedTensorType::get({1}, builder.getI1Type()),
                               file->second == kTrue),
        builder.getStringAttr(name));
  if (file != options.constInputs.end()) {
    ElementsAttr value = tensors.readFile(file->second, name, loc);
    if (value && value.getElementType() != element) {
      emitError(loc) << "has elements of type " << element << ", but '"
                     << text(file->second) << "' of " << value.getElementType();
      return {};
    }
    if (!value)
      return {};
    return nn::ConstantOp::create(builder, loc, value,
                                  builder.getStringAttr(name));
  }
  auto shape = shapes.resolve(index);
  if (!shape)
    return {};
  inputNames.push_back(builder.getStringAttr(name));
  inputSymbols.push_back(shapes.openSymbols(index, context));
  inputKinds.push_back(isString ? InputKind::strings : InputKind::numbers);
  auto whole = RankedTensorType::get(*shape, element);
  Value argument = main.getBody().front().addArgument(whole, loc);
  if (isString)
    return stringsOf(builder, loc, argument);
  // The empty cache of a first decoding step has only one value.
  if (whole.getNumElements() == 0)
    return nn::ConstantOp::create(builder, loc,
                                  cast<ElementsAttr>(DenseElementsAttr::get(
                                      whole, ArrayRef<Attribute>())),
                                  StringAttr());
  return argument;
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
  SmallVector<bool> areStrings;
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
    auto add = [&](const std::string &name, Value result) {
      if (!given.insert(name).second) {
        emitError(locate("output '" + name + "'")) << "is given twice";
        return good = false;
      }
      areStrings.push_back(isStrings(result));
      results.push_back(isStrings(result) ? idsOf(result) : result);
      outputNames.push_back(builder.getStringAttr(name));
      return true;
    };
    if (isStrings(value) && options.trains) {
      emitError(loc) << "is of strings, which a model that trains does not "
                        "give";
      good = false;
      continue;
    }
    if (isList(value)) {
      for (auto [i, element] :
           llvm::enumerate(value.getDefiningOp()->getOperands()))
        add(output.name() + "." + std::to_string(i), element);
      continue;
    }
    if (!add(output.name(), value))
      continue;
    if (isStrings(value))
      value = idsOf(value);
    else
      compareDeclaredType(output, nn::tensorType(value), loc);
    // A declared shape says nothing of a data-dependent shape's upper bound.
    if (!isMarked(value))
      compareDeclared(output, nn::tensorType(value), loc);
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
  areStrings.resize(results.size());
  describeInterface(outputNames, areStrings);
  return true;
}

/// Sets the attributes of @main's arguments and results.
void Importer::describeInterface(ArrayRef<Attribute> outputNames,
                                 ArrayRef<bool> areStrings) {
  // Set all at once, because every change copies the list of attributes.
  auto describe = [&](Attribute name, StringRef key, Attribute value,
                      Attribute indices, StringRef kind) {
    NamedAttrList attributes;
    attributes.set("nn.name", name);
    if (value)
      attributes.set(key, value);
    if (indices)
      attributes.set("nn.indices", indices);
    if (!kind.empty())
      attributes.set(kind, builder.getUnitAttr());
    return attributes.getDictionary(&context);
  };
  static constexpr StringLiteral kinds[] = {"", "nn.strings", "nn.computed"};
  SmallVector<DictionaryAttr> ofInputs, ofOutputs;
  for (auto [name, symbols, kind, argument] : llvm::zip_equal(
           inputNames, inputSymbols, inputKinds, main.getArguments()))
    ofInputs.push_back(describe(name, "nn.symbols", symbols,
                                indexUses.attrOf(argument),
                                kinds[static_cast<int>(kind)]));
  size_t outputs = outputNames.size() - checks.size();
  for (auto [i, name] : llvm::enumerate(outputNames))
    ofOutputs.push_back(i < outputs
                            ? describe(name, "", nullptr, nullptr,
                                       areStrings[i] ? kinds[1] : kinds[0])
                            : describe(name, "nn.count", builder.getUnitAttr(),
                                       checks[i - outputs].indices, ""));
  main.setAllArgAttrs(ofInputs);
  main.setAllResultAttrs(ofOutputs);
  if (stringSteps.empty() && !llvm::is_contained(areStrings, true) &&
      !llvm::is_contained(inputKinds, InputKind::strings))
    return;
  SmallVector<StringRef> texts(strings->size());
  for (const auto &entry : *strings)
    texts[entry.second] = entry.first();
  main->setAttr("nn.vocabulary", builder.getStrArrayAttr(texts));
  if (!stringSteps.empty())
    main->setAttr("nn.string_steps", builder.getArrayAttr(stringSteps));
}
