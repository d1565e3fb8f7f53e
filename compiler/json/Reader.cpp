//===- Reader.cpp - Read JSON graphs --------------------------------------===//

#include "compiler/json/Reader.h"

#include "compiler/import/CreateOp.h"
#include "compiler/json/Counts.h"
#include "compiler/json/Parse.h"
#include "compiler/json/Safetensors.h"
#include "compiler/onnx/reader/Tensors.h"

#include "frit/dtype.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Verifier.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace frit;
using namespace frit::importer;
using Json = nlohmann::ordered_json;

std::string importer::printed(const Json &value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string importer::textAt(const Json &object, const char *key) {
  auto found = object.is_object() ? object.find(key) : object.end();
  return found != object.end() && found->is_string() ? found->get<std::string>()
                                                     : std::string();
}

Type importer::elementNamed(StringRef name, MLIRContext &context) {
  bool known =
      artifact::dtypeWith(&artifact::DTypeRow::ir, name) != artifact::DType(0);
  return known ? parseType(name, &context) : Type();
}

const Json *JsonReader::list(const Json &object, const char *key, bool needed,
                             Location loc, bool &good) {
  auto found = object.find(key);
  if (found != object.end() && found->is_array())
    return &*found;
  if (needed || found != object.end())
    good = fail(loc, Twine("needs a list of \"") + key + "\"");
  return nullptr;
}

std::optional<SmallVector<std::string>>
JsonReader::names(const Json &object, const char *key, Location loc) {
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

std::optional<DeclaredInput> JsonReader::declare(const Json &input,
                                                 size_t index) {
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
        good = fail(loc, "its shape has " + printed(dim) +
                             ", which is neither a size nor a name");
    }
  return good ? std::optional(std::move(declared)) : std::nullopt;
}

bool JsonReader::readInputs(const Json &graph) {
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

bool JsonReader::openWeights(const Json &graph) {
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

Value JsonReader::lookup(StringRef name) {
  if (Value value = values.lookup(name))
    return value;
  ElementsAttr weight = weights.lookup(name);
  if (!weight)
    return {};
  bool isNamed = !name.starts_with("%");
  Value value =
      createWeight(builder, main.getBody().front(), lastWeight,
                   locate("weight '" + name + "'"), weight,
                   isNamed ? builder.getStringAttr(name) : StringAttr());
  // A single number may be an epsilon, unless the user names it.
  if (options.trains && isNamed && isa<FloatType>(weight.getElementType()) &&
      (weight.getShapedType().getRank() > 0 ||
       (options.namesWeight && options.namesWeight(name).value_or(false))))
    for (StringRef mark : {"nn.trains", "nn.presumed"})
      value.getDefiningOp()->setAttr(mark, builder.getBoolAttr(true));
  return values[name] = value;
}

bool JsonReader::readOutputs(const Json &graph) {
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
  checkIndices(attributes, results);
  func::ReturnOp::create(builder, main.getLoc(), results);
  main.setFunctionType(builder.getFunctionType(
      main.getBody().getArgumentTypes(), ValueRange(results).getTypes()));
  main.setAllResultAttrs(attributes);
  return true;
}

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

/// Puts the members of a function in the place of "functions".
bool JsonReader::chooseFunction(Json &graph) {
  Json functions = std::move(graph["functions"]);
  graph.erase("functions");
  Json &function = functions[options.graph];
  Location loc = locate("function '" + options.graph + "'");
  if (!function.is_object())
    return fail(loc, "is no graph {\"inputs\": …, \"nodes\": …, …}");
  for (auto &[key, value] : function.items()) {
    if (graph.contains(key))
      return fail(loc, "has \"" + key +
                           "\", and so has the file that it is in, for all of "
                           "its functions");
    graph[key] = std::move(value);
  }
  return true;
}

std::vector<std::string> frit::listJsonFunctions(StringRef file) {
  std::vector<std::string> names;
  // Most graphs have none, and the import parses them anyway.
  if (!file.contains("\"functions\""))
    return names;
  Json graph = parseJson(file);
  if (graph.is_object())
    if (auto found = graph.find("functions");
        found != graph.end() && found->is_object())
      for (auto &[name, function] : found->items())
        names.push_back(name);
  return names;
}

OwningOpRef<ModuleOp> JsonReader::run(StringRef file) {
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
    emitError(loc) << "has version " << printed(graph["frit"])
                   << " of the format, but only 1 is known";
    return {};
  }
  if (!options.graph.empty() && !chooseFunction(graph))
    return {};
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
  return JsonReader(path, options, context).run(file.getBuffer());
}
