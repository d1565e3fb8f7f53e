//===- ReadRotary.cpp - Rotary positions in config.json -------------------===//
//
// transformers 4 writes "rope_theta", "rope_scaling" and, for Gemma 3's layers
// with windows, "rope_local_base_freq"; transformers 5 writes "rope_parameters"
// with all of them, or one such object for each type of layer.
//
//===----------------------------------------------------------------------===//

#include "compiler/decoder/ReadConfig.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace frit::decoder;
using Json = nlohmann::ordered_json;

/// Returns the kind that a file names; none if it is unknown.
static std::optional<RotaryKind> kindNamed(StringRef name,
                                           const Family &family) {
  if (name == "su" || (family.type == "phi3" && name == "yarn"))
    return RotaryKind::longrope;
  return llvm::StringSwitch<std::optional<RotaryKind>>(name)
      .Case("default", RotaryKind::plain)
      .Case("linear", RotaryKind::linear)
      .Case("dynamic", RotaryKind::dynamic)
      .Case("llama3", RotaryKind::llama3)
      .Case("yarn", RotaryKind::yarn)
      .Case("longrope", RotaryKind::longrope)
      .Default(std::nullopt);
}

/// Reads rotary positions from their object, which may be empty, and the rest
/// of the configuration.
static RotaryConfig readRotary(const Json &object, JsonFields &whole,
                               Location loc, const Family &family, double theta,
                               const DecoderConfig &config) {
  JsonFields fields(object, loc);
  RotaryConfig rotary;
  rotary.theta = fields.above("rope_theta", 1, theta);
  std::string name =
      fields.text(fields.choose({"rope_type", "type"}), "default");
  auto kind = kindNamed(name, family);
  if (!kind)
    fields.fail("the rope type '" + name +
                "' is not supported; default, linear, dynamic, llama3, yarn "
                "and longrope are");
  rotary.kind = kind.value_or(RotaryKind::plain);
  double share = fields.above("partial_rotary_factor", 0,
                              whole.above("partial_rotary_factor", 0, 1));
  // Plain positions of other families rotate whole heads, whatever files say.
  if (rotary.kind == RotaryKind::plain && family.type != "phi3")
    share = 1;
  rotary.size = std::min(share, 1.) * config.headSize;
  if (rotary.size < 2 || rotary.size % 2)
    fields.fail("heads rotate " + Twine(rotary.size) +
                " elements, which are not an even number of at least 2");
  rotary.originalPositions = fields.size(
      "original_max_position_embeddings",
      whole.size("original_max_position_embeddings", config.maxPositions));
  double ratio = double(config.maxPositions) / rotary.originalPositions;
  rotary.attentionFactor = fields.above("attention_factor", 0, 0);
  switch (rotary.kind) {
  case RotaryKind::plain:
    break;
  case RotaryKind::linear:
  case RotaryKind::dynamic:
    rotary.factor = fields.above("factor", 0);
    break;
  case RotaryKind::llama3:
    rotary.factor = fields.above("factor", 0);
    rotary.lowFrequencyFactor = fields.above("low_freq_factor", 0);
    rotary.highFrequencyFactor = fields.above("high_freq_factor", 0);
    break;
  case RotaryKind::yarn:
    rotary.factor = fields.above("factor", 0, ratio);
    rotary.betaFast = fields.above("beta_fast", 0, 32);
    rotary.betaSlow = fields.above("beta_slow", 0, 1);
    rotary.mscale = fields.number("mscale", 0);
    rotary.mscaleAllDim = fields.number("mscale_all_dim", 0);
    rotary.truncate = fields.flag("truncate", true);
    break;
  case RotaryKind::longrope:
    // The ratio of a configuration that has both contexts counts.
    rotary.factor = whole.find("original_max_position_embeddings")
                        ? ratio
                        : fields.above("factor", 0, ratio);
    rotary.shortFactors = fields.numbers("short_factor", rotary.size / 2);
    rotary.longFactors = fields.numbers("long_factor", rotary.size / 2);
    break;
  }
  whole.isGood &= fields.isGood;
  return rotary;
}

/// Takes rotary positions from the layers that have none.
static void readUnrotated(JsonFields &fields, const Family &family,
                          DecoderConfig &config) {
  if (family.type != "smollm3")
    return;
  if (const Json *flags = fields.find("no_rope_layers")) {
    bool isList = flags->is_array() && flags->size() == config.layers.size();
    for (size_t i = 0; isList && i < config.layers.size(); ++i) {
      isList = (*flags)[i].is_number_integer();
      if (isList && (*flags)[i] == 0)
        config.layers[i].rotary = -1;
    }
    if (!isList)
      fields.fail("\"no_rope_layers\" is no list with 0 or 1 for each of the " +
                  Twine(config.layers.size()) + " layers");
    return;
  }
  int64_t interval = fields.size("no_rope_layer_interval", 4);
  for (auto [i, layer] : llvm::enumerate(config.layers))
    if ((i + 1) % interval == 0)
      layer.rotary = -1;
}

void frit::decoder::readRotaries(JsonFields &fields, Location loc,
                                 const Family &family, DecoderConfig &config) {
  double theta = fields.above("rope_theta", 1, family.theta);
  Json none = Json::object();
  auto read = [&](const Json *object, double base) {
    if (object && !object->is_object())
      fields.fail("\"rope_parameters\" or \"rope_scaling\" is no object");
    config.rotaries.push_back(
        readRotary(object && object->is_object() ? *object : none, fields, loc,
                   family, base, config));
  };
  const Json *object =
      fields.find(fields.choose({"rope_parameters", "rope_scaling"}));
  JsonFields nested(object ? *object : none, loc);
  const Json *full = nested.find("full_attention");
  const Json *sliding = nested.find("sliding_attention");
  read(full ? full : object, theta);
  if (family.windows == WindowRule::pattern || sliding) {
    read(sliding, fields.above("rope_local_base_freq", 1, 10000));
    for (LayerConfig &layer : config.layers)
      layer.rotary = layer.window ? 1 : 0;
  }
  readUnrotated(fields, family, config);
}
