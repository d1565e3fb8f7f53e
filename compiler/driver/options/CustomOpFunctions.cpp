//===- CustomOpFunctions.cpp - Read the functions of an operator ----------===//

#include "compiler/driver/options/CustomOpReader.h"

#include "compiler/driver/ModelInput.h"
#include "compiler/driver/options/IncludedFiles.h"
#include "compiler/support/OutputFile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Path.h"

using namespace frit;
using llvm::StringRef;

void CustomOpReader::readArgument(const Json &json, const std::string &place) {
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

void CustomOpReader::readArguments(JsonObject &in) {
  const Json *list = in.find("arguments");
  if (!list) {
    for (const CustomSpec::Attribute &attribute : spec.attributes)
      readArgument(attribute.name, "attributes." + attribute.name);
    return;
  }
  if (!list->is_array())
    return in.fail("arguments", "must be a list");
  for (size_t i = 0; i < list->size() && !error; ++i)
    readArgument((*list)[i], "arguments[" + std::to_string(i) + "]");
}

void CustomOpReader::readFunction(
    JsonObject &in, std::optional<CustomSpec::Function> &function) {
  function.emplace();
  std::string file;
  in.neededText("file", file);
  in.neededText("function", function->name);
  if (error)
    return;
  if (!isIdentifier(function->name))
    return in.fail("function", "must be the name of a function");
  llvm::SmallString<128> whole(file);
  if (!llvm::sys::path::is_absolute(file)) {
    whole = llvm::sys::path::parent_path(path);
    llvm::sys::path::append(whole, file);
  }
  function->path = whole.str().str();
  auto text = readFile(function->path);
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
  protectIncluded(bytes, llvm::sys::path::parent_path(function->path));
}

void CustomOpReader::readLaunch(JsonObject &in) {
  spec.grid = dimensions(in, "grid");
  spec.block = dimensions(in, "block");
  if (const Json *shared = in.find("shared_bytes"))
    spec.sharedBytes = expression(*shared, in.placeOf("shared_bytes"));
}

void CustomOpReader::readFunctions(JsonObject &in) {
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

void CustomOpReader::readGradient(JsonObject &in) {
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
