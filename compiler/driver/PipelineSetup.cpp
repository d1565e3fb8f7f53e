//===- PipelineSetup.cpp - What a command line asks of the pipeline -------===//

#include "compiler/driver/PipelineSetup.h"

#include "codegen/cuda/compile/Nvrtc.h"
#include "compiler/driver/ModelInput.h"
#include "compiler/support/OwnedFiles.h"

using namespace frit;
using llvm::StringRef;

/// Returns the last stage that --emit needs.
static Stage stageOf(Emit emit) {
  switch (emit) {
  case Emit::nn:
  case Emit::json:
    return Stage::imported;
  case Emit::fused:
    return Stage::fused;
  case Emit::plan:
  case Emit::dot:
    return Stage::plan;
  case Emit::cuda:
    return Stage::cuda;
  case Emit::ptx:
  case Emit::cubin:
    return Stage::device;
  case Emit::object:
  case Emit::shared:
    return Stage::artifact;
  }
  llvm_unreachable("no such output");
}

PipelineOptions frit::pipelineOptionsOf(const DriverOptions &options) {
  PipelineOptions made;
  made.precision = options.precision;
  made.float8Gradients = options.float8Gradients;
  made.keepWide = options.keepWide;
  made.keepWideFile = options.keepWideFile;
  made.weights = options.weights;
  made.sparsity = options.sparsity;
  made.memoryLimit = options.memoryLimit;
  made.fuse = options.fuse;
  made.guard = options.guard;
  made.fork = options.fork;
  made.archs = options.archs;
  made.system = options.system;
  made.cuda.gpu = options.gpu;
  made.cuda.cublas = options.cublas;
  made.cuda.cudnn = options.cudnn;
  made.cuda.deterministic = options.deterministic;
  made.cuda.batchInvariant = options.batchInvariant;
  made.title = options.title;
  made.last = stageOf(options.emit);
  return made;
}

/// Adds the functions that a model becomes: a JSON graph with several functions
/// is one source each, unless -fentry names one.
static llvm::Error addSources(const DriverOptions &options, ModelSource source,
                              bool isNamed, std::vector<ModelSource> &sources) {
  std::vector<std::string> functions;
  if (source.isJson && source.file)
    functions = listJsonFunctions(source.file->getBuffer());
  if (isNamed && llvm::is_contained(functions, source.name)) {
    source.graph = source.name;
    functions.clear();
  }
  if (functions.empty()) {
    sources.push_back(std::move(source));
    return llvm::Error::success();
  }
  for (const std::string &name : functions) {
    if (!isFunctionName(name) ||
        llvm::any_of(sources, [&](auto &s) { return s.name == name; }))
      return llvm::createStringError(
          source.path + ": function '" + name +
          "' needs a name of its own, of letters, digits, '_', '-' and '.', "
          "other than prepare and derive");
    source.name = source.graph = name;
    sources.push_back(source);
  }
  if (sources.size() > 1 &&
      (!options.trainingFile.empty() || options.emit == Emit::json))
    return llvm::createStringError(
        source.path +
        ": it has several functions, and --train and --emit=json "
        "take one; -fentry=NAME=" +
        source.path + " chooses it");
  return llvm::Error::success();
}

/// Returns what a command line asks of a language model. Values have
/// the model's types on GPUs and are f32 on CPUs, unless -fprecision is given.
static decoder::DecoderOptions decoderOptionsOf(const DriverOptions &options,
                                                const ModelInput &input) {
  decoder::DecoderOptions made;
  made.batch = options.batch.value_or(1);
  made.context = options.context;
  made.source = options.source;
  made.verify = options.verify;
  made.cache = options.cache;
  made.loraRank = options.loraRank.value_or(0);
  if (options.precision == "fp16")
    made.type = "f16";
  else if (options.precision == "bf16")
    made.type = "bf16";
  else if (options.hasPrecision ||
           llvm::none_of(options.archs, cuda::isCudaArch))
    made.type = "f32";
  for (const SymbolSizes &symbol : input.openSymbols)
    made.chunks = symbol.sizes;
  if (int64_t chunk = input.import.symbols.lookup("chunk"))
    made.chunks = {chunk};
  return made;
}

llvm::Expected<std::vector<ModelSource>>
frit::readSources(const DriverOptions &options,
                  std::function<void(StringRef path, StringRef bytes)> onMap) {
  std::vector<ModelSource> sources;
  for (const ModelInput &input : options.inputs) {
    ModelSource source;
    source.path = input.path;
    if (input.isDecoder || input.hasCaches)
      source.decoder = decoderOptionsOf(options, input);
    for (const std::string &part : input.parts) {
      auto file = readModel(part);
      if (!file)
        return file.takeError();
      source.parts.push_back({std::move(*file), part});
    }
    if (!input.isDecoder && input.parts.empty()) {
      auto file = readModel(input.path);
      if (!file)
        return file.takeError();
      source.file = std::move(*file);
    }
    source.isJson = options.language ? *options.language == Language::json
                                     : StringRef(input.path).ends_with(".json");
    source.name = input.name;
    source.import = input.import;
    if (input.hasCaches)
      source.import.symbols.erase("chunk");
    source.import.onFile = [](StringRef path) { protectInput(path.str()); };
    source.import.onMap = [onMap](StringRef path, StringRef bytes) {
      onMap(path, bytes);
      protectInput(path.str());
    };
    source.openSymbols = input.openSymbols;
    source.types = input.types;
    source.states = input.states;
    source.sampler = options.sampler;
    if (llvm::Error error =
            addSources(options, std::move(source), input.isNamed, sources))
      return error;
  }
  return sources;
}
