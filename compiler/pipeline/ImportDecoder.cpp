//===- ImportDecoder.cpp - From a decoder's files to nn -------------------===//

#include "compiler/decoder/Caches.h"
#include "compiler/gguf/Model.h"
#include "compiler/import/CacheShapes.h"
#include "compiler/pipeline/Pipeline.h"

using namespace mlir;
using namespace frit;

/// Describes that calls of prefill may have any number of tokens up to the
/// largest chunk. No proof is needed: `count` says how many tokens count.
static plan::OpenShapes chunkShapes(ArrayRef<int64_t> chunks) {
  plan::OpenShapes shapes;
  shapes.symbols.push_back({"chunk", 1, chunks.back(), /*padded=*/true});
  for (int64_t chunk : chunks) {
    plan::OpenVariant &variant = shapes.variants.emplace_back();
    variant.sizes = {chunk};
    plan::Extent fixed, open;
    open.symbol = 0;
    open.factor = 1;
    // The inputs are the tokens and their count, the output is the logits.
    variant.inputs = {{fixed, open}, {fixed}};
    variant.outputs = {{fixed, fixed}};
  }
  return shapes;
}

/// Adds the functions of a language model: prefill for each size of a chunk,
/// and decode.
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
  EntryPoint decode{"decode", FRIT_FUNCTION_DECODE};
  decode.hasTypes = true;
  decode.types = source.types;
  decode.model.modules.push_back(build(FRIT_FUNCTION_DECODE, 1));
  if (!decode.model.modules.front() || failed(decoder->weights->checkAllRead()))
    return failure();
  decode.model.suffixes = {""};

  EntryPoint prefill{"prefill", FRIT_FUNCTION_PREFILL};
  prefill.hasTypes = true;
  prefill.types = source.types;
  SmallVector<int64_t> chunks;
  for (int64_t chunk : source.decoder->chunks)
    chunks.push_back(std::min(chunk, sizes->context));
  chunks.erase(llvm::unique(chunks), chunks.end());
  for (int64_t chunk : chunks) {
    prefill.model.modules.push_back(build(FRIT_FUNCTION_PREFILL, chunk));
    if (!prefill.model.modules.back())
      return failure();
    prefill.model.suffixes.push_back("_" + std::to_string(chunk));
  }
  prefill.model.shapes = chunkShapes(chunks);
  hooks.say("read " + source.path);
  hooks.tell(decoder::describeMemory(*decoder, *sizes));
  for (EntryPoint *entry : {&prefill, &decode}) {
    entries.push_back(std::move(*entry));
    for (auto [i, variant] : llvm::enumerate(entries.back().model.modules))
      if (failed(hooks.keep(Stage::imported, *variant,
                            nameOf(entries.back(), i, "nn"))))
        return failure();
  }
  return success();
}

/// Adds the functions of a language model whose caches are inputs and outputs.
LogicalResult Pipeline::importCaches(const ModelSource &source) {
  TimingScope scope = timing.nest("import");
  PipelineHooks::Work work(hooks, "read " + source.path);
  const decoder::DecoderOptions &asked = *source.decoder;
  int64_t batch = asked.batch, capacity = *asked.context;
  ImportOptions import = source.import;
  // All functions share weights.
  WeightCache weights;
  import.weights = &weights;
  auto build = [&](frit_function_role role,
                   int64_t tokens) -> OwningOpRef<ModuleOp> {
    auto shapes =
        findCacheShapes(source.file->getBuffer(), {batch, capacity, tokens},
                        import.constInputs);
    if (!shapes) {
      emitError(FileLineColLoc::get(&context, source.path, 0, 0))
          << llvm::toString(shapes.takeError());
      return {};
    }
    import.inputShapes = std::move(*shapes);
    auto module = importOnnx(source.file->getMemBufferRef(), source.path,
                             import, context);
    if (module &&
        failed(decoder::bindCaches(*module, batch, capacity, tokens, role)))
      return {};
    return module;
  };
  EntryPoint prefill{"prefill", FRIT_FUNCTION_PREFILL};
  EntryPoint decode{"decode", FRIT_FUNCTION_DECODE};
  SmallVector<int64_t> chunks;
  for (int64_t chunk : asked.chunks)
    chunks.push_back(std::min(chunk, capacity));
  chunks.erase(llvm::unique(chunks), chunks.end());
  for (int64_t chunk : chunks) {
    prefill.model.modules.push_back(build(FRIT_FUNCTION_PREFILL, chunk));
    if (!prefill.model.modules.back())
      return failure();
    prefill.model.suffixes.push_back("_" + std::to_string(chunk));
  }
  prefill.model.shapes = chunkShapes(chunks);
  decode.model.modules.push_back(build(FRIT_FUNCTION_DECODE, 1));
  if (!decode.model.modules.front())
    return failure();
  decode.model.suffixes = {""};
  hooks.say("read " + source.path);
  for (EntryPoint *entry : {&prefill, &decode}) {
    entries.push_back(std::move(*entry));
    for (auto [i, variant] : llvm::enumerate(entries.back().model.modules))
      if (failed(hooks.keep(Stage::imported, *variant,
                            nameOf(entries.back(), i, "nn"))))
        return failure();
  }
  return success();
}
