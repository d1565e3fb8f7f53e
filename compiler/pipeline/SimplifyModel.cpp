//===- SimplifyModel.cpp - What imported models compute, and in which bits ===//

#include "compiler/padding/Indices.h"
#include "compiler/padding/Strings.h"
#include "compiler/pipeline/Pipeline.h"
#include "compiler/training/Training.h"
#include "compiler/transform/Passes.h"
#include "compiler/transform/quantize/RoundableProducts.h"
#include "compiler/transform/sparse/Sparsity.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace frit;

/// Returns the names of a function's inputs, or of its outputs.
static SmallVector<std::string> namesOf(ArrayAttr attributes) {
  SmallVector<std::string> names;
  if (attributes)
    for (auto one : attributes.getAsRange<DictionaryAttr>()) {
      auto name = one.getAs<StringAttr>("nn.name");
      names.push_back(name ? name.str() : std::string());
    }
  return names;
}

/// Removes the extents of inputs and outputs that have become states, or that a
/// sampler gives.
static void dropStates(ModelVariants &model, ArrayRef<std::string> inputs,
                       ArrayRef<std::string> outputs) {
  for (auto [variant, module] :
       llvm::zip(model.shapes.variants, model.modules)) {
    auto main = module->lookupSymbol<func::FuncOp>("main");
    auto drop = [](auto &extents, ArrayRef<std::string> before,
                   ArrayRef<std::string> after) {
      for (size_t i = std::min(extents.size(), before.size()); i-- > 0;)
        if (!llvm::is_contained(after, before[i]))
          extents.erase(extents.begin() + i);
    };
    drop(variant.inputs, inputs, namesOf(main.getAllArgAttrs()));
    drop(variant.outputs, outputs, namesOf(main.getAllResultAttrs()));
  }
}

/// Returns the bytes of the models' weights, each counted once.
static int64_t countWeightBytes(ArrayRef<EntryPoint> entries) {
  llvm::DenseSet<Attribute> known;
  int64_t sum = 0;
  for (const EntryPoint &entry : entries)
    for (const OwningOpRef<ModuleOp> &module : entry.model.modules)
      module.get()->walk([&](nn::ConstantOp constant) {
        auto type = constant.getY().getType();
        if (constant.getNameAttr() && known.insert(constant.getValue()).second)
          sum += type.getNumElements() *
                 llvm::divideCeil(type.getElementTypeBitWidth(), 8);
      });
  return sum;
}

void Pipeline::tellMemory() {
  if (describeMemory)
    hooks.tell(describeMemory(countWeightBytes(entries)));
}

/// Returns the 16-bit type of a model's products, as a precision; empty if they
/// have none.
static StringRef findHalves(ModuleOp model) {
  StringRef found;
  model.walk([&](Operation *op) {
    if (!isa<nn::MatmulOp, nn::ConvOp>(op))
      return WalkResult::advance();
    Type element = nn::tensorType(op->getResult(0)).getElementType();
    found = element.isF16() ? "fp16" : element.isBF16() ? "bf16" : "";
    return found.empty() ? WalkResult::advance() : WalkResult::interrupt();
  });
  return found;
}

static func::FuncOp mainOf(EntryPoint &entry) {
  return entry.model.modules.front()->lookupSymbol<func::FuncOp>("main");
}

