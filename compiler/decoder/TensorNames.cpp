//===- TensorNames.cpp - Names of tensors on Hugging Face -----------------===//

#include "compiler/decoder/TensorNames.h"

using namespace mlir;
using namespace frit::decoder;

/// Returns the name of a part in files like Llama's; within a layer if it is of
/// one.
static StringRef partName(const DecoderConfig &config, Part part) {
  switch (part) {
  case Part::embedding:
    return "embed_tokens";
  case Part::positions:
    return "embed_positions";
  case Part::head:
    return "lm_head";
  case Part::lastNorm:
    return "norm";
  case Part::attentionNorm:
    return "input_layernorm";
  case Part::afterAttentionNorm:
    return "post_attention_layernorm";
  case Part::feedForwardNorm:
    return config.normsAfter ? "pre_feedforward_layernorm"
                             : "post_attention_layernorm";
  case Part::afterFeedForwardNorm:
    return "post_feedforward_layernorm";
  case Part::query:
    return "self_attn.q_proj";
  case Part::key:
    return "self_attn.k_proj";
  case Part::value:
    return "self_attn.v_proj";
  case Part::queryKeyValue:
    return "self_attn.qkv_proj";
  case Part::queryNorm:
    return "self_attn.q_norm";
  case Part::keyNorm:
    return "self_attn.k_norm";
  case Part::output:
    return "self_attn.o_proj";
  case Part::gate:
    return "mlp.gate_proj";
  case Part::up:
    return "mlp.up_proj";
  case Part::gateUp:
    return "mlp.gate_up_proj";
  case Part::down:
    return "mlp.down_proj";
  }
  llvm_unreachable("no such part");
}

/// Returns the name of a part in GPT-2's files.
static StringRef gpt2Name(Part part) {
  switch (part) {
  case Part::embedding:
    return "wte";
  case Part::positions:
    return "wpe";
  case Part::lastNorm:
    return "ln_f";
  case Part::attentionNorm:
    return "ln_1";
  case Part::feedForwardNorm:
    return "ln_2";
  case Part::queryKeyValue:
    return "attn.c_attn";
  case Part::output:
    return "attn.c_proj";
  case Part::up:
    return "mlp.c_fc";
  case Part::down:
    return "mlp.c_proj";
  default:
    return "lm_head";
  }
}

std::string decoder::tensorName(const DecoderConfig &config,
                                const TensorId &id) {
  bool isGpt2 = config.family == "gpt2";
  std::string name = id.layer < 0 ? ""
                                  : (isGpt2 ? "h." : "layers.") +
                                        std::to_string(id.layer) + ".";
  name += isGpt2 ? gpt2Name(id.part) : partName(config, id.part);
  return name + (id.isBias ? ".bias" : ".weight");
}

ArrayRef<StringRef> decoder::tensorPrefixes(const DecoderConfig &config) {
  static const StringRef gpt2[] = {"transformer.", ""};
  static const StringRef images[] = {"language_model.model.",
                                     "model.language_model.", "model.", ""};
  static const StringRef others[] = {"model.", ""};
  if (config.family == "gpt2")
    return gpt2;
  if (config.family == "gemma3")
    return images;
  return others;
}

bool decoder::isUnused(const DecoderConfig &config, StringRef name) {
  if (config.family == "gemma3" && (name.contains("vision_tower.") ||
                                    name.contains("multi_modal_projector.")))
    return true;
  if (config.family == "gpt2" &&
      (name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias")))
    return true;
  return name.ends_with("rotary_emb.inv_freq") ||
         (config.tiesHead && name.ends_with("lm_head.weight"));
}
