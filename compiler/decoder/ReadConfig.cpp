//===- ReadConfig.cpp - Read config.json of Hugging Face ------------------===//

#include "compiler/decoder/ReadConfig.h"

#include "compiler/json/Parse.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

#include <cmath>

using namespace mlir;
using namespace frit;
using namespace frit::decoder;
using Json = nlohmann::ordered_json;

/// The most elements of a head.
static constexpr int64_t kLargestHead = 4096;

//===----------------------------------------------------------------------===//
// Family
//===----------------------------------------------------------------------===//

static std::string knownFamilies() {
  return llvm::join(
      llvm::map_range(families(),
                      [](const Family &family) { return family.type.str(); }),
      ", ");
}

/// Returns the family that "model_type" and "architectures" name; null after an
/// error.
static const Family *readFamily(JsonFields &fields) {
  std::string type = fields.text("model_type");
  if (!fields.isGood)
    return nullptr;
  const Family *family = findFamily(type);
  if (!family) {
    fields.fail("the model_type '" + type + "' is not supported; these are: " +
                knownFamilies() + ". Other models are compiled from ONNX");
    return nullptr;
  }
  const Json *architectures = fields.find("architectures");
  if (!architectures || !architectures->is_array() || architectures->empty())
    return family;
  Json first = architectures->front();
  std::string name = first.is_string() ? first.get<std::string>() : "";
  if (name != family->architecture) {
    fields.fail("the architecture '" + name + "' is not supported; of " + type +
                ", " + family->architecture + " is");
    return nullptr;
  }
  return family;
}

//===----------------------------------------------------------------------===//
// Switches
//===----------------------------------------------------------------------===//

static void readType(JsonFields &fields, DecoderConfig &config) {
  StringRef key = fields.choose({"dtype", "torch_dtype"});
  std::string name = fields.text(key, "");
  config.type = llvm::StringSwitch<StringRef>(name)
                    .Case("float32", "f32")
                    .Case("float16", "f16")
                    .Case("bfloat16", "bf16")
                    .Default("");
  if (!name.empty() && config.type.empty())
    fields.fail("\"" + key + "\" is \"" + name +
                "\", not float32, float16 or bfloat16");
}

static void readActivation(JsonFields &fields, const Family &family,
                           DecoderConfig &config) {
  StringRef key =
      fields.choose({"hidden_activation", "hidden_act", "activation_function"});
  std::string name = fields.text(key, "");
  // Files of the first Gemma say gelu; the models use its approximation.
  if (name.empty() || (family.type == "gemma" && name == "gelu"))
    return;
  auto found = llvm::StringSwitch<std::optional<Activation>>(name)
                   .Cases({"silu", "swish"}, Activation::silu)
                   .Cases({"gelu", "gelu_python"}, Activation::gelu)
                   .Cases({"gelu_new", "gelu_pytorch_tanh", "gelu_fast",
                           "gelu_accurate", "gelu_python_tanh"},
                          Activation::geluTanh)
                   .Case("quick_gelu", Activation::quickGelu)
                   .Case("relu", Activation::relu)
                   .Case("relu2", Activation::reluSquared)
                   .Case("tanh", Activation::tanh)
                   .Default(std::nullopt);
  if (found)
    config.activation = *found;
  else
    fields.fail("the activation '" + name +
                "' is not supported; silu, gelu, gelu_new, "
                "gelu_pytorch_tanh, quick_gelu, relu, relu2 and tanh are");
}

/// Reads the layers' windows: "layer_types", or else by the family's rule.
static void readWindows(JsonFields &fields, const Family &family,
                        DecoderConfig &config) {
  // A window that is null is none; one that is left out is the family's.
  int64_t window = family.window;
  if (fields.has("sliding_window"))
    window = fields.size("sliding_window", 0);
  if (const Json *types = fields.find("layer_types")) {
    if (!types->is_array() || types->size() != config.layers.size())
      return fields.fail("\"layer_types\" is no list with an entry for each of "
                         "the " +
                         Twine(config.layers.size()) + " layers");
    for (auto [layer, type] : llvm::zip_equal(config.layers, *types)) {
      if (type == "sliding_attention")
        layer.window = window;
      else if (type != "full_attention")
        return fields.fail(
            "\"layer_types\" has " +
            type.dump(-1, ' ', false, Json::error_handler_t::replace) +
            ", which is neither full_attention nor "
            "sliding_attention");
    }
    // The range's own `contains` would look for a key.
    if (!window && llvm::any_of(*types, [](const Json &type) {
          return type == "sliding_attention";
        }))
      fields.fail("\"layer_types\" has sliding_attention, and "
                  "\"sliding_window\" is null");
    return;
  }
  int64_t pattern = fields.size(
      fields.choose({"sliding_window_pattern", "_sliding_window_pattern"}), 6);
  int64_t first = fields.size("max_window_layers", 28);
  bool isUsed = fields.flag("use_sliding_window", false);
  for (auto [i, layer] : llvm::enumerate(config.layers)) {
    bool slides = false;
    switch (family.windows) {
    case WindowRule::none:
      break;
    case WindowRule::all:
      slides = true;
      break;
    case WindowRule::alternate:
      slides = i % 2 == 0;
      break;
    case WindowRule::pattern:
      slides = (i + 1) % pattern != 0;
      break;
    case WindowRule::fromLayer:
      slides = isUsed && int64_t(i) >= first;
      break;
    }
    layer.window = slides ? window : 0;
  }
}

static void readBiases(JsonFields &fields, const Family &family,
                       DecoderConfig &config) {
  if (family.hasBias)
    config.queryBias = config.outputBias = fields.flag("attention_bias", false);
  if (family.hasBias)
    config.feedForwardBias = fields.flag("mlp_bias", false);
}

