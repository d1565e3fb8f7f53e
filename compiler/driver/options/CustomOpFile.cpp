//===- CustomOpFile.cpp - Read a file of --custom-op ----------------------===//

#include "compiler/driver/options/CustomOpFile.h"

#include "compiler/driver/ModelInput.h"
#include "compiler/driver/OutputFile.h"
#include "compiler/driver/options/JsonObject.h"

#include "frit/dtype.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"

using namespace frit;
using llvm::StringRef;
using Json = JsonObject::Json;

namespace {
/// Reads one operator. The first error stays.
class Reader {
public:
  Reader(StringRef path, std::string &error) : path(path), error(error) {
    spec.path = path.str();
  }

  CustomSpec run(const Json &json);

private:
  void readName(JsonObject &in);
  void readVariables(JsonObject &in);
  void readAttributes(JsonObject &in);
  void readTensors(JsonObject &in, const char *key,
                   std::vector<CustomSpec::Tensor> &tensors);
  void readShapes(JsonObject &in, const char *key,
                  std::vector<CustomSpec::Tensor> &tensors);
  void readArguments(JsonObject &in);
  void readArgument(const Json &json, const std::string &place);
  void readFunctions(JsonObject &in);
  void readFunction(JsonObject &in,
                    std::optional<CustomSpec::Function> &function);
  void readLaunch(JsonObject &in);
  void readGradient(JsonObject &in);

  void fail(StringRef place, const llvm::Twine &why) {
    if (error.empty())
      error = ("'" + place + "' " + why).str();
  }
  std::string typeNamed(StringRef name, const std::string &place);
  /// Adds a name that expressions may use.
  void addName(const std::string &name, const std::string &place);
  SizeExpr expression(const Json &json, const std::string &place);
  std::vector<SizeExpr> dimensions(JsonObject &in, const char *key);

  CustomSpec spec;
  std::string path;
  std::string &error;
  std::string domain;
  SizeExpr::Names names;
  llvm::SmallVector<std::string> taken;
};
} // namespace

static bool isIdentifier(StringRef text) {
  return !text.empty() && !llvm::isDigit(text[0]) &&
         llvm::all_of(text,
                      [](char c) { return llvm::isAlnum(c) || c == '_'; });
}

void Reader::readName(JsonObject &in) {
  std::string name;
  in.neededText("domain", domain);
  in.neededText("name", name);
  if (domain == "ai.onnx")
    in.fail("domain", "must not be ONNX's own");
  spec.name = domain + "::" + name;
}

std::string Reader::typeNamed(StringRef name, const std::string &place) {
  using artifact::DTypeRow;
  const DTypeRow *row =
      artifact::findDType(artifact::dtypeWith(&DTypeRow::name, name));
  StringRef known = row ? row->name : "";
  // Types below a byte and floats of 8 bits are only stored.
  if (!row || known.starts_with("f8") || known.starts_with("f4") ||
      known.ends_with("4") != known.ends_with("64") || known == "i2" ||
      known == "u2") {
    fail(place, "is '" + name +
                    "', neither a variable of 'types' nor one of f32, f64, "
                    "f16, bf16, i8 to i64, u8 to u64 and bool");
    return "f32";
  }
  return row->ir;
}

void Reader::readVariables(JsonObject &in) {
  const Json *types = in.find("types");
  if (!types)
    return;
  if (!types->is_object())
    return in.fail("types", "must be an object");
  for (const auto &[name, list] : types->items()) {
    std::string place = "types." + name;
    CustomSpec::Variable &variable = spec.variables.emplace_back();
    variable.name = name;
    if (!isIdentifier(name) || artifact::dtypeWith(&artifact::DTypeRow::name,
                                                   name) != artifact::DType(0))
      return fail(place, "must be called by a name of its own, such as T");
    if (!list.is_array() || list.empty() ||
        !llvm::all_of(list, [](const Json &type) { return type.is_string(); }))
      return fail(place, "must be a list of types");
    for (const Json &type : list)
      variable.types.push_back(
          typeNamed(type.get_ref<const std::string &>(), place));
  }
}

