//===- Scheme.cpp - How a folder's weights are quantised ------------------===//

#include "compiler/decoder/quantized/Scheme.h"

#include "compiler/json/Parse.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace frit;
using namespace frit::decoder;
using Json = nlohmann::ordered_json;

/// Reports a member whose value is none of those that are supported.
static void failValue(JsonFields &fields, StringRef key, StringRef value,
                      StringRef supported) {
  fields.fail("\"" + key + "\" is " + value + "; " + supported +
              " supported of quantised weights");
}

/// Appends "group_size" if it is there: a size, or -1 for whole rows.
static void readGroupSize(const Json &object, JsonFields &fields,
                          Scheme &scheme) {
  auto found = object.find("group_size");
  if (found == object.end() || found->is_null())
    return;
  bool isWhole = found->is_number_integer() && *found == -1;
  bool isSize = found->is_number_unsigned() &&
                found->get<uint64_t>() - 1 < uint64_t(kLargestSize);
  if (isWhole || isSize)
    scheme.groupSizes.push_back(found->get<int64_t>());
  else
    failValue(fields, "group_size",
              found->dump(-1, ' ', false, Json::error_handler_t::replace),
              "sizes and -1 are");
}

static void readBits(JsonFields &own, JsonFields &fields, Scheme &scheme,
                     ArrayRef<int64_t> known) {
  int64_t bits = own.size("bits");
  fields.isGood &= own.isGood;
  if (!own.isGood)
    return;
  if (!llvm::is_contained(known, bits))
    failValue(fields, "bits", std::to_string(bits),
              known.size() == 1 ? "4 is" : "2, 4 and 8 are");
  scheme.bits.push_back(bits);
}

//===----------------------------------------------------------------------===//
// Methods
//===----------------------------------------------------------------------===//

static void readGptq(const Json &object, JsonFields &own, JsonFields &fields,
                     Scheme &scheme, Location loc) {
  static constexpr int64_t known[] = {2, 4, 8};
  readBits(own, fields, scheme, known);
  readGroupSize(object, fields, scheme);
  // Modules that differ, by patterns of their names.
  const Json *others = own.find("dynamic");
  if (others && others->is_object())
    for (const auto &[pattern, other] : others->items())
      if (JsonFields members(other, loc); members.find("bits"))
        readBits(members, fields, scheme, known);
  scheme.packing = Packing::gptq;
  StringRef key = own.choose({"checkpoint_format", "format"});
  std::string format = own.text(key, "gptq");
  scheme.zerosLessOne = format == "gptq";
  if (format != "gptq" && format != "gptq_v2")
    failValue(fields, key, format, "gptq and gptq_v2 are");
}

static void readAwq(const Json &object, JsonFields &own, JsonFields &fields,
                    Scheme &scheme) {
  readBits(own, fields, scheme, {4});
  readGroupSize(object, fields, scheme);
  scheme.packing = Packing::awq;
  StringRef key = own.choose({"version", "checkpoint_format", "format"});
  std::string version = own.text(key, "gemm");
  if (!StringRef(version).equals_insensitive("gemm"))
    failValue(fields, key, version, "gemm is");
}

/// Reads the two sizes of blocks of floats.
static void readBlocks(const Json &sizes, JsonFields &fields, Scheme &scheme) {
  auto isSize = [](const Json &size) {
    return size.is_number_unsigned() &&
           size.get<uint64_t>() - 1 < uint64_t(kLargestSize);
  };
  if (!sizes.is_array() || sizes.size() != 2 || !isSize(sizes[0]) ||
      !isSize(sizes[1]))
    return fields.fail(
        "\"quantization_config\": the sizes of blocks are " +
        sizes.dump(-1, ' ', false, Json::error_handler_t::replace) +
        ", not rows and columns");
  scheme.blockRows = sizes[0].get<int64_t>();
  scheme.blockColumns = sizes[1].get<int64_t>();
}

/// Reads "weights" of an entry of "config_groups".
static void readWeights(const Json &weights, JsonFields &own,
                        JsonFields &fields, Scheme &scheme) {
  int64_t bits = own.size("num_bits", 8);
  std::string type = own.text("type", "int");
  bool isKnown = type == "int"     ? bits == 2 || bits == 4 || bits == 8
                 : type == "float" ? bits == 8
                                   : false;
  if (own.isGood && !isKnown)
    fields.fail("\"quantization_config\" has weights of the type " + type +
                " with " + Twine(bits) +
                " bits; int with 2, 4 and 8 and float with 8 are supported");
  scheme.bits.push_back(bits);
  if (own.find("group_size"))
    readGroupSize(weights, fields, scheme);
  else
    scheme.groupSizes.push_back(-1);
  if (const Json *sizes = own.find("block_structure"))
    readBlocks(*sizes, fields, scheme);
}

