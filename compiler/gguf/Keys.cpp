//===- Keys.cpp - What a GGUF file's keys say of a decoder ----------------===//

#include "compiler/gguf/Keys.h"

#include "compiler/decoder/Families.h"
#include "compiler/gguf/Blocks.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"

#include <cmath>

using namespace mlir;
using namespace frit;
using namespace frit::decoder;

/// Far above any model's; products of two fit in 64 bits.
static constexpr int64_t kMostSize = 1 << 26;
static constexpr int64_t kMostLayers = 4096;

/// Values of general.architecture that decoder::findFamily knows by that name.
static constexpr StringLiteral kArchitectures[] = {
    "llama", "qwen2", "qwen3", "gemma",   "gemma2", "gemma3",
    "phi3",  "olmo2", "gpt2",  "granite", "smollm3"};

/// What models of other architectures have, by the keys that say so.
static constexpr std::pair<StringLiteral, StringLiteral> kMissing[] = {
    {"expert_count", "experts"},
    {"ssm.state_size", "state spaces"},
    {"wkv.head_size", "recurrences of RWKV"},
    {"shortconv.l_cache", "short convolutions"},
    {"attention.kv_lora_rank", "latent attention"},
    {"attention.max_alibi_bias", "scores by distance (ALiBi)"},
    {"attention.relative_buckets_count", "an encoder"},
    {"use_parallel_residual", "attention beside the feed-forward part"},
    {"vision.block_count", "an encoder of images"}};

bool gguf::hasPairedRows(const DecoderConfig &config) {
  return config.family == "llama" || config.family == "granite" ||
         config.family == "smollm3";
}

namespace {

class KeyReader {
public:
  KeyReader(const GgufFile &file, Location loc) : file(file), loc(loc) {}

  std::optional<DecoderConfig> read() {
    if (!readFamily())
      return std::nullopt;
    readSizes();
    if (isGood)
      readFactors();
    if (isGood)
      readWindows();
    if (isGood && !config.learnsPositions)
      readRotaries();
    if (!isGood)
      return std::nullopt;
    return std::move(config);
  }

private:
  void fail(const Twine &message) {
    emitError(loc) << message;
    isGood = false;
  }

  std::string keyOf(StringRef name) const { return (arch + "." + name).str(); }

  std::optional<double> number(StringRef name) {
    std::string key = keyOf(name);
    std::optional<double> value = file.number(key);
    if (file.find(key) && (!value || !std::isfinite(*value))) {
      fail("the key '" + key + "' is no number");
      return std::nullopt;
    }
    return value;
  }

  /// Reads a number above 0, or returns `otherwise`, unless that is 0.
  double above(StringRef name, double otherwise) {
    double value = number(name).value_or(otherwise);
    if (isGood && !(value > 0))
      fail("the key '" + keyOf(name) + "' is missing, or not above 0");
    return value;
  }

  int64_t size(StringRef name, int64_t otherwise = 0) {
    std::string key = keyOf(name);
    std::optional<uint64_t> value = file.count(key);
    // Some keys have a number for each layer.
    if (const std::vector<double> *list = file.numbers(key)) {
      if (list->empty() || !llvm::all_equal(*list)) {
        fail("the key '" + key +
             "' differs from layer to layer, which is not supported");
        return 1;
      }
      if (list->front() >= 0 && list->front() <= kMostSize)
        value = uint64_t(list->front());
    }
    if (!value && !file.find(key) && otherwise)
      return otherwise;
    if (value && *value && *value <= uint64_t(kMostSize))
      return int64_t(*value);
    fail(file.find(key) ? "the key '" + key + "' is no number from 1 to " +
                              Twine(kMostSize)
                        : "lacks the key '" + Twine(key) + "'");
    return 1;
  }

  /// Returns text of the file for messages.
  static std::string escaped(std::string_view text) {
    std::string result;
    llvm::raw_string_ostream stream(result);
    llvm::printEscapedString({text.data(), text.size()}, stream);
    return result;
  }

  /// Returns what a model of another architecture has that is not supported.
  std::string missing() const {
    SmallVector<StringRef> found;
    for (auto [name, part] : kMissing)
      if (file.number(keyOf(name)).value_or(0) > 0 ||
          file.flag(keyOf(name)).value_or(false))
        found.push_back(part);
    if (!file.flag(keyOf("attention.causal")).value_or(true))
      found.push_back("attention in both directions");
    return found.empty() ? "" : ", nor are " + llvm::join(found, ", ");
  }

  bool readFamily() {
    if (auto type = file.text("general.type"); type && *type != "model") {
      fail("is no model: the key 'general.type' is '" + escaped(*type) + "'");
      return false;
    }
    auto name = file.text("general.architecture");
    if (!name) {
      fail("lacks the key 'general.architecture'");
      return false;
    }
    arch = StringRef(name->data(), name->size());
    if (!llvm::is_contained(kArchitectures, arch)) {
      fail("the architecture '" + escaped(*name) + "' is not supported" +
           missing() + "; " + llvm::join(ArrayRef(kArchitectures), ", ") +
           " are");
      return false;
    }
    config = findFamily(arch)->switches;
    config.family = arch;
    return true;
  }