//===----------------------------------------------------------------------===//
// Sizes and factors
//===----------------------------------------------------------------------===//

static void readSizes(JsonFields &fields, const Family &family,
                      DecoderConfig &config) {
  bool isGpt2 = family.type == "gpt2";
  auto sizeOr = [&](StringRef key, int64_t otherwise) {
    return fields.size(key,
                       otherwise ? std::optional(otherwise) : std::nullopt);
  };
  config.vocabulary = sizeOr("vocab_size", config.vocabulary);
  config.width = fields.size(isGpt2 ? "n_embd" : "hidden_size");
  config.heads =
      sizeOr(isGpt2 ? "n_head" : "num_attention_heads", config.heads);
  config.groups = isGpt2 ? config.heads
                         : sizeOr("num_key_value_heads",
                                  config.groups ? config.groups : config.heads);
  StringRef layersKey = isGpt2 ? "n_layer" : "num_hidden_layers";
  int64_t layers = fields.size(layersKey);
  if (layers > kMostLayers) {
    fields.fail("\"" + layersKey + "\" is " + Twine(layers) + "; up to " +
                Twine(kMostLayers) + " are supported");
    layers = 1;
  }
  config.layers.resize(layers);
  config.feedForward = isGpt2 ? fields.size("n_inner", 4 * config.width)
                              : fields.size("intermediate_size");
  config.maxPositions =
      sizeOr(isGpt2 ? fields.choose({"max_position_embeddings", "n_positions"})
                    : "max_position_embeddings",
             config.maxPositions);
  config.headSize =
      fields.size("head_dim", family.headSize ? family.headSize : 0);
  if (!fields.isGood)
    return;
  if (!config.headSize && config.width % config.heads)
    return fields.fail(Twine(config.heads) +
                       " heads do not divide the hidden size of " +
                       Twine(config.width) + ", and there is no \"head_dim\"");
  if (!config.headSize)
    config.headSize = config.width / config.heads;
  if (config.heads % config.groups)
    fields.fail(Twine(config.heads) + " heads of queries cannot share " +
                Twine(config.groups) + " of keys (\"num_key_value_heads\")");
  if (config.headSize > kLargestHead)
    fields.fail("heads have " + Twine(config.headSize) + " elements; up to " +
                Twine(kLargestHead) + " are supported");
}

static void readFactors(JsonFields &fields, const Family &family,
                        DecoderConfig &config) {
  config.epsilon = fields.above(family.type == "gpt2" ? "layer_norm_epsilon"
                                                      : "rms_norm_eps",
                                0, config.epsilon);
  config.attentionScale = 1 / std::sqrt(double(config.headSize));
  if (family.type == "gpt2" && !fields.flag("scale_attn_weights", true))
    config.attentionScale = 1;
  if (family.type == "gpt2")
    config.scalesByLayer =
        fields.flag("scale_attn_by_inverse_layer_idx", false);
  if (family.type.starts_with("gemma"))
    config.embeddingScale = std::sqrt(double(config.width));
  if (family.type == "gemma2" || family.type.starts_with("gemma3"))
    config.attentionScale =
        1 / std::sqrt(fields.above("query_pre_attn_scalar", 0, 256));
  // A cap that is null is none; one that is left out is the family's.
  auto cap = [&](StringRef key, double otherwise) {
    return fields.above(key, 0, fields.has(key) ? 0 : otherwise);
  };
  if (family.type.starts_with("gemma") && family.type != "gemma") {
    config.scoreCap = cap("attn_logit_softcapping", config.scoreCap);
    config.logitCap = cap("final_logit_softcapping", config.logitCap);
  }
  if (family.type == "granite") {
    config.embeddingScale = fields.number("embedding_multiplier", 1);
    config.attentionScale = fields.number("attention_multiplier", 1);
    config.residualScale = fields.number("residual_multiplier", 1);
    config.logitScale = 1 / fields.above("logits_scaling", 0, 1);
  }
}

std::optional<DecoderConfig> decoder::readConfig(StringRef text, Location loc) {
  Json file = importer::parseJson(text);
  if (!file.is_object()) {
    emitError(loc) << (file.is_discarded()
                           ? importer::whyDiscarded(text)
                           : std::string("is no object with \"model_type\""));
    return std::nullopt;
  }
  JsonFields whole(file, loc);
  const Family *family = readFamily(whole);
  if (!family)
    return std::nullopt;
  // Models with images have the language model's part apart.
  Json own = file;
  if (const Json *part = whole.find("text_config"); part && part->is_object())
    for (const auto &[key, value] : part->items())
      own[key] = value;
  JsonFields fields(own, loc);
  if (fields.flag("use_bidirectional_attention", false)) {
    fields.fail("\"use_bidirectional_attention\" is true: the model is no "
                "decoder");
    return std::nullopt;
  }
  DecoderConfig config = family->switches;
  config.family = family->type;
  if (family->hasEncoder) {
    readType(fields, config);
    readActivation(fields, *family, config);
    readEncoderDecoder(fields, *family, config);
    return fields.isGood ? std::optional(std::move(config)) : std::nullopt;
  }
  readSizes(fields, *family, config);
  readType(fields, config);
  readActivation(fields, *family, config);
  readWindows(fields, *family, config);
  readBiases(fields, *family, config);
  readFactors(fields, *family, config);
  config.tiesHead = fields.flag("tie_word_embeddings", config.tiesHead);
  if (fields.isGood && !config.learnsPositions)
    readRotaries(fields, loc, *family, config);
  return fields.isGood ? std::optional(std::move(config)) : std::nullopt;
}
