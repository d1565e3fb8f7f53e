//===- ImportCaches.cpp - From decoders whose caches are inputs to nn -----===//

#include "compiler/decoder/caches/JoinEncoder.h"
#include "compiler/decoder/caches/PairConfig.h"
#include "compiler/import/CacheShapes.h"
#include "compiler/pipeline/Pipeline.h"

#include "frit/role_names.h"

#include "llvm/Support/Path.h"

using namespace mlir;
using namespace frit;

/// Returns whether @main reads an input of positions.
static bool readsPositions(ModuleOp module) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  for (BlockArgument argument : main.getArguments())
    if (auto name = main.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                                      "nn.name"))
      if (name.getValue().contains("position") && !argument.use_empty())
        return true;
  return false;
}

/// Returns whether operators of @main take lengths, and write rows of caches
/// where these say.
static bool takesLengths(ModuleOp module) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  return !main.getOps<nn::UpdateOp>().empty();
}

/// Imports a decoder for calls of a size, before its caches are bound.
static OwningOpRef<ModuleOp> importFor(const ModelFile &file,
                                       ImportOptions import,
                                       const CacheCall &call,
                                       MLIRContext &context) {
  auto shapes =
      findCacheShapes(file.bytes->getBuffer(), call, import.constInputs);
  if (!shapes) {
    emitError(FileLineColLoc::get(&context, file.path, 0, 0))
        << llvm::toString(shapes.takeError());
    return {};
  }
  import.inputShapes = std::move(*shapes);
  import.positions = {call.batch, call.context, call.tokens};
  return importOnnx(file.bytes->getMemBufferRef(), file.path, import, context);
}

/// Entries of the caches of the imports that are compared. Few, so that all
/// that sizes decide is known.
static constexpr int64_t kFewEntries[] = {5, 8};

/// Checks that a model depends on its caches' size only as checkPadding allows.
/// A number of the model may be a size by chance, as that of a window, and
/// decide there: then another size is tried.
static LogicalResult checkSizes(const ModelFile &file,
                                const ImportOptions &import, CacheCall few,
                                decoder::Padding padding,
                                MLIRContext &context) {
  for (int64_t entries : kFewEntries) {
    bool isLast = entries == std::end(kFewEntries)[-1];
    // The diagnostics of an attempt that is not the last one are dropped.
    ScopedDiagnosticHandler quiet(&context, [&](Diagnostic &diagnostic) {
      bool isDropped =
          !isLast && diagnostic.getSeverity() == DiagnosticSeverity::Error;
      return success(isDropped);
    });
    few.context = entries;
    auto shorter = importFor(file, import, few, context);
    few.context = entries + 1;
    auto longer = importFor(file, import, few, context);
    if (shorter && longer &&
        succeeded(decoder::checkPadding(*shorter, *longer, padding, entries)))
      return success();
  }
  return failure();
}

/// Imports a decoder and makes it a function of a role. What depends on its
/// caches' size is checked for the first.
static OwningOpRef<ModuleOp> importStep(const ModelFile &file,
                                        const ImportOptions &import,
                                        const CacheCall &call,
                                        frit_function_role role,
                                        MLIRContext &context) {
  auto module = importFor(file, import, call, context);
  if (!module)
    return {};
  if (role == FRIT_FUNCTION_DECODE &&
      (call.places || !readsPositions(*module))) {
    auto padding = takesLengths(*module) ? decoder::Padding::back
                                         : decoder::Padding::front;
    if (failed(checkSizes(file, import, call, padding, context)))
      return {};
  }
  if (failed(decoder::bindCaches(
          *module, {call.batch, call.context, call.tokens, call.places}, role)))
    return {};
  return module;
}

/// Says which context a decoder has positions for, if it has for fewer tokens
/// than caches of `call.context` and a call of `call.tokens` together.
static void explainContext(const ModelFile &file, const ImportOptions &import,
                           const CacheCall &call, MLIRContext &context) {
  auto fits = [&](int64_t tokens) {
    ScopedDiagnosticHandler quiet(&context,
                                  [](Diagnostic &) { return success(); });
    CacheCall fewer = call;
    fewer.context = tokens;
    fewer.tokens = std::min(call.tokens, tokens);
    return bool(importFor(file, import, fewer, context));
  };
  if (fits(call.context) || !fits(1))
    return;
  int64_t most = 1;
  for (int64_t beyond = call.context; beyond - most > 1;) {
    int64_t middle = most + (beyond - most) / 2;
    (fits(middle) ? most : beyond) = middle;
  }
  emitError(FileLineColLoc::get(&context, file.path, 0, 0))
      << "has positions for fewer tokens than caches of " << call.context
      << " and a call of " << std::min(call.tokens, call.context)
      << " hold; give --context=" << most;
}