  const GgufTensor *tensor(std::string_view name) const {
    auto found = file.tensors.find(name);
    return found == file.tensors.end() ? nullptr : &found->second;
  }

  void readSizes() {
    config.width = size("embedding_length");
    config.heads = size("attention.head_count");
    config.groups = size("attention.head_count_kv", config.heads);
    config.feedForward = size("feed_forward_length");
    config.maxPositions = size("context_length");
    config.headSize = size("attention.key_length", config.width / config.heads);
    int64_t layers = size("block_count");
    if (!isGood)
      return;
    if (layers > kMostLayers)
      return fail(Twine(layers) + " layers; up to " + Twine(kMostLayers) +
                  " are supported");
    config.layers.resize(layers);
    if (config.heads % config.groups)
      fail(Twine(config.heads) + " heads of queries cannot share " +
           Twine(config.groups) + " of keys");
    if (config.heads * config.headSize > kMostSize)
      fail(Twine(config.heads) + " heads of " + Twine(config.headSize) +
           " elements are too large");
    if (layers > int64_t(file.tensors.size()))
      fail(Twine(layers) + " layers, but only " + Twine(file.tensors.size()) +
           " tensors");
    if (size("attention.value_length", config.headSize) != config.headSize)
      fail("keys and values differ in size, which is not supported");
    if (file.count(keyOf("expert_count")).value_or(0))
      fail("the model has experts, which is not supported");
    const GgufTensor *embedding = tensor("token_embd.weight");
    if (!embedding || embedding->dims.size() != 2 ||
        embedding->dims[1] > uint64_t(kMostSize) || !embedding->dims[1])
      return fail("lacks the tensor 'token_embd.weight' of two dimensions");
    config.vocabulary = int64_t(embedding->dims[1]);
    // Rows may be more than tokens: they were padded.
    uint64_t tokens = file.count(keyOf("vocab_size")).value_or(0);
    if (auto *texts = file.texts("tokenizer.ggml.tokens"))
      tokens = std::max<uint64_t>(tokens, texts->size());
    if (tokens > embedding->dims[1])
      fail("the vocabulary has " + Twine(tokens) +
           " tokens, but the tensor 'token_embd.weight' only " +
           Twine(embedding->dims[1]) + " rows");
    // Tables are made of the head's size before the other tensors are read.
    int64_t rows = config.heads * config.headSize;
    if (config.joinsQueries)
      rows += 2 * config.groups * config.headSize;
    std::string first =
        config.joinsQueries ? "blk.0.attn_qkv.weight" : "blk.0.attn_q.weight";
    const GgufTensor *queries = tensor(first);
    if (!queries || queries->dims.size() != 2 ||
        queries->dims[1] != uint64_t(rows))
      return fail("lacks the tensor '" + first + "' of " + Twine(rows) +
                  " rows, which the keys of its heads say");
    // Blocks hold no more than 16 bits need, and bf16 has any model's range.
    config.type = embedding->type == GgufType::f32   ? "f32"
                  : embedding->type == GgufType::f16 ? "f16"
                                                     : "bf16";
    config.tiesHead = !tensor("output.weight");
    bool hasBias = tensor("blk.0.attn_q.bias");
    bool isLlama = gguf::hasPairedRows(config);
    if (isLlama || arch == "qwen2")
      config.queryBias = hasBias;
    if (isLlama) {
      config.outputBias = tensor("blk.0.attn_output.bias");
      config.feedForwardBias = tensor("blk.0.ffn_up.bias");
    }
    config.storesInputsFirst = false;
  }

  void readFactors() {
    bool isGemma = arch.starts_with("gemma");
    config.epsilon = above(config.norm == NormKind::layer
                               ? "attention.layer_norm_epsilon"
                               : "attention.layer_norm_rms_epsilon",
                           0);
    config.attentionScale = 1 / std::sqrt(double(config.headSize));
    // Files do not say how the two models of 27 B scale their scores.
    bool isLarge = (arch == "gemma2" && config.layers.size() == 46) ||
                   (arch == "gemma3" && config.layers.size() == 62);
    if (isLarge)
      config.attentionScale =
          1 / std::sqrt(double(config.width) / double(config.heads));
    if (auto scale = number("attention.scale"))
      config.attentionScale = *scale;
    if (isGemma)
      config.embeddingScale = std::sqrt(double(config.width));
    if (arch == "granite") {
      config.embeddingScale = above("embedding_scale", 1);
      config.residualScale = above("residual_scale", 1);
      config.logitScale = 1 / above("logit_scale", 1);
    }
    if (arch == "gemma2") {
      config.scoreCap = above("attn_logit_softcapping", config.scoreCap);
      config.logitCap = above("final_logit_softcapping", config.logitCap);
    }
  }

