//===- TrainingEntries.cpp - Functions of a model that trains -------------===//

#include "compiler/pipeline/Pipeline.h"

#include "frit/role_names.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace frit;

/// Imports a model that trains once for each size of its open dimension. Each
/// import has functions of its own, because padding would change the loss. The
/// largest comes first; the names of its functions get no size.
LogicalResult Pipeline::importForTraining(
    const ModelSource &source,
    llvm::function_ref<OwningOpRef<ModuleOp>(ArrayRef<int64_t>)> importFor) {
  ArrayRef<SymbolSizes> symbols = source.openSymbols;
  if (symbols.size() > 1) {
    emitError(UnknownLoc::get(&context))
        << "a model that trains has several sizes of one dimension at most: "
           "fix '"
        << symbols.back().name << "' with -fshape=" << symbols.back().name
        << "=SIZE";
    return failure();
  }
  std::vector<std::vector<int64_t>> all = {{}};
  if (!symbols.empty()) {
    all.clear();
    for (int64_t size : llvm::reverse(symbols.front().sizes))
      all.push_back({size});
  }
  for (const std::vector<int64_t> &sizes : all) {
    bool isFirst = entries.empty();
    // The first import has reported warnings.
    ScopedDiagnosticHandler once(&context, [&](Diagnostic &diagnostic) {
      return success(!isFirst &&
                     diagnostic.getSeverity() != DiagnosticSeverity::Error);
    });
    auto imported = importVariants(
        {},
        [&](ArrayRef<int64_t>, const ImportMode &) { return importFor(sizes); },
        context);
    std::string suffix = isFirst ? "" : "_" + std::to_string(sizes[0]);
    if (failed(imported) ||
        failed(addTrainingEntries(source, std::move(*imported), suffix)))
      return failure();
  }
  return success();
}

/// Makes the functions of a model that trains from the imported one.
LogicalResult Pipeline::addTrainingEntries(const ModelSource &source,
                                           ModelVariants model,
                                           const Twine &suffix) {
  ModuleOp module = *model.modules.front();
  if (failed(hooks.keep(Stage::imported, module, ("nn" + suffix).str())))
    return failure();
  if (model.shapes.counts)
    return emitError(
        module.getLoc(),
        "a model that trains has one size of every dimension, and data decide "
        "some of this one's");
  TrainingOptions training = *options.training;
  if (training.batch) {
    auto main = module.lookupSymbol<func::FuncOp>("main");
    ArrayRef<int64_t> shape;
    if (main.getNumArguments())
      shape = nn::shapeOf(main.getArgument(0));
    if (shape.empty() || !shape[0] || training.batch % shape[0])
      return emitError(locationOf(training, main), "'batch': it is ")
             << training.batch << ", no multiple of the "
             << (shape.empty() ? 0 : shape[0]) << " samples of a call";
    training.accumulate = training.batch / shape[0];
  }
  for (frit_function_role role :
       {FRIT_FUNCTION_TRAIN_STEP, FRIT_FUNCTION_EVAL_STEP}) {
    ModelVariants own;
    own.modules.push_back(model.modules.front()->clone());
    own.suffixes = model.suffixes;
    own.shapes = model.shapes;
    entries.push_back({(artifact::kFunctionRoles[role] + suffix).str(), role,
                       std::move(own), source.types, source.states, training});
  }
  return success();
}