static void readFormat(JsonFields &own, JsonFields &fields) {
  std::string format = own.text("format", "dense");
  static constexpr StringLiteral known[] = {
      "pack-quantized",  "int-quantized", "float-quantized",
      "naive-quantized", "dense",         "mixed-precision"};
  if (!llvm::is_contained(known, format))
    failValue(fields, "format", format,
              "pack-quantized, int-quantized, float-quantized and "
              "naive-quantized are");
}

static void readCompressed(const Json &object, JsonFields &own,
                           JsonFields &fields, Scheme &scheme, Location loc) {
  readFormat(own, fields);
  if (const Json *sparse = own.find("sparsity_config");
      sparse && sparse->is_object() && !sparse->empty()) {
    std::string format = JsonFields(*sparse, loc).text("format", "dense");
    if (format != "dense")
      failValue(fields, "sparsity_config", format, "dense is");
  }
  // Rotations of activations, which the weights are made for.
  if (const Json *changes = own.find("transform_config");
      changes && !changes->empty())
    fields.fail("\"quantization_config\": \"transform_config\" is not "
                "supported");
  const Json *groups = own.find("config_groups");
  if (!groups)
    return;
  if (!groups->is_object())
    return fields.fail("\"quantization_config\": \"config_groups\" is no "
                       "object");
  for (const auto &[name, group] : groups->items()) {
    JsonFields entry(group, loc);
    readFormat(entry, fields);
    const Json *weights = entry.find("weights");
    if (!weights || !weights->is_object())
      continue;
    JsonFields members(*weights, loc);
    readWeights(*weights, members, fields, scheme);
    fields.isGood &= entry.isGood && members.isGood;
  }
}

/// Returns the member that says how weights are quantised, or null. Models with
/// images may have it in the language model's part.
static const Json *findScheme(const JsonFields &fields, Location loc) {
  StringRef keys[] = {"compression_config", "quantization_config"};
  if (const Json *found = fields.find(fields.choose(keys)))
    return found;
  const Json *part = fields.find("text_config");
  if (!part)
    return nullptr;
  JsonFields own(*part, loc);
  return own.find(own.choose(keys));
}

/// Reads a method's members. `method` is what they have unless they say it.
static std::optional<Scheme> readMethod(const Json &object, StringRef method,
                                        JsonFields &fields, Location loc) {
  Scheme scheme;
  scheme.isQuantized = true;
  JsonFields own(object, loc);
  std::string name = own.text("quant_method", method);
  if (name == "gptq") {
    readGptq(object, own, fields, scheme, loc);
  } else if (name == "awq") {
    readAwq(object, own, fields, scheme);
  } else if (name == "compressed-tensors") {
    readCompressed(object, own, fields, scheme, loc);
  } else if (name == "fp8" || name == "fbgemm_fp8") {
    if (const Json *sizes = own.find("weight_block_size"))
      readBlocks(*sizes, fields, scheme);
  } else if (name == "modelopt") {
    std::string algorithm = own.text("quant_algo", "unnamed");
    if (algorithm != "FP8")
      failValue(fields, "quant_algo", algorithm, "FP8 is");
  } else {
    fields.fail("the weights are quantised by " + name +
                " (\"quant_method\"), which is not supported; gptq, awq, "
                "compressed-tensors, fp8, fbgemm_fp8 and modelopt are. Use the "
                "model's folder in bf16 or f16");
  }
  if (!fields.isGood || !own.isGood)
    return std::nullopt;
  return scheme;
}

std::optional<Scheme> decoder::readScheme(StringRef text, Location loc) {
  Json file = importer::parseJson(text);
  JsonFields fields(file, loc);
  const Json *object = findScheme(fields, loc);
  if (!object)
    return Scheme();
  if (object->is_object())
    return readMethod(*object, "an unnamed method", fields, loc);
  fields.fail("\"quantization_config\" is no object");
  return std::nullopt;
}

std::optional<Scheme> decoder::readOlderScheme(StringRef text, Location loc) {
  Json file = importer::parseJson(text);
  JsonFields fields(file, loc);
  if (file.is_object())
    return readMethod(file, "gptq", fields, loc);
  fields.fail(file.is_discarded() ? importer::whyDiscarded(text)
                                  : std::string("is no object"));
  return std::nullopt;
}