/// Makes the tokens of a call those that a decoder's file fixes, if it does.
static LogicalResult fixChunks(const llvm::MemoryBuffer &file, StringRef path,
                               decoder::DecoderOptions &asked,
                               MLIRContext &context) {
  auto fixed = fixedTokens(file.getBuffer());
  if (!fixed)
    return success();
  if (asked.verify)
    return emitError(FileLineColLoc::get(&context, path, 0, 0))
           << "takes calls of " << *fixed
           << " tokens alone, and --verify needs several";
  asked.chunks = {*fixed};
  return success();
}

/// Returns what a function's states take.
static decoder::StateBytes stateBytes(ModuleOp module, int64_t batch,
                                      const DecoderLimits &limits) {
  decoder::StateBytes bytes{batch, limits.context, 0, limits.places};
  for (auto state : module.getOps<nn::StateOp>()) {
    auto size = int64_t(plan::byteSize(state.getType()));
    if (state.getRole() == artifact::kStateRoles[FRIT_STATE_CACHE])
      bytes.caches += size;
    if (state.getRole() == artifact::kStateRoles[FRIT_STATE_SOURCE])
      bytes.source += size;
  }
  return bytes;
}

/// Adds functions as addDecoder does, and describes their memory.
LogicalResult Pipeline::addCaches(const ModelSource &source,
                                  const DecoderLimits &limits,
                                  BuildDecoder build) {
  size_t first = entries.size();
  if (failed(addDecoder(source, limits, build)))
    return failure();
  describeMemory = [states = stateBytes(*entries[first].model.modules.front(),
                                        source.decoder->batch,
                                        limits)](int64_t bytes) {
    return decoder::describeMemory(states, bytes);
  };
  return success();
}

/// Adds the functions of a language model whose caches are inputs and outputs.
LogicalResult Pipeline::importCaches(const ModelSource &source) {
  TimingScope scope = timing.nest("import");
  PipelineHooks::Work work(hooks, "read " + source.path);
  ModelSource chosen = source;
  decoder::DecoderOptions &asked = *chosen.decoder;
  int64_t batch = asked.batch, capacity = *asked.context;
  auto part = partOf(source.file->getBuffer());
  if (part == ModelPart::nextDecoder || part == ModelPart::bothDecoders)
    return emitError(FileLineColLoc::get(&context, source.path, 0, 0))
           << "reads a source, which its encoder gives: give "
              "encoder_model.onnx "
              "as well, or the folder of both";
  if (failed(fixChunks(*source.file, source.path, asked, context)))
    return failure();
  ImportOptions import = source.import;
  if (hasCacheBranch(source.file->getBuffer()))
    import.constInputs.try_emplace(kCacheBranch, kTrue.str());
  // All functions share weights.
  WeightCache weights;
  import.weights = &weights;
  ModelFile file{source.file, source.path};
  return addCaches(
      chosen, {capacity}, [&](frit_function_role role, int64_t tokens) {
        CacheCall call{batch, capacity, tokens};
        auto module = importStep(file, import, call, role, context);
        if (!module) {
          call.tokens = std::max(tokens, asked.chunks.back());
          explainContext(file, import, call, context);
        }
        return module;
      });
}

namespace {
/// Imports a model with an encoder from its files.
class PairImporter {
public:
  PairImporter(const ModelSource &source, MLIRContext &context)
      : source(source), context(context), asked(*source.decoder) {}

  /// Finds the files and the sizes. Fails after reporting what is missing.
  LogicalResult prepare();
  OwningOpRef<ModuleOp> build(frit_function_role role, int64_t tokens);
  DecoderLimits limits() const { return {capacity, places, readsSound}; }
  /// The decoder's options, with chunks that it takes.
  decoder::DecoderOptions options() const { return asked; }

private:
  LogicalResult findFiles();
  LogicalResult findSizes();
  OwningOpRef<ModuleOp> importEncoder(int64_t tokens);
  OwningOpRef<ModuleOp> buildEncode(int64_t tokens);
  InFlightDiagnostic error() {
    return emitError(FileLineColLoc::get(&context, source.path, 0, 0));
  }
  ImportOptions optionsFor(const ModelFile &file, bool usesCaches);

  const ModelSource &source;
  MLIRContext &context;
  decoder::DecoderOptions asked;
  const ModelFile *encoder = nullptr, *first = nullptr, *next = nullptr;
  decoder::PairConfig config;
  int64_t capacity = 0, places = 0;
  bool readsSound = false;
  std::vector<decoder::SourceState> states;
  llvm::StringMap<WeightCache> weights; ///< by file
};
} // namespace

