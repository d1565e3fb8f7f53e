//===- ImportVariants.cpp - A model and its variants, imported ------------===//

#include "compiler/padding/ImportVariants.h"

#include "compiler/padding/Counts.h"
#include "compiler/padding/Variants.h"

using namespace mlir;
using namespace frit;

FailureOr<ModelVariants> frit::importVariants(
    ArrayRef<SymbolSizes> symbols,
    llvm::function_ref<OwningOpRef<ModuleOp>(ArrayRef<int64_t>,
                                             const ImportMode &)>
        import,
    MLIRContext &context) {
  ModelVariants model;
  if (symbols.empty()) {
    OwningOpRef<ModuleOp> module = import({}, {});
    if (!module)
      return failure();
    model.modules.push_back(std::move(module));
    model.suffixes = {""};
  } else {
    Variants variants(symbols, import, context);
    if (!variants.build())
      return failure();
    for (size_t i = 0; i < variants.modules.size(); ++i)
      model.suffixes.push_back(variants.suffix(i));
    model.modules = std::move(variants.modules);
    model.shapes = std::move(variants.shapes);
  }
  for (OwningOpRef<ModuleOp> &module : model.modules)
    resolveCounts(*module);
  if (!describeCounts(model.modules, model.shapes))
    return failure();
  return model;
}
