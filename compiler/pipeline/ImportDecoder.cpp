//===- ImportDecoder.cpp - From a decoder's files to nn -------------------===//

#include "compiler/gguf/Model.h"
#include "compiler/pipeline/Pipeline.h"

#include "frit/role_names.h"

using namespace mlir;
using namespace frit;

/// Describes that calls may have any number of tokens up to the largest chunk.
/// No proof is needed: `count` says how many tokens count.
static plan::OpenShapes chunkShapes(frit_function_role role,
                                    ArrayRef<int64_t> chunks) {
  plan::OpenShapes shapes;
  shapes.symbols.push_back({"chunk", 1, chunks.back(), /*padded=*/true});
  for (int64_t chunk : chunks) {
    plan::OpenVariant &variant = shapes.variants.emplace_back();
    variant.sizes = {chunk};
    plan::Extent fixed, open;
    open.symbol = 0;
    open.factor = 1;
    // The inputs are the tokens and their count. The outputs are logits and, of
    // verify, the likeliest tokens, or what the encoder makes of the tokens.
    variant.inputs = {{fixed, open}, {fixed}};
    if (role == FRIT_FUNCTION_VERIFY)
      variant.outputs = {{fixed, open, fixed}, {fixed, open}};
    else if (role == FRIT_FUNCTION_ENCODE)
      variant.outputs = {{fixed, open, fixed}};
    else
      variant.outputs = {{fixed, fixed}};
  }
  return shapes;
}

/// Builds a function that takes tokens, for each size of a chunk up to `most`.
static LogicalResult buildChunks(EntryPoint &entry, ArrayRef<int64_t> sizes,
                                 int64_t most, BuildDecoder build) {
  SmallVector<int64_t> chunks;
  for (int64_t chunk : sizes)
    chunks.push_back(std::min(chunk, most));
  chunks.erase(llvm::unique(chunks), chunks.end());
  for (int64_t chunk : chunks) {
    entry.model.modules.push_back(build(entry.role, chunk));
    if (!entry.model.modules.back())
      return failure();
    entry.model.suffixes.push_back("_" + std::to_string(chunk));
  }
  entry.model.shapes = chunkShapes(entry.role, chunks);
  return success();
}

/// Builds the modules of a function.
static LogicalResult buildEntry(EntryPoint &entry,
                                const decoder::DecoderOptions &asked,
                                const DecoderLimits &limits,
                                BuildDecoder build) {
  switch (entry.role) {
  case FRIT_FUNCTION_PREFILL:
    return buildChunks(entry, asked.chunks, limits.context, build);
  case FRIT_FUNCTION_VERIFY:
    return buildChunks(entry, *asked.verify, limits.context, build);
  case FRIT_FUNCTION_ENCODE:
    if (limits.readsSound)
      break;
    if (asked.chunks.back() < limits.places) {
      std::vector<int64_t> sizes = asked.chunks;
      sizes.push_back(limits.places);
      return buildChunks(entry, sizes, limits.places, build);
    }
    return buildChunks(entry, asked.chunks, limits.places, build);
  default:
    break;
  }
  bool encodes = entry.role == FRIT_FUNCTION_ENCODE;
  entry.model.modules.push_back(build(entry.role, encodes ? limits.places : 1));
  entry.model.suffixes = {""};
  return success(bool(entry.model.modules.front()));
}

LogicalResult Pipeline::addDecoder(const ModelSource &source,
                                   const DecoderLimits &limits,
                                   BuildDecoder build) {
  const decoder::DecoderOptions &asked = *source.decoder;
  SmallVector<frit_function_role> roles{FRIT_FUNCTION_PREFILL,
                                        FRIT_FUNCTION_DECODE};
  if (asked.verify)
    roles.push_back(FRIT_FUNCTION_VERIFY);
  if (limits.places)
    roles.push_back(FRIT_FUNCTION_ENCODE);
  SmallVector<EntryPoint, 4> made;
  for (frit_function_role role : roles) {
    EntryPoint &entry =
        made.emplace_back(EntryPoint{artifact::kFunctionRoles[role], role});
    // A file with caches has types as other models.
    entry.hasTypes = !source.file && source.parts.empty();
    entry.types = source.types;
    if (failed(buildEntry(entry, asked, limits, build)))
      return failure();
  }
  hooks.say("read " + source.path);
  for (EntryPoint &entry : made) {
    entries.push_back(std::move(entry));
    for (auto [i, variant] : llvm::enumerate(entries.back().model.modules))
      if (failed(hooks.keep(Stage::imported, *variant,
                            nameOf(entries.back(), i, "nn"))))
        return failure();
  }
  return success();
}

/// Returns the bytes of a module's adapters.
static int64_t adapterBytes(ModuleOp module) {
  int64_t bytes = 0;
  for (auto state : module.getOps<nn::StateOp>())
    if (state.getRole() == artifact::kStateRoles[FRIT_STATE_ADAPTER])
      bytes += int64_t(plan::byteSize(state.getType()));
  return bytes;
}

/// Adds the functions of a language model: prefill and decode, if asked for
/// verify, and encode if it has an encoder.
LogicalResult Pipeline::importDecoder(const ModelSource &source) {
  TimingScope scope = timing.nest("import");
  PipelineHooks::Work work(hooks, "read " + source.path);
  auto decoder = gguf::isModel(source.path)
                     ? gguf::readModel(source.path, source.import, context)
                     : decoder::readFolder(source.path, source.import, context);
  if (!decoder)
    return failure();
  Location loc = FileLineColLoc::get(&context, source.path, 0, 0);
  auto sizes = decoder::chooseSizes(decoder->config, *source.decoder, loc);
  if (!sizes)
    return failure();
  auto build = [&](frit_function_role role, int64_t chunk) {
    return decoder::buildFunction(decoder->config, *decoder->weights, *sizes,
                                  role, chunk);
  };
  const auto &encoder = decoder->config.encoder;
  size_t first = entries.size();
  if (failed(addDecoder(
          source, {sizes->context, sizes->places, encoder && encoder->bins},
          build)) ||
      failed(decoder->weights->checkAllRead()))
    return failure();
  describeMemory = [config = decoder->config, sizes = *sizes,
                    adapters = adapterBytes(
                        *entries[first].model.modules.front())](int64_t bytes) {
    return decoder::describeMemory(config, sizes, bytes, adapters);
  };
  return success();
}