void Reader::addName(const std::string &name, const std::string &place) {
  if (!isIdentifier(name))
    return fail(place, "must be a name of letters, digits and _");
  if (llvm::is_contained(taken, name))
    fail(place, "is '" + name + "', as another tensor or attribute");
  taken.push_back(name);
}

void Reader::readAttributes(JsonObject &in) {
  const Json *all = in.find("attributes");
  if (!all)
    return;
  if (!all->is_object())
    return in.fail("attributes", "must be an object");
  for (const auto &[name, value] : all->items()) {
    CustomSpec::Attribute &attribute = spec.attributes.emplace_back();
    attribute.name = name;
    addName(name, "attributes." + name);
    if (value == "int")
      ;
    else if (value == "float")
      attribute.isReal = true;
    else if (value.is_number_integer())
      attribute.integer = value.get<int64_t>();
    else if (value.is_number()) {
      attribute.isReal = true;
      attribute.real = value.get<double>();
    } else {
      fail("attributes." + name, "must be a default, \"int\" or \"float\"");
    }
  }
}

void Reader::readTensors(JsonObject &in, const char *key,
                         std::vector<CustomSpec::Tensor> &tensors) {
  in.each(key, [&](const Json &json, StringRef place) {
    JsonObject item(json, place.str(), error);
    CustomSpec::Tensor &tensor = tensors.emplace_back();
    item.neededText("name", tensor.name);
    if (!tensor.name.empty())
      addName(tensor.name, item.placeOf("name"));
    names.tensors.push_back(tensor.name);
    std::string type;
    item.neededText("type", type);
    bool isVariable =
        llvm::any_of(spec.variables, [&](const CustomSpec::Variable &v) {
          return v.name == type;
        });
    tensor.type = isVariable ? type : typeNamed(type, item.placeOf("type"));
    // All tensors must be known before shapes are read.
    item.find("shape");
  });
  if (tensors.empty())
    in.fail(key, "must be a list of at least one tensor");
}

void Reader::readShapes(JsonObject &in, const char *key,
                        std::vector<CustomSpec::Tensor> &tensors) {
  bool isOutput = &tensors == &spec.outputs;
  const Json *all = in.find(key);
  for (size_t i = 0; i < tensors.size() && error.empty(); ++i) {
    std::string place = key + ("[" + std::to_string(i) + "].shape");
    auto shape = (*all)[i].find("shape");
    bool isGiven = shape != (*all)[i].end();
    if (spec.elementwise) {
      if (isGiven)
        fail(place, "follows from the inputs of an elementwise operator");
      continue;
    }
    if (!isGiven) {
      if (isOutput)
        fail(place, "is missing");
      continue;
    }
    if (shape->is_string()) {
      auto like = llvm::find_if(spec.inputs, [&](const auto &input) {
        return input.name == shape->get_ref<const std::string &>();
      });
      if (like == spec.inputs.end())
        return fail(place, "names no input");
      tensors[i].like = like - spec.inputs.begin();
      continue;
    }
    if (!shape->is_array())
      return fail(place, "must be a list of sizes, or an input of the same "
                         "shape");
    tensors[i].shape.emplace();
    for (const Json &size : *shape) {
      if (size.is_null() && !isOutput)
        tensors[i].shape->push_back(std::nullopt);
      else
        tensors[i].shape->push_back(expression(size, place));
    }
  }
}

