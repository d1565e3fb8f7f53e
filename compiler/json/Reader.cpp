//===- Reader.cpp - Read JSON graphs --------------------------------------===//

#include "compiler/import/CreateCustom.h"
#include "compiler/import/CreateOp.h"
#include "compiler/import/Import.h"
#include "compiler/import/InputShapes.h"
#include "compiler/json/Counts.h"
#include "compiler/json/Parse.h"
#include "compiler/json/Safetensors.h"
#include "compiler/onnx/reader/Tensors.h"

#include "dialects/nn/NN.h"

#include "frit/dtype.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Verifier.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace frit;
using namespace frit::importer;
using Json = nlohmann::ordered_json;

namespace {

class Reader {
public:
  Reader(StringRef path, const ImportOptions &options, MLIRContext &context)
      : path(path), options(options), context(context), builder(&context) {}

  OwningOpRef<ModuleOp> run(StringRef file);

private:
  Location locate(const Twine &what) {
    return NameLoc::get(builder.getStringAttr(what),
                        FileLineColLoc::get(&context, path, 0, 0));
  }
  bool fail(Location loc, const Twine &what) {
    emitError(loc) << what;
    return false;
  }

  /// Returns a member that must be a list, or null if it is missing and not
  /// `needed`.
  const Json *list(const Json &object, const char *key, bool needed,
                   Location loc, bool &good);
  std::optional<SmallVector<std::string>> names(const Json &object,
                                                const char *key, Location loc);

  bool readInputs(const Json &graph);
  std::optional<DeclaredInput> declare(const Json &input, size_t index);
  bool openWeights(const Json &graph);
  bool readNode(const Json &node, size_t index);
  bool readCustom(const Json &node, const CustomSpec &spec,
                  ArrayRef<std::string> outputs, ValueRange operands,
                  Location loc);
  bool bindOutputs(ArrayRef<std::string> outputs, ValueRange results,
                   Location loc);
  std::optional<SmallVector<NamedAttribute>>
  readAttributes(const Json &node, RegisteredOperationName name, Location loc);
  SmallVector<Attribute> forms(const Json &value);
  bool readOutputs(const Json &graph);

  /// Returns the value of `name`, reading weights at first use; null if
  /// unknown.
  Value lookup(StringRef name);

  std::string path;
  const ImportOptions &options;
  MLIRContext &context;
  OpBuilder builder;
  func::FuncOp main;
  Operation *lastWeight = nullptr;
  llvm::StringMap<Value> values;
  llvm::StringMap<ElementsAttr> weights;
};

} // namespace

