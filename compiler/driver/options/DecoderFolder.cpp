//===- DecoderFolder.cpp - Options of a language model --------------------===//

#include "compiler/driver/options/CommandLine.h"

#include "compiler/decoder/Decoder.h"

using namespace frit;
using llvm::StringRef;
using llvm::Twine;
using llvm::opt::Arg;

/// The most sequences that a language model is compiled for.
static constexpr int64_t kMostSequences = 65536;

/// The most tokens that a call of verify checks.
static constexpr int64_t kMostVerified = 1024;

/// The most tokens of a source.
static constexpr int64_t kMostPlaces = 1 << 20;

/// The highest rank of adapters.
static constexpr int64_t kMostRank = 4096;

/// Checks that an input that is a language model gets no options that
/// are for others.
bool CommandLine::checkDecoder(const ModelInput &input) {
  if (options.inputs.size() > 1 || input.isNamed)
    return wrong("'" + input.path +
                 "' is a language model, which becomes the "
                 "functions prefill and decode of an artifact of its own; give "
                 "it alone, without -fentry");
  if (!options.trainingFile.empty())
    return wrong("--train takes an ONNX model or a JSON graph, not a "
                 "language model's folder or GGUF file");
  if (StringRef(options.precision).starts_with("amp-"))
    return wrong("-fprecision=" + options.precision +
                 " is for training; a language model takes fp32, "
                 "tf32, fp16 and bf16");
  if (options.emit == Emit::json)
    return wrong("--emit=json writes one function, and a language model "
                 "becomes two");
  auto isChunk = [](StringRef name) { return name == "chunk"; };
  bool hasOthers =
      !input.import.inputShapes.empty() ||
      llvm::any_of(input.import.symbols,
                   [&](auto &entry) { return !isChunk(entry.getKey()); }) ||
      llvm::any_of(input.openSymbols,
                   [&](auto &symbol) { return !isChunk(symbol.name); });
  if (hasOthers)
    return wrong("-fshape of a language model takes chunk=SIZES, the "
                 "numbers of tokens of a call of prefill; --batch and "
                 "--context give the other sizes");
  if (!input.states.empty())
    return wrong("-fstate is not for a language model, whose caches "
                 "are states already");
  if (!input.import.bounds.empty() || !input.import.elements.empty() ||
      !input.import.constInputs.empty() || input.import.randomWeights)
    return wrong("-fbound, -felements, -fconst-input and -frandom-weights are "
                 "not for a language model");
  return true;
}

/// Checks a model's file that becomes prefill and decode by --context.
bool CommandLine::checkCaches(const ModelInput &input) {
  bool isPair = !input.parts.empty();
  std::string subject = isPair ? "a model with an encoder" : "--context";
  if (options.inputs.size() > 1 || input.isNamed)
    return wrong(subject +
                 " makes the functions prefill and decode of an artifact of a "
                 "model's file; give it alone, without -fentry");
  bool isJson = options.language ? *options.language == Language::json
                                 : StringRef(input.path).ends_with(".json");
  if (isJson || !options.trainingFile.empty() || options.emit == Emit::json)
    return wrong(subject + (isPair ? " is compiled" : " takes an ONNX model,") +
                 " without --train and --emit=json");
  if (StringRef(options.precision).starts_with("amp-"))
    return wrong("-fprecision=" + options.precision + " is for training; " +
                 subject + " takes fp32, tf32, fp16 and bf16");
  auto isChunk = [](StringRef name) { return name == "chunk"; };
  if (!input.import.inputShapes.empty() ||
      llvm::any_of(input.import.symbols,
                   [&](auto &entry) { return !isChunk(entry.getKey()); }) ||
      llvm::any_of(input.openSymbols,
                   [&](auto &symbol) { return !isChunk(symbol.name); }))
    return wrong("-fshape with " + subject +
                 " takes chunk=SIZES, the numbers of tokens of a call of "
                 "prefill; --batch and --context give the other sizes");
  bool hasSource = options.source && !isPair;
  if (options.loraRank || hasSource || !options.cache.empty())
    return wrong(Twine(hasSource          ? "--source"
                       : options.loraRank ? "--lora-rank"
                                          : "-fcache") +
                 " takes a model's folder or GGUF file, not an ONNX model with "
                 "caches");
  if (!input.states.empty() || !input.types.empty())
    return wrong("-fstate and -ftype are not for " + subject +
                 (isPair ? ", whose caches become states"
                         : ", which finds the model's caches and makes them "
                           "states"));
  return true;
}

bool CommandLine::readDecoder() {
  if (!readNumber(OPT_batch_EQ, "--batch", 1, kMostSequences, options.batch) ||
      !readNumber(OPT_context_EQ, "--context", 1, decoder::kLargestContext,
                  options.context) ||
      !readNumber(OPT_source_EQ, "--source", 1, kMostPlaces, options.source) ||
      !readNumber(OPT_verify_EQ, "--verify", 2, kMostVerified,
                  options.verify) ||
      !readNumber(OPT_lora_rank_EQ, "--lora-rank", 1, kMostRank,
                  options.loraRank))
    return false;
  auto cache = chosen(OPT_fcache_EQ, "");
  if (!cache)
    return false;
  options.cache = cache->str();
  options.hasPrecision = args.hasArg(OPT_fprecision_EQ);
  bool any = false;
  for (const ModelInput &input : options.inputs) {
    if (input.mostContext && !options.context)
      options.context = std::min(input.mostContext, decoder::kDefaultContext);
    if (input.mostContext && *options.context > input.mostContext)
      return wrong("--context is at most " + Twine(input.mostContext) +
                   ", the context_length of genai_config.json beside '" +
                   input.path + "'");
    any |= input.isDecoder || input.hasCaches;
    if ((input.isDecoder && !checkDecoder(input)) ||
        (input.hasCaches && !checkCaches(input)))
      return false;
  }
  if (!any && (options.batch || options.source || options.verify ||
               options.loraRank || !options.cache.empty()))
    return wrong(Twine(options.batch      ? "--batch"
                       : options.source   ? "--source"
                       : options.verify   ? "--verify"
                       : options.loraRank ? "--lora-rank"
                                          : "-fcache") +
                 " is for a language model: a folder with config.json "
                 "and model.safetensors, a GGUF file, or an ONNX model with "
                 "--context; -fshape gives the sizes of other models");
  return true;
}
