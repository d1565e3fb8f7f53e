//===- ReadEncoder.cpp - Read config.json of models with an encoder -------===//

#include "compiler/decoder/ReadConfig.h"

#include <cmath>

using namespace mlir;
using namespace frit;
using namespace frit::decoder;

/// The most places of a source.
static constexpr int64_t kMostPlaces = 1 << 20;

static int64_t countUpTo(JsonFields &fields, StringRef key, int64_t most,
                         std::optional<int64_t> otherwise = std::nullopt) {
  int64_t count = fields.size(key, otherwise);
  if (count <= most)
    return count;
  fields.fail("\"" + key + "\" is " + Twine(count) + "; up to " + Twine(most) +
              " are supported");
  return 1;
}

static void readT5(JsonFields &fields, DecoderConfig &config) {
  EncoderConfig encoder;
  encoder.layers = countUpTo(fields, "num_layers", kMostLayers);
  config.layers.assign(
      countUpTo(fields, "num_decoder_layers", kMostLayers, encoder.layers),
      {0, -1});
  config.width = fields.size("d_model");
  config.headSize = fields.size("d_kv");
  config.heads = config.groups = encoder.heads = fields.size("num_heads");
  config.feedForward = encoder.feedForward = fields.size("d_ff");
  config.epsilon = fields.above("layer_norm_epsilon", 0, 1e-6);
  config.attentionScale = 1;
  config.relativeBuckets =
      countUpTo(fields, "relative_attention_num_buckets", 1 << 16, 32);
  config.relativeDistance =
      countUpTo(fields, "relative_attention_max_distance", kLargestSize, 128);
  if (fields.isGood && (config.relativeBuckets % 4 ||
                        config.relativeDistance <= config.relativeBuckets / 2))
    fields.fail("\"relative_attention_num_buckets\" is no multiple of 4, or "
                "not below twice \"relative_attention_max_distance\"");
  config.maxPositions = encoder.places =
      countUpTo(fields, "n_positions", kMostPlaces, 512);
  std::string kind = fields.text("feed_forward_proj", "relu");
  if (kind == "relu") {
    config.activation = Activation::relu;
    config.hasGate = false;
  } else if (kind == "gated-gelu" || kind == "gated-silu") {
    config.activation =
        kind == "gated-gelu" ? Activation::geluTanh : Activation::silu;
  } else {
    fields.fail("\"feed_forward_proj\" is \"" + kind +
                "\"; relu, gated-gelu and gated-silu are supported");
  }
  // Transformers 5 says that all heads are tied; the files tell.
  bool scales = fields.flag("scale_decoder_outputs",
                            fields.flag("tie_word_embeddings", true));
  if (scales && config.family == "t5")
    config.logitScale = 1 / std::sqrt(double(config.width));
  config.encoder = encoder;
}

static void readWhisper(JsonFields &fields, DecoderConfig &config) {
  EncoderConfig encoder;
  encoder.layers = countUpTo(fields, "encoder_layers", kMostLayers);
  encoder.heads = fields.size("encoder_attention_heads");
  encoder.feedForward = fields.size("encoder_ffn_dim");
  encoder.bins = countUpTo(fields, "num_mel_bins", 1 << 16, 80);
  encoder.places = countUpTo(fields, "max_source_positions", kMostPlaces, 1500);
  config.layers.assign(countUpTo(fields, "decoder_layers", kMostLayers),
                       {0, -1});
  config.width = fields.size("d_model");
  config.heads = config.groups = fields.size("decoder_attention_heads");
  config.feedForward = fields.size("decoder_ffn_dim");
  config.maxPositions = fields.size("max_target_positions", 448);
  config.tiesHead = fields.flag("tie_word_embeddings", true);
  if (!fields.isGood)
    return;
  for (int64_t heads : {config.heads, encoder.heads})
    if (config.width % heads)
      return fields.fail(Twine(heads) + " heads do not divide the width of " +
                         Twine(config.width) + " (\"d_model\")");
  config.headSize = config.width / config.heads;
  config.attentionScale = 1 / std::sqrt(double(config.headSize));
  if (fields.flag("scale_embedding", false))
    config.embeddingScale = std::sqrt(double(config.width));
  config.encoder = encoder;
}

void decoder::readEncoderDecoder(JsonFields &fields, const Family &family,
                                 DecoderConfig &config) {
  config.vocabulary = fields.size("vocab_size");
  if (family.type == "whisper")
    readWhisper(fields, config);
  else
    readT5(fields, config);
  if (!fields.isGood)
    return;
  for (auto [what, size] : {std::pair("heads", config.heads * config.headSize),
                            std::pair("a width", config.width),
                            std::pair("inner layers", config.feedForward)})
    if (size > (int64_t(1) << 24))
      return fields.fail(Twine(what) + " of " + Twine(size) +
                         " elements; up to 16777216 are supported");
}