SizeExpr Reader::expression(const Json &json, const std::string &place) {
  if (json.is_number_unsigned() && json.get<uint64_t>() <= INT64_MAX)
    return SizeExpr::number(json.get<int64_t>());
  constexpr size_t longest = 1000;
  if (!json.is_string() ||
      json.get_ref<const std::string &>().size() > longest) {
    fail(place, "must be a number or an expression such as \"x.0 * 4\"");
    return SizeExpr::number(0);
  }
  auto parsed = SizeExpr::parse(json.get_ref<const std::string &>(), names);
  if (parsed)
    return *parsed;
  std::string why = llvm::toString(parsed.takeError());
  if (error.empty())
    error = "'" + place + "': " + why;
  return SizeExpr::number(0);
}

std::vector<SizeExpr> Reader::dimensions(JsonObject &in, const char *key) {
  std::vector<SizeExpr> result;
  const Json *list = in.find(key);
  constexpr size_t most = 3;
  if (!list) {
    in.fail(key, "is missing");
  } else if (!list->is_array()) {
    result.push_back(expression(*list, in.placeOf(key)));
  } else {
    for (const Json &item : *list)
      result.push_back(expression(item, in.placeOf(key)));
    if (list->empty() || list->size() > most)
      in.fail(key, "must have one to three dimensions");
  }
  result.resize(most, SizeExpr::number(1));
  return result;
}

void Reader::readArgument(const Json &json, const std::string &place) {
  const Json *value = &json;
  std::string type;
  if (json.is_object()) {
    JsonObject item(json, place, error);
    value = item.find("value");
    item.neededText("type", type);
    if (type != "i32" && type != "i64" && type != "f32" && type != "f64")
      return item.fail("type", "must be i32, i64, f32 or f64");
    if (!value)
      return item.fail("value", "is missing");
  }
  auto attribute =
      llvm::find_if(spec.attributes, [&](const CustomSpec::Attribute &known) {
        return known.isReal && value->is_string() &&
               known.name == value->get_ref<const std::string &>();
      });
  if (attribute == spec.attributes.end()) {
    spec.arguments.push_back(
        {type.empty() ? "i64" : type, expression(*value, place), std::nullopt});
    return;
  }
  if (llvm::StringRef(type).starts_with("i"))
    return fail(place, "is a float attribute, which is passed as f32 or f64");
  spec.arguments.push_back({type.empty() ? "f32" : type, SizeExpr::number(0),
                            attribute - spec.attributes.begin()});
}

void Reader::readArguments(JsonObject &in) {
  const Json *list = in.find("arguments");
  if (!list) {
    for (const CustomSpec::Attribute &attribute : spec.attributes)
      readArgument(attribute.name, "attributes." + attribute.name);
    return;
  }
  if (!list->is_array())
    return in.fail("arguments", "must be a list");
  for (size_t i = 0; i < list->size() && error.empty(); ++i)
    readArgument((*list)[i], "arguments[" + std::to_string(i) + "]");
}

void Reader::readFunction(JsonObject &in,
                          std::optional<CustomSpec::Function> &function) {
  function.emplace();
  std::string file;
  in.neededText("file", file);
  in.neededText("function", function->name);
  if (!error.empty())
    return;
  if (!isIdentifier(function->name))
    return in.fail("function", "must be the name of a function");
  llvm::SmallString<128> whole(file);
  if (!llvm::sys::path::is_absolute(file)) {
    whole = llvm::sys::path::parent_path(path);
    llvm::sys::path::append(whole, file);
  }
  function->path = whole.str().str();
  auto text = readModel(function->path);
  constexpr size_t largest = 16 << 20;
  if (!text)
    return in.fail("file",
                   "cannot be read: " + llvm::toString(text.takeError()));
  StringRef bytes = (*text)->getBuffer();
  if (bytes.size() > largest || bytes.contains('\0'))
    return in.fail("file",
                   "names '" + function->path + "', which is no source text");
  function->text = bytes.str();
  protectInput(function->path);
}

void Reader::readLaunch(JsonObject &in) {
  spec.grid = dimensions(in, "grid");
  spec.block = dimensions(in, "block");
  if (const Json *shared = in.find("shared_bytes"))
    spec.sharedBytes = expression(*shared, in.placeOf("shared_bytes"));
}

