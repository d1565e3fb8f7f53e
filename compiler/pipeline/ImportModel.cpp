//===- ImportModel.cpp - From a model's file to nn ------------------------===//

#include "compiler/pipeline/Pipeline.h"
#include "compiler/transform/Names.h"

using namespace mlir;
using namespace frit;

/// Imports the model once for each combination of sizes that is compiled, and
/// proves that calls of sizes between them may be padded.
LogicalResult Pipeline::import(ModelSource &source) {
  TimingScope scope = timing.nest("import");
  PipelineHooks::Work work(hooks, "read " + source.path);
  ImportOptions import = source.import;
  import.graph = source.graph;
  import.trains = options.training.has_value();
  if (const auto &training = options.training)
    import.namesWeight = [&](StringRef name) -> std::optional<bool> {
      if (matchesAny(training->train, name) ||
          matchesAny(training->freeze, name))
        return true;
      return training->train.empty() ? std::nullopt : std::optional(false);
    };
  if (options.training && !options.training->dropout.empty())
    import.onValue = [](StringRef name, Value value) {
      recordValueName(value, name);
    };
  if (!options.training)
    for (const SymbolSizes &symbol : source.openSymbols)
      import.openSymbols.insert(symbol.name);
  // Imports that are only compared with another share its weights.
  WeightCache weights;
  import.weights = &weights;
  // Strings have the same numbers in all imports.
  StringNumbers strings;
  import.strings = &strings;
  auto importFor = [&](ArrayRef<int64_t> sizes, const ImportMode &mode) {
    import.computesPlaces = mode.computesPlaces;
    import.choices = mode.choices;
    import.followsChoices = mode.followsChoices;
    for (auto [symbol, size] : llvm::zip_equal(source.openSymbols, sizes))
      import.symbols[symbol.name] = size;
    return (source.isJson ? importJson : importOnnx)(
        source.file->getMemBufferRef(), source.path, import, context);
  };
  if (options.training)
    return importForTraining(
        source, [&](ArrayRef<int64_t> sizes) { return importFor(sizes, {}); });
  auto imported = importVariants(source.openSymbols, importFor, context);
  if (failed(imported))
    return failure();
  hooks.say("read " + source.path);
  entries.push_back({source.name, FRIT_FUNCTION_INFERENCE, std::move(*imported),
                     source.types, source.states});
  entries.back().sampler = source.sampler;
  for (auto [i, variant] : llvm::enumerate(entries.back().model.modules))
    if (failed(hooks.keep(Stage::imported, *variant,
                          nameOf(entries.back(), i, "nn"))))
      return failure();
  return success();
}

/// Returns whether a model has values of 16 bits itself.
static bool hasHalves(ModuleOp model) {
  auto isHalf = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && (tensor.getElementType().isF16() ||
                      tensor.getElementType().isBF16());
  };
  return model
      .walk([&](Operation *op) {
        bool found = llvm::any_of(op->getResultTypes(), isHalf);
        return found ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Warns of nodes that stay f32 in models that are, and of patterns which match
/// no node.
void Pipeline::warnOfKeptNames() {
  auto warn = [&] {
    return emitWarning(FileLineColLoc::get(&context, options.keepWideFile,
                                           /*line=*/0, /*column=*/0));
  };
  SmallVector<StringRef> names;
  bool isWide = true;
  for (EntryPoint &entry : entries) {
    isWide &= precisionOf(options, entry) == "fp32";
    for (OwningOpRef<ModuleOp> &variant : entry.model.modules) {
      isWide &= !hasHalves(*variant);
      variant->walk(
          [&](Operation *op) { llvm::append_range(names, nodeNamesOf(op)); });
    }
  }
  if (isWide && !options.keepWideFile.empty())
    warn() << "-fkeep-fp32 has no effect without -fprecision=, on a model that "
              "computes in f32 [-Wunused]";
  for (const std::string &pattern : options.keepWide)
    checkPatterns(pattern, names, "node", " [-Wpattern]", warn);
}
