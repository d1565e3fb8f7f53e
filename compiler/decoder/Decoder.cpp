//===- Decoder.cpp - Decoder language models from files -------------------===//

#include "compiler/decoder/Decoder.h"

#include "compiler/decoder/FolderWeights.h"
#include "compiler/decoder/ReadConfig.h"

#include "mlir/AsmParser/AsmParser.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace frit;
using namespace frit::decoder;

bool decoder::isDecoderFolder(StringRef path) {
  auto has = [&](StringRef name) {
    return llvm::sys::fs::is_regular_file(pathIn(path, name));
  };
  return llvm::sys::fs::is_directory(path) && has("config.json") &&
         (has("model.safetensors") || has("model.safetensors.index.json"));
}

std::unique_ptr<Decoder> decoder::readFolder(StringRef path,
                                             const ImportOptions &options,
                                             MLIRContext &context) {
  std::string file = pathIn(path, "config.json");
  Location loc = FileLineColLoc::get(&context, file, 0, 0);
  if (options.onFile)
    options.onFile(file);
  auto text = llvm::MemoryBuffer::getFile(file);
  if (!text) {
    emitError(loc) << "cannot be read: " << text.getError().message();
    return nullptr;
  }
  auto config = readConfig((*text)->getBuffer(), loc);
  if (!config)
    return nullptr;
  auto scheme = readScheme((*text)->getBuffer(), loc);
  std::string older = pathIn(path, "quantize_config.json");
  if (scheme && !scheme->isQuantized && llvm::sys::fs::is_regular_file(older))
    if (auto own = llvm::MemoryBuffer::getFile(older)) {
      if (options.onFile)
        options.onFile(older);
      scheme = readOlderScheme((*own)->getBuffer(),
                               FileLineColLoc::get(&context, older, 0, 0));
    }
  if (!scheme)
    return nullptr;
  auto made = std::make_unique<Decoder>();
  made->config = std::move(*config);
  auto weights = FolderWeights::open(path, made->config, std::move(*scheme),
                                     options, context);
  if (!weights)
    return nullptr;
  if (made->config.relativeBuckets)
    made->config.tiesHead = !weights->has({Part::head});
  if (made->config.tiesHead && weights->hasOtherHead()) {
    emitWarning(loc) << "\"tie_word_embeddings\" is true, but the head differs "
                        "from the embedding in the files; it is used, as by "
                        "transformers [-Wtied]";
    made->config.tiesHead = false;
  }
  if (made->config.type.empty())
    llvm::raw_string_ostream(made->config.type) << weights->embeddingType();
  made->weights = std::move(weights);
  return made;
}

std::optional<DecoderSizes> decoder::chooseSizes(const DecoderConfig &config,
                                                 const DecoderOptions &options,
                                                 Location loc) {
  int64_t context =
      options.context.value_or(std::min(config.maxPositions, kDefaultContext));
  bool isDynamic =
      llvm::any_of(config.rotaries, [](const RotaryConfig &rotary) {
        return rotary.kind == RotaryKind::dynamic;
      });
  if (context > config.maxPositions) {
    std::string text =
        ("a context of " + Twine(context) + " tokens exceeds the " +
         Twine(config.maxPositions) + " that the model is for")
            .str();
    if (config.learnsPositions || isDynamic) {
      emitError(loc) << text
                     << (isDynamic ? ", and the rope type 'dynamic' is "
                                     "supported up to there"
                                   : ", and it has no positions beyond them");
      return std::nullopt;
    }
    emitWarning(loc) << text << ": it may write nonsense there [-Wcontext]";
  }
  std::string type = options.type.empty() ? config.type : options.type;
  DecoderSizes sizes{options.batch, context, parseType(type, loc.getContext()),
                     loc};
  sizes.loraRank = options.loraRank;
  if (!options.cache.empty())
    sizes.cache = options.cache == "int8" ? nn::Code::int8 : nn::Code::e4m3;
  if (options.source && !(config.encoder && !config.encoder->bins)) {
    emitError(loc) << "--source gives the tokens of a source, but the model "
                   << (config.encoder ? "reads a sound" : "has no encoder");
    return std::nullopt;
  }
  if (config.encoder)
    sizes.places = options.source.value_or(config.encoder->places);
  for (const RotaryConfig &rotary : config.rotaries)
    sizes.tables.push_back(computeRotary(rotary, context, *loc.getContext()));
  return sizes;
}

/// Formats bytes: "1.25 GiB".
static std::string bytesText(int64_t bytes) {
  double number = bytes;
  StringRef units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  for (; number >= 1024 && unit + 1 < std::size(units); ++unit)
    number /= 1024;
  return unit ? llvm::formatv("{0:F2} {1}", number, units[unit]).str()
              : llvm::formatv("{0} bytes", bytes).str();
}

std::string decoder::describeMemory(const StateBytes &states,
                                    int64_t weightBytes) {
  std::string sequences =
      states.batch == 1
          ? ""
          : " of each of " + std::to_string(states.batch) + " sequences";
  std::string text =
      llvm::formatv("Memory: weights {0}, context of {1} tokens{2} {3} ({4} a "
                    "token)",
                    bytesText(weightBytes), states.context, sequences,
                    bytesText(states.caches),
                    bytesText(states.caches / states.context / states.batch));
  if (states.places)
    text += llvm::formatv(", source of {0} places{1} {2}", states.places,
                          sequences, bytesText(states.source));
  if (states.adapters)
    text += ", adapters " + bytesText(states.adapters);
  return text;
}

std::string decoder::describeMemory(const DecoderConfig &config,
                                    const DecoderSizes &sizes,
                                    int64_t weightBytes, int64_t adapterBytes) {
  StateBytes states{sizes.batch, sizes.context, cacheBytes(config, sizes)};
  if (config.encoder) {
    states.places = sizes.places;
    states.source = sourceBytes(config, sizes);
  }
  states.adapters = adapterBytes;
  return describeMemory(states, weightBytes);
}
