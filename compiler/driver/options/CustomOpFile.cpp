//===- CustomOpFile.cpp - Read a file of --custom-op ----------------------===//

#include "compiler/driver/options/CustomOpFile.h"

#include "compiler/driver/options/CustomOpReader.h"
#include "compiler/support/OutputFile.h"

#include "frit/dtype.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace frit;
using llvm::StringRef;
using Json = JsonObject::Json;

bool frit::isIdentifier(StringRef text) {
  return !text.empty() && !llvm::isDigit(text[0]) &&
         llvm::all_of(text,
                      [](char c) { return llvm::isAlnum(c) || c == '_'; });
}

void CustomOpReader::readName(JsonObject &in) {
  std::string name;
  in.neededText("domain", domain);
  in.neededText("name", name);
  if (domain == "ai.onnx")
    in.fail("domain", "must not be ONNX's own");
  spec.name = domain + "::" + name;
}

std::string CustomOpReader::typeNamed(StringRef name,
                                      const std::string &place) {
  using artifact::DTypeRow;
  const DTypeRow *row =
      artifact::findDType(artifact::dtypeWith(&DTypeRow::name, name));
  StringRef known = row ? row->name : "";
  // Types below a byte and 8-bit floats exist for storage only.
  if (!row || known.starts_with("f8") || known.starts_with("f4") ||
      known.ends_with("4") != known.ends_with("64") || known == "i2" ||
      known == "u2" || known == "string") {
    fail(place, "is '" + name +
                    "', neither a variable of 'types' nor one of f32, f64, "
                    "f16, bf16, i8 to i64, u8 to u64 and bool");
    return "f32";
  }
  return row->ir;
}

void CustomOpReader::readVariables(JsonObject &in) {
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

void CustomOpReader::addName(const std::string &name,
                             const std::string &place) {
  if (!isIdentifier(name))
    return fail(place, "must be a name of letters, digits and _");
  if (llvm::is_contained(taken, name))
    fail(place, "is '" + name + "', as another tensor or attribute");
  taken.push_back(name);
}

void CustomOpReader::readAttributes(JsonObject &in) {
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

void CustomOpReader::readTensors(JsonObject &in, const char *key,
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

void CustomOpReader::readShapes(JsonObject &in, const char *key,
                                std::vector<CustomSpec::Tensor> &tensors) {
  bool isOutput = &tensors == &spec.outputs;
  const Json *all = in.find(key);
  for (size_t i = 0; i < tensors.size() && !error; ++i) {
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

SizeExpr CustomOpReader::expression(const Json &json,
                                    const std::string &place) {
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
  error.report("'" + place + "': " + llvm::toString(parsed.takeError()));
  return SizeExpr::number(0);
}

std::vector<SizeExpr> CustomOpReader::dimensions(JsonObject &in,
                                                 const char *key) {
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

CustomSpec CustomOpReader::run(const Json &json) {
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
  if (error)
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
          readJsonFile(path, [&](const Json &json, FirstError &error) {
            spec = CustomOpReader(path, error).run(json);
          }))
    return e;
  return spec;
}