/// Returns whether a module has weights of which products read 2 of 4.
static bool hasSparseWeights(ModuleOp model) {
  return model
      .walk([](Operation *op) {
        auto function = dyn_cast<func::FuncOp>(op);
        bool found = op->hasAttr(kSparse);
        for (unsigned i = 0; function && i < function.getNumArguments(); ++i)
          found |= bool(function.getArgAttr(i, kSparse));
        return found ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Makes the model what its entry point runs, and finds what it computes.
LogicalResult Pipeline::recognize(EntryPoint &entry, TimingScope &scope) {
  PipelinePasses passes(context, hooks);
  // Recurrent layers become a list of steps.
  passes.addPass(createUnrollScans());
  // Prefix sums of long dimensions are computed by blocks.
  passes.addPass(createSplitPrefixSums());
  // Weights of products keep two of each four neighbours along k.
  if (options.sparsity != Sparsity::asTheyAre)
    passes.addPass(
        createSparseWeights(options.sparsity == Sparsity::pruned, &pruned));
  if (const auto &training = entry.training) {
    // Batch statistics and dropout.
    passes.addPass(createTrainingMode(*training, entry.role));
    // The loss, and weights that train as arguments.
    passes.addPass(createAddLoss(*training, entry.role));
  }
  addRecognitionPasses(passes, options);
  // A model of 16 bits is quantized as one of f32.
  if (options.quantize)
    entry.ownPrecision = findHalves(*entry.model.modules.front());
  if (!entry.ownPrecision.empty())
    addWideningPasses(passes);
  passes.enableTiming(scope);
  for (OwningOpRef<ModuleOp> &variant : entry.model.modules)
    if (failed(passes.run(*variant)))
      return failure();
  return success();
}

/// Chooses the bits in which the model computes and has its weights.
LogicalResult Pipeline::narrow(EntryPoint &entry, TimingScope &scope) {
  auto &modules = entry.model.modules;
  // Weights get codes by what the data make of their products' inputs.
  if (options.searchWeights && &entry == &entries.front()) {
    bool isPrefill = entry.role == FRIT_FUNCTION_PREFILL;
    if (failed(options.searchWeights(
            isPrefill ? *modules.back() : *modules.front(), rounded)))
      return failure();
  }
  // Products get scales, of a table or by the ranges of their inputs.
  if (options.quantize &&
      failed(options.quantize(modules, precisionOf(options, entry))))
    return failure();
  PipelinePasses passes(context, hooks);
  addPrecisionPasses(passes, options, entry);
  if (!options.weights.empty()) {
    passes.addPass(createQuantizeWeights(options.weights, &rounded));
    passes.addPass(createSimplify());
  }
  passes.enableTiming(scope);
  for (auto [i, variant] : llvm::enumerate(modules))
    if (failed(passes.run(*variant)) ||
        failed(hooks.keep(Stage::simplified, *variant,
                          nameOf(entry, i, "simplified"))))
      return failure();
  return success();
}

LogicalResult Pipeline::simplify() {
  TimingScope scope = timing.nest("model passes");
  bool isSparse = options.sparsity == Sparsity::asTheyAre;
  for (EntryPoint &entry : entries) {
    func::FuncOp main = mainOf(entry);
    auto inputs = namesOf(main.getAllArgAttrs());
    auto outputs = namesOf(main.getAllResultAttrs());
    if (failed(recognize(entry, scope)))
      return failure();
    isSparse |= hasSparseWeights(*entry.model.modules.front());
    if (failed(narrow(entry, scope)))
      return failure();
    if (!entry.states.empty() || !entry.sampler.empty())
      dropStates(entry.model, inputs, outputs);
    describeIndices(entry.model.modules, entry.model.shapes);
    if (failed(describeStrings(entry.model.modules, entry.model.shapes)))
      return failure();
  }
  auto hasCodes = [](auto &weight) { return weight.second.has_value(); };
  if (!options.weights.empty() && llvm::none_of(rounded, hasCodes))
    emitWarning(mainOf(entries.front()).getLoc())
        << "-fweights rounds no weight: it rounds matrices of products with at "
           "least "
        << kFewestRounded
        << " numbers; -Rpass-missed=weights says why one stays wide "
           "[-Wweights]";
  if (!isSparse)
    emitWarning(mainOf(entries.front()).getLoc())
        << "-fsparse leaves all weights dense; -Rpass-missed=sparse says why "
           "[-Wsparse]";
  tellMemory();
  return success();
}
