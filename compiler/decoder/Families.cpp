//===- Families.cpp - Families of decoders that the builder knows ---------===//

#include "compiler/decoder/Families.h"

#include "llvm/ADT/STLExtras.h"

using namespace frit;
using namespace frit::decoder;

static Family llama(llvm::StringRef type, llvm::StringRef architecture) {
  Family family;
  family.type = type;
  family.architecture = architecture;
  family.hasBias = true;
  return family;
}

static Family mistral() {
  Family family = llama("mistral", "MistralForCausalLM");
  family.windows = WindowRule::all;
  family.window = 4096;
  family.hasBias = false;
  return family;
}

static Family qwen2() {
  Family family = llama("qwen2", "Qwen2ForCausalLM");
  family.windows = WindowRule::fromLayer;
  family.window = 4096;
  family.hasBias = false;
  family.switches.queryBias = true;
  return family;
}

static Family qwen3() {
  Family family = llama("qwen3", "Qwen3ForCausalLM");
  family.windows = WindowRule::fromLayer;
  family.window = 4096;
  family.headSize = 128;
  family.switches.queryNorm = QueryNorm::head;
  return family;
}

static Family smollm3() {
  Family family = llama("smollm3", "SmolLM3ForCausalLM");
  family.windows = WindowRule::fromLayer;
  family.theta = 2000000;
  family.switches.tiesHead = true;
  return family;
}

static Family gemma() {
  Family family = llama("gemma", "GemmaForCausalLM");
  family.headSize = 256;
  family.switches.addsOneToNorm = true;
  family.switches.tiesHead = true;
  family.switches.activation = Activation::geluTanh;
  return family;
}

static Family gemma2() {
  Family family = gemma();
  family.type = "gemma2";
  family.architecture = "Gemma2ForCausalLM";
  family.windows = WindowRule::alternate;
  family.window = 4096;
  family.switches.normsAfter = true;
  family.switches.scoreCap = 50;
  family.switches.logitCap = 30;
  return family;
}

static Family gemma3(llvm::StringRef type, llvm::StringRef architecture) {
  Family family = gemma();
  family.type = type;
  family.architecture = architecture;
  family.windows = WindowRule::pattern;
  family.window = 4096;
  family.theta = 1000000;
  family.switches.normsAfter = true;
  family.switches.queryNorm = QueryNorm::head;
  // What files of models with images leave out.
  family.switches.vocabulary = 262208;
  family.switches.heads = 8;
  family.switches.groups = 4;
  family.switches.maxPositions = 131072;
  return family;
}

static Family phi3() {
  Family family = llama("phi3", "Phi3ForCausalLM");
  family.windows = WindowRule::all;
  family.hasBias = false;
  family.switches.joinsQueries = true;
  family.switches.joinsGate = true;
  family.switches.epsilon = 1e-5;
  return family;
}

static Family olmo2() {
  Family family = llama("olmo2", "Olmo2ForCausalLM");
  family.switches.normsBefore = false;
  family.switches.normsAfter = true;
  family.switches.queryNorm = QueryNorm::whole;
  family.switches.epsilon = 1e-5;
  return family;
}

static Family gpt2() {
  Family family = llama("gpt2", "GPT2LMHeadModel");
  family.hasBias = false;
  DecoderConfig &switches = family.switches;
  switches.norm = NormKind::layer;
  switches.epsilon = 1e-5;
  switches.queryBias = switches.outputBias = switches.feedForwardBias = true;
  switches.joinsQueries = switches.storesInputsFirst = true;
  switches.hasGate = false;
  switches.activation = Activation::geluTanh;
  switches.learnsPositions = switches.tiesHead = true;
  return family;
}

static Family t5(llvm::StringRef type, llvm::StringRef architecture) {
  Family family;
  family.type = type;
  family.architecture = architecture;
  family.hasEncoder = true;
  return family;
}

static Family whisper() {
  Family family = t5("whisper", "WhisperForConditionalGeneration");
  DecoderConfig &switches = family.switches;
  switches.norm = NormKind::layer;
  switches.epsilon = 1e-5;
  switches.queryBias = switches.outputBias = switches.feedForwardBias = true;
  switches.keyBias = switches.hasGate = false;
  switches.activation = Activation::gelu;
  switches.learnsPositions = true;
  return family;
}

llvm::ArrayRef<Family> decoder::families() {
  static const Family all[] = {
      llama("llama", "LlamaForCausalLM"),
      mistral(),
      qwen2(),
      qwen3(),
      gemma(),
      gemma2(),
      gemma3("gemma3_text", "Gemma3ForCausalLM"),
      gemma3("gemma3", "Gemma3ForConditionalGeneration"),
      phi3(),
      smollm3(),
      olmo2(),
      llama("granite", "GraniteForCausalLM"),
      gpt2(),
      t5("t5", "T5ForConditionalGeneration"),
      t5("mt5", "MT5ForConditionalGeneration"),
      whisper(),
  };
  return all;
}

const Family *decoder::findFamily(llvm::StringRef type) {
  auto found = llvm::find_if(
      families(), [&](const Family &family) { return family.type == type; });
  return found == families().end() ? nullptr : found;
}