/// Formats a value for messages.
static std::string text(const Json &value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// Returns a member that is a string, or "".
static std::string textAt(const Json &object, const char *key) {
  auto found = object.is_object() ? object.find(key) : object.end();
  return found != object.end() && found->is_string() ? found->get<std::string>()
                                                     : std::string();
}

static Type elementNamed(StringRef name, MLIRContext &context) {
  bool known =
      artifact::dtypeWith(&artifact::DTypeRow::ir, name) != artifact::DType(0);
  return known ? parseType(name, &context) : Type();
}

const Json *Reader::list(const Json &object, const char *key, bool needed,
                         Location loc, bool &good) {
  auto found = object.find(key);
  if (found != object.end() && found->is_array())
    return &*found;
  if (needed || found != object.end())
    good = fail(loc, Twine("needs a list of \"") + key + "\"");
  return nullptr;
}

std::optional<SmallVector<std::string>>
Reader::names(const Json &object, const char *key, Location loc) {
  bool good = true;
  SmallVector<std::string> result;
  if (const Json *all = list(object, key, /*needed=*/true, loc, good))
    for (const Json &name : *all) {
      if (!name.is_string() || name.get<std::string>().empty())
        good =
            fail(loc, Twine("\"") + key + "\" has an entry that is not a name");
      else
        result.push_back(name.get<std::string>());
    }
  return good ? std::optional(result) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Inputs, weights and outputs
//===----------------------------------------------------------------------===//

std::optional<DeclaredInput> Reader::declare(const Json &input, size_t index) {
  std::string name = textAt(input, "name");
  Location loc = locate("input '" + name + "'");
  if (name.empty()) {
    fail(locate("input " + Twine(index)), "needs a \"name\"");
    return std::nullopt;
  }
  DeclaredInput declared{name, loc, input.contains("shape"), {}};
  bool good = true;
  if (const Json *shape = list(input, "shape", /*needed=*/false, loc, good))
    for (const Json &dim : *shape) {
      if (dim.is_number_unsigned() && dim.get<uint64_t>() <= INT64_MAX)
        declared.dims.push_back({dim.get<int64_t>(), ""});
      else if (dim.is_string())
        declared.dims.push_back({std::nullopt, dim.get<std::string>()});
      else
        good = fail(loc, "its shape has " + text(dim) +
                             ", which is neither a size nor a name");
    }
  return good ? std::optional(std::move(declared)) : std::nullopt;
}

bool Reader::readInputs(const Json &graph) {
  bool good = true;
  const Json *inputs =
      list(graph, "inputs", /*needed=*/false, locate("graph"), good);
  if (!inputs)
    return good;
  std::vector<DeclaredInput> declared;
  for (auto [index, input] : llvm::enumerate(*inputs)) {
    auto one = declare(input, index);
    good &= one.has_value();
    if (one)
      declared.push_back(*one);
  }
  if (!good)
    return false;
  InputShapes shapes(options, declared);
  Location file = FileLineColLoc::get(&context, path, 0, 0);
  good = shapes.checkOptions(file);
  if (!options.elements.empty()) {
    emitError(file) << "-felements is for sequences and optional inputs, which "
                       "a JSON graph does not have";
    good = false;
  }
  TensorReader files(nullptr, path, options, context);
  SmallVector<DictionaryAttr> attributes;
  for (auto [index, input] : llvm::enumerate(declared)) {
    std::string type = textAt((*inputs)[index], "type");
    Type element = elementNamed(type, context);
    if (!element || !isa<FloatType, IntegerType>(element)) {
      good = fail(input.loc, "its \"type\" is '" + type +
                                 "', which is no element type such as f32, "
                                 "i64, ui8 or i1");
      continue;
    }
    if (values.contains(input.name)) {
      good = fail(input.loc, "is there twice");
      continue;
    }
    auto file = options.constInputs.find(input.name);
    if (file != options.constInputs.end()) {
      ElementsAttr value = files.readFile(file->second, input.name, input.loc);
      good &= bool(value);
      if (value && value.getElementType() != element)
        good =
            fail(input.loc, "'" + file->second +
                                "' has elements of another type than " + type);
      else if (value)
        values[input.name] = nn::ConstantOp::create(
            builder, input.loc, value, builder.getStringAttr(input.name));
      continue;
    }
    auto shape = shapes.resolve(index);
    good &= shape.has_value();
    if (!shape)
      continue;
    values[input.name] = main.getBody().front().addArgument(
        RankedTensorType::get(*shape, element), input.loc);
    NamedAttrList attrs;
    attrs.set("nn.name", builder.getStringAttr(input.name));
    if (ArrayAttr symbols = shapes.openSymbols(index, context))
      attrs.set("nn.symbols", symbols);
    attributes.push_back(attrs.getDictionary(&context));
  }
  main.setFunctionType(builder.getFunctionType(
      main.getBody().getArgumentTypes(), main.getResultTypes()));
  main.setAllArgAttrs(attributes);
  return good;
}

bool Reader::openWeights(const Json &graph) {
  if (!graph.contains("weights"))
    return true;
  std::string name = textAt(graph, "weights");
  Location loc = locate("weights '" + name + "'");
  // A model must not read files outside of its folder.
  bool escapes =
      name.empty() || llvm::sys::path::is_absolute(name) ||
      llvm::is_contained(llvm::make_range(llvm::sys::path::begin(name),
                                          llvm::sys::path::end(name)),
                         StringRef(".."));
  if (escapes)
    return fail(loc, "is not a file in the model's folder");
  SmallString<256> file = llvm::sys::path::parent_path(path);
  llvm::sys::path::append(file, name);
  if (!llvm::sys::fs::is_regular_file(file))
    return fail(loc, "cannot be read: there is no such file");
  auto buffer = llvm::MemoryBuffer::getFile(file, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer)
    return fail(loc, "cannot be read: " + buffer.getError().message());
  if (options.onMap)
    options.onMap(file, (*buffer)->getBuffer());
  auto read = readSafetensors(std::move(*buffer), loc);
  if (read)
    weights = std::move(*read);
  return read.has_value();
}

Value Reader::lookup(StringRef name) {
  if (Value value = values.lookup(name))
    return value;
  ElementsAttr weight = weights.lookup(name);
  if (!weight)
    return {};
  return values[name] =
             createWeight(builder, main.getBody().front(), lastWeight,
                          locate("weight '" + name + "'"), weight,
                          name.starts_with("%") ? StringAttr()
                                                : builder.getStringAttr(name));
}

bool Reader::readOutputs(const Json &graph) {
  auto outputs = names(graph, "outputs", locate("graph"));
  if (!outputs)
    return false;
  if (outputs->empty())
    return fail(locate("graph"), "has no outputs");
  SmallVector<Value> results;
  SmallVector<DictionaryAttr> attributes;
  llvm::StringSet<> given;
  for (const std::string &name : *outputs) {
    if (!given.insert(name).second)
      return fail(locate("output '" + name + "'"), "is given twice");
    Value value = lookup(name);
    if (!value)
      return fail(locate("output '" + name + "'"),
                  "is not computed by any node");
    results.push_back(value);
    attributes.push_back(builder.getDictionaryAttr(
        builder.getNamedAttr("nn.name", builder.getStringAttr(name))));
  }
  if (graph.contains("counts")) {
    auto counts = names(graph, "counts", locate("graph"));
    if (!counts ||
        !addExtents(graph, counts->size(), path, attributes, results))
      return false;
    for (const std::string &name : *counts)
      if (!addCount(name, lookup(name), path, attributes, results))
        return false;
  }
  func::ReturnOp::create(builder, main.getLoc(), results);
  main.setFunctionType(builder.getFunctionType(
      main.getBody().getArgumentTypes(), ValueRange(results).getTypes()));
  main.setAllResultAttrs(attributes);
  return true;
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

/// Returns the possible attributes for a value; the operator's definition
/// selects one.
SmallVector<Attribute> Reader::forms(const Json &value) {
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
Reader::readAttributes(const Json &node, RegisteredOperationName name,
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
      good = fail(loc, "attribute '" + key + "' cannot be " + text(value));
  }
  return good ? std::optional(result) : std::nullopt;
}

bool Reader::readNode(const Json &node, size_t index) {
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
  if (op->getNumResults() != outputs->size()) {
    fail(loc, "has " + Twine(op->getNumResults()) + " outputs, not " +
                  Twine(outputs->size()));
    op->destroy();
    return false;
  }
  builder.insert(op);
  return bindOutputs(*outputs, op->getResults(), loc);
}

bool Reader::readCustom(const Json &node, const CustomSpec &spec,
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
        return fail(loc, "attribute '" + key + "' cannot be " + text(value));
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

bool Reader::bindOutputs(ArrayRef<std::string> outputs, ValueRange results,
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

OwningOpRef<ModuleOp> Reader::run(StringRef file) {
  Location loc = FileLineColLoc::get(&context, path, 0, 0);
  Json graph = parseJson(file);
  if (graph.is_discarded()) {
    fail(loc, whyDiscarded(file));
    return {};
  }
  if (!graph.is_object() || !graph.contains("frit")) {
    emitError(loc)
        << "is not a graph for frit, which begins {\"frit\": 1, ...}";
    return {};
  }
  if (graph["frit"] != 1) {
    emitError(loc) << "has version " << text(graph["frit"])
                   << " of the format, but only 1 is known";
    return {};
  }
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  main = func::FuncOp::create(loc, "main", builder.getFunctionType({}, {}));
  module->push_back(main);
  builder.setInsertionPointToEnd(main.addEntryBlock());

  // Report wrong inputs and weights in one run.
  bool good = readInputs(graph);
  good &= openWeights(graph);
  const Json *nodes =
      list(graph, "nodes", /*needed=*/true, locate("graph"), good);
  if (!good)
    return {};
  for (auto [index, node] : llvm::enumerate(*nodes))
    if (!readNode(node, index))
      return {};
  if (!readOutputs(graph) || failed(verify(*module)))
    return {};
  return module;
}

OwningOpRef<ModuleOp> frit::importJson(llvm::MemoryBufferRef file,
                                       StringRef path,
                                       const ImportOptions &options,
                                       MLIRContext &context) {
  return Reader(path, options, context).run(file.getBuffer());
}
