//===- TensorNames.cpp - Names of tensors on Hugging Face -----------------===//

#include "compiler/decoder/TensorNames.h"

using namespace mlir;
using namespace frit;
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
  default:
    llvm_unreachable("no such part");
  }
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

/// Returns the name of a part in Whisper's files, within the encoder or the
/// decoder and within a layer if it is of one.
static StringRef whisperName(Part part) {
  switch (part) {
  case Part::embedding:
    return "embed_tokens";
  case Part::positions:
    return "embed_positions";
  case Part::lastNorm:
    return "layer_norm";
  case Part::attentionNorm:
    return "self_attn_layer_norm";
  case Part::feedForwardNorm:
    return "final_layer_norm";
  case Part::query:
    return "self_attn.q_proj";
  case Part::key:
    return "self_attn.k_proj";
  case Part::value:
    return "self_attn.v_proj";
  case Part::output:
    return "self_attn.out_proj";
  case Part::crossNorm:
    return "encoder_attn_layer_norm";
  case Part::crossQuery:
    return "encoder_attn.q_proj";
  case Part::crossKey:
    return "encoder_attn.k_proj";
  case Part::crossValue:
    return "encoder_attn.v_proj";
  case Part::crossOutput:
    return "encoder_attn.out_proj";
  case Part::up:
    return "fc1";
  case Part::down:
    return "fc2";
  case Part::firstConv:
    return "conv1";
  case Part::secondConv:
    return "conv2";
  default:
    llvm_unreachable("no such part");
  }
}

/// Returns the name of a part in T5's files, within the encoder or the decoder
/// and within a layer if it is of one.
static std::string t5Name(const DecoderConfig &config, const TensorId &id) {
  std::string forward = id.isEncoder ? "layer.1." : "layer.2.";
  std::string dense = forward + "DenseReluDense.";
  switch (id.part) {
  case Part::lastNorm:
    return "final_layer_norm";
  case Part::attentionNorm:
    return "layer.0.layer_norm";
  case Part::feedForwardNorm:
    return forward + "layer_norm";
  case Part::query:
    return "layer.0.SelfAttention.q";
  case Part::key:
    return "layer.0.SelfAttention.k";
  case Part::value:
    return "layer.0.SelfAttention.v";
  case Part::output:
    return "layer.0.SelfAttention.o";
  case Part::relativeBias:
    return "layer.0.SelfAttention.relative_attention_bias";
  case Part::crossNorm:
    return "layer.1.layer_norm";
  case Part::crossQuery:
    return "layer.1.EncDecAttention.q";
  case Part::crossKey:
    return "layer.1.EncDecAttention.k";
  case Part::crossValue:
    return "layer.1.EncDecAttention.v";
  case Part::crossOutput:
    return "layer.1.EncDecAttention.o";
  case Part::gate:
    return dense + "wi_0";
  case Part::up:
    return dense + (config.hasGate ? "wi_1" : "wi");
  case Part::down:
    return dense + "wo";
  default:
    llvm_unreachable("no such part");
  }
}

/// Returns the name of a part of a model that has an encoder.
static std::string encoderDecoderName(const DecoderConfig &config,
                                      const TensorId &id) {
  bool isWhisper = config.family == "whisper";
  if (id.part == Part::head)
    return isWhisper ? "proj_out" : "lm_head";
  if (id.part == Part::embedding && !isWhisper)
    return "shared";
  std::string name = id.isEncoder ? "encoder." : "decoder.";
  if (id.layer >= 0)
    name += (isWhisper ? "layers." : "block.") + std::to_string(id.layer) + ".";
  return name + (isWhisper ? whisperName(id.part).str() : t5Name(config, id));
}

std::string decoder::moduleName(const DecoderConfig &config,
                                const TensorId &id) {
  if (config.encoder)
    return encoderDecoderName(config, id);
  bool isGpt2 = config.family == "gpt2";
  std::string name = id.layer < 0 ? ""
                                  : (isGpt2 ? "h." : "layers.") +
                                        std::to_string(id.layer) + ".";
  name += isGpt2 ? gpt2Name(id.part) : partName(config, id.part);
  return name;
}

std::string decoder::tensorName(const DecoderConfig &config,
                                const TensorId &id) {
  return moduleName(config, id) + (id.isBias ? ".bias" : ".weight");
}

ArrayRef<StringRef> decoder::tensorPrefixes(const DecoderConfig &config) {
  static const StringRef gpt2[] = {"transformer.", ""};
  static const StringRef images[] = {"language_model.model.",
                                     "model.language_model.", "model.", ""};
  static const StringRef others[] = {"model.", ""};
  if (config.family == "gpt2")
    return gpt2;
  if (config.encoder && config.family != "whisper")
    return ArrayRef(others).drop_front();
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
  // Old files of T5 have the embedding three times, and a bias that is not
  // used.
  if (config.encoder && (name.ends_with("coder.embed_tokens.weight") ||
                         name == "decoder.block.0.layer.1.EncDecAttention."
                                 "relative_attention_bias.weight"))
    return true;
  return name.ends_with("rotary_emb.inv_freq") ||
         (config.tiesHead && (name.ends_with("lm_head.weight") ||
                              name.ends_with("proj_out.weight")));
}