LogicalResult PairImporter::findFiles() {
  for (const ModelFile &file : source.parts) {
    auto part = partOf(file.bytes->getBuffer());
    if (!part) {
      // Reports what is wrong with it.
      (void)importOnnx(file.bytes->getMemBufferRef(), file.path, source.import,
                       context);
      return failure();
    }
    switch (*part) {
    case ModelPart::encoder:
      encoder = &file;
      break;
    case ModelPart::firstDecoder:
      first = first ? first : &file;
      break;
    case ModelPart::nextDecoder:
      next = next ? next : &file;
      break;
    case ModelPart::bothDecoders:
      first = next = &file;
      break;
    case ModelPart::other:
      return emitError(FileLineColLoc::get(&context, file.path, 0, 0))
             << "is no part of a model with an encoder: neither an encoder nor "
                "a decoder that takes encoder_hidden_states or caches of a "
                "source";
    }
  }
  if (!encoder)
    return error() << "a decoder that reads a source comes with its encoder; "
                      "give encoder_model.onnx as well";
  if (!next)
    return error() << (first ? "'" + first->path + "' takes no caches; give "
                             : "an encoder comes with its decoder; give ")
                   << "decoder_model_merged.onnx, or decoder_model.onnx and "
                      "decoder_with_past_model.onnx, which `optimum-cli export "
                      "onnx --task text2text-generation-with-past` writes";
  if (!first)
    return error() << "'" << next->path
                   << "' takes caches of the source, which decoder_model.onnx "
                      "gives; give that as well";
  return success();
}

ImportOptions PairImporter::optionsFor(const ModelFile &file, bool usesCaches) {
  ImportOptions import = source.import;
  import.weights = &weights[file.path];
  if (&file != encoder && hasCacheBranch(file.bytes->getBuffer()))
    import.constInputs.try_emplace(kCacheBranch,
                                   (usesCaches ? kTrue : kFalse).str());
  return import;
}

OwningOpRef<ModuleOp> PairImporter::importEncoder(int64_t tokens) {
  auto shapes =
      findEncoderShapes(encoder->bytes->getBuffer(),
                        {asked.batch, tokens, config.bins, 2 * config.frames});
  if (!shapes) {
    emitError(FileLineColLoc::get(&context, encoder->path, 0, 0))
        << llvm::toString(shapes.takeError());
    return {};
  }
  ImportOptions import = optionsFor(*encoder, false);
  import.inputShapes = std::move(*shapes);
  return importOnnx(encoder->bytes->getMemBufferRef(), encoder->path, import,
                    context);
}

/// Chooses the places of the source and the entries of the caches.
LogicalResult PairImporter::findSizes() {
  Location loc = FileLineColLoc::get(&context, encoder->path, 0, 0);
  SmallString<128> beside(llvm::sys::path::parent_path(encoder->path));
  llvm::sys::path::append(beside, "config.json");
  auto read = decoder::readPairConfig(
      beside, FileLineColLoc::get(&context, beside, 0, 0));
  if (failed(read))
    return failure();
  config = *read;
  readsSound = frit::readsSound(encoder->bytes->getBuffer());
  if (readsSound) {
    if (asked.source)
      return emitError(loc) << "reads a sound, whose length its file fixes; "
                               "--source is for models that read tokens";
    auto module = importEncoder(0);
    if (!module)
      return failure();
    Value encoded = decoder::encodedOf(*module);
    if (!encoded)
      return emitError(loc) << "has no output of floats, batch x places x "
                               "width, that a decoder could read";
    places = cast<RankedTensorType>(encoded.getType()).getDimSize(1);
  } else {
    places = asked.source.value_or(config.positions.value_or(0));
    if (!places)
      return error() << "how many tokens of a source the caches hold is not "
                        "known, as there is no config.json beside the encoder; "
                        "--source=NUMBER says it";
  }
  capacity = asked.context.value_or(config.positions.value_or(0));
  if (!capacity)
    return error() << "how many tokens the decoder's caches hold is not known, "
                      "as there is no config.json beside the encoder; "
                      "--context=NUMBER says it";
  return fixChunks(*next->bytes, next->path, asked, context);
}

LogicalResult PairImporter::prepare() {
  return success(succeeded(findFiles()) && succeeded(findSizes()));
}

OwningOpRef<ModuleOp> PairImporter::buildEncode(int64_t tokens) {
  auto module = importEncoder(tokens);
  if (!module)
    return {};
  auto decoder = importFor(*first, optionsFor(*first, false),
                           {asked.batch, 1, 1, tokens}, context);
  if (!decoder || failed(decoder::joinEncoder(*module, *decoder, states,
                                              asked.batch, tokens)))
    return {};
  return module;
}

OwningOpRef<ModuleOp> PairImporter::build(frit_function_role role,
                                          int64_t tokens) {
  if (role == FRIT_FUNCTION_ENCODE)
    return buildEncode(tokens);
  auto module =
      importStep(*next, optionsFor(*next, true),
                 {asked.batch, capacity, tokens, places}, role, context);
  if (module)
    states = decoder::sourceStates(*module);
  return module;
}

/// Adds the functions of a model with an encoder, from its files.
LogicalResult Pipeline::importPair(const ModelSource &source) {
  TimingScope scope = timing.nest("import");
  PipelineHooks::Work work(hooks, "read " + source.path);
  PairImporter importer(source, context);
  if (failed(importer.prepare()))
    return failure();
  ModelSource chosen = source;
  chosen.decoder = importer.options();
  return addCaches(chosen, importer.limits(),
                   [&](frit_function_role role, int64_t tokens) {
                     return importer.build(role, tokens);
                   });
}