  void readWindows() {
    int64_t window = 0;
    std::string key = keyOf("attention.sliding_window");
    // Phi 3's files of long contexts say 0.
    if (file.count(key).value_or(0))
      window = size("attention.sliding_window");
    else if (arch == "gemma2")
      window = 4096;
    if (!file.count(key) && file.find(key))
      fail("the key '" + key + "' is no number");
    if (arch == "gemma3" && !window)
      fail("lacks the key '" + key + "'");
    for (auto [i, layer] : llvm::enumerate(config.layers)) {
      bool slides = arch == "phi3" || (arch == "gemma2" && i % 2 == 0) ||
                    (arch == "gemma3" && (i + 1) % 6 != 0);
      layer.window = slides ? window : 0;
    }
  }

  /// Reads a tensor of factors of frequencies.
  bool readFactorsOf(StringRef name, std::vector<double> &factors) {
    const GgufTensor *found = tensor({name.data(), name.size()});
    if (!found)
      return false;
    int64_t pairs = config.rotaries[0].size / 2;
    if (found->type != GgufType::f32 || found->dims.size() != 1 ||
        int64_t(found->dims[0]) != pairs) {
      fail("the tensor '" + name + "' has not one f32 for each of " +
           Twine(pairs) + " pairs of elements that rotate");
      return false;
    }
    std::vector<float> values(pairs);
    gguf::dequantize(GgufType::f32, found->data.data(), pairs, values.data());
    factors.assign(values.begin(), values.end());
    if (llvm::all_of(factors, [](double f) { return f > 0 && f < 1e30; }))
      return true;
    fail("the tensor '" + name + "' has a factor that is not above 0");
    return false;
  }

  void readScaling(RotaryConfig &rotary) {
    std::string key = keyOf("rope.scaling.type");
    auto text = file.text(key);
    StringRef type = text ? StringRef(text->data(), text->size()) : "none";
    double linear = above("rope.scale_linear", 1);
    double factor = number("rope.scaling.factor").value_or(linear);
    if (factor < 0)
      fail("the key '" + keyOf("rope.scaling.factor") + "' is below 0");
    rotary.originalPositions =
        size("rope.scaling.original_context_length", config.maxPositions);
    // 0 is none, as in llama.cpp.
    if (type == "linear" || (!text && factor > 0 && factor != 1)) {
      rotary.kind = RotaryKind::linear;
      rotary.factor = factor > 0 ? factor : 1;
    } else if (type == "yarn") {
      rotary.kind = RotaryKind::yarn;
      rotary.factor = above("rope.scaling.factor", 1);
    } else if (type != "none" && type != "longrope") {
      fail("the key '" + key +
           "' is not supported; none, linear, yarn and longrope are");
    }
    bool hasLong =
        readFactorsOf("rope_factors_long.weight", rotary.longFactors);
    bool hasShort =
        readFactorsOf("rope_factors_short.weight", rotary.shortFactors);
    if (hasLong && hasShort) {
      rotary.kind = RotaryKind::longrope;
      rotary.factor =
          double(config.maxPositions) / double(rotary.originalPositions);
      rotary.attentionFactor = number("rope.scaling.attn_factor").value_or(0);
    } else if (isGood && (hasLong || hasShort || type == "longrope")) {
      fail("the file has not both of 'rope_factors_long.weight' and "
           "'rope_factors_short.weight'");
    }
    // How Llama 3 stretches frequencies is in the file as factors.
    if (isGood && readFactorsOf("rope_freqs.weight", rotary.longFactors)) {
      rotary.kind = RotaryKind::longrope;
      rotary.factor = 1;
      rotary.shortFactors = rotary.longFactors;
    }
  }

  void readRotaries() {
    RotaryConfig rotary;
    bool isGemma3 = arch == "gemma3";
    rotary.theta = above("rope.freq_base", isGemma3 ? 1e6 : 10000);
    rotary.size = size("rope.dimension_count", config.headSize);
    if (rotary.size % 2 || rotary.size > config.headSize)
      return fail("heads of " + Twine(config.headSize) + " elements rotate " +
                  Twine(rotary.size) + ", which is not possible");
    if (gguf::hasPairedRows(config) && rotary.size != config.headSize)
      return fail("only a part of each head rotates, which is not supported "
                  "for the architecture '" +
                  arch + "'");
    config.rotaries.push_back(rotary);
    readScaling(rotary);
    config.rotaries[0] = rotary;
    // No key says so; llama.cpp has the number, too.
    if (arch == "smollm3")
      for (size_t i = 3; i < config.layers.size(); i += 4)
        config.layers[i].rotary = -1;
    if (!isGemma3)
      return;
    RotaryConfig local;
    local.theta = above("rope.freq_base_swa", 10000);
    local.size = rotary.size;
    local.originalPositions = config.maxPositions;
    config.rotaries.push_back(local);
    for (LayerConfig &layer : config.layers)
      layer.rotary = layer.window ? 1 : 0;
  }

  const GgufFile &file;
  Location loc;
  StringRef arch;
  DecoderConfig config;
  bool isGood = true;
};

} // namespace

std::optional<DecoderConfig> gguf::readKeys(const GgufFile &file,
                                            Location loc) {
  return KeyReader(file, loc).read();
}