void Reader::readFunctions(JsonObject &in) {
  if (const Json *cuda = in.find("cuda")) {
    JsonObject item(*cuda, "cuda", error);
    if (cuda->is_object())
      readFunction(item, spec.device);
    if (!spec.elementwise && cuda->is_object())
      readLaunch(item);
  }
  if (const Json *host = in.find("host")) {
    JsonObject item(*host, "host", error);
    if (host->is_object())
      readFunction(item, spec.host);
  }
  if (!in.find("cuda") && !in.find("host"))
    in.fail("cuda", "and 'host' are missing: at least one has the function");
  if (const Json *workspace = in.find("workspace_bytes")) {
    if (spec.elementwise)
      return in.fail("workspace_bytes",
                     "is for kernels, and the operator is elementwise");
    spec.workspaceBytes = expression(*workspace, "workspace_bytes");
  }
}

void Reader::readGradient(JsonObject &in) {
  const Json *gradient = in.find("gradient");
  if (!gradient)
    return;
  auto add = [&](const Json &name) {
    if (name.is_null())
      return spec.gradients.push_back("");
    if (!name.is_string() || name.get_ref<const std::string &>().empty())
      return in.fail("gradient", "must name an operator, or one for each input "
                                 "with null for none");
    std::string text = name.get<std::string>();
    spec.gradients.push_back(
        StringRef(text).contains("::") ? text : domain + "::" + text);
  };
  if (gradient->is_array()) {
    for (const Json &name : *gradient)
      add(name);
    if (spec.gradients.size() != spec.inputs.size())
      in.fail("gradient", "must have an entry for each input");
  } else {
    add(*gradient);
  }
  if (spec.outputs.size() != 1)
    in.fail("gradient", "is only for operators with one output");
  if (llvm::all_of(spec.gradients,
                   [](const std::string &name) { return name.empty(); }))
    spec.gradients.clear();
}

CustomSpec Reader::run(const Json &json) {
  JsonObject in(json, "", error);
  if (!json.is_object())
    return spec;
  readName(in);
  in.boolean("elementwise", spec.elementwise);
  in.boolean("batched", spec.batched);
  if (spec.batched && spec.elementwise)
    in.fail("batched", "is for kernels, and the operator is elementwise");
  readVariables(in);
  readAttributes(in);
  for (const CustomSpec::Attribute &attribute : spec.attributes)
    names.attributes.push_back(attribute.isReal ? "" : attribute.name);
  readTensors(in, "inputs", spec.inputs);
  // An output's shape depends on inputs alone; a launch, on outputs too.
  SizeExpr::Names inputs = names;
  readTensors(in, "outputs", spec.outputs);
  if (!error.empty())
    return spec;
  if (spec.elementwise && spec.outputs.size() != 1)
    in.fail("outputs", "must be one of an elementwise operator");
  for (const CustomSpec::Tensor &output : spec.outputs)
    if (llvm::any_of(spec.variables,
                     [&](const auto &v) { return v.name == output.type; }) &&
        llvm::none_of(spec.inputs, [&](const CustomSpec::Tensor &input) {
          return input.type == output.type;
        }))
      in.fail("outputs",
              "has the type '" + output.type + "', which no input decides");
  std::swap(names, inputs);
  readShapes(in, "inputs", spec.inputs);
  readShapes(in, "outputs", spec.outputs);
  std::swap(names, inputs);
  readArguments(in);
  readFunctions(in);
  readGradient(in);
  return spec;
}

llvm::Expected<CustomSpec> frit::readCustomOp(const std::string &path) {
  CustomSpec spec;
  protectInput(path);
  if (llvm::Error e =
          readJsonFile(path, [&](const Json &json, std::string &error) {
            spec = Reader(path, error).run(json);
          }))
    return e;
  return spec;
}
