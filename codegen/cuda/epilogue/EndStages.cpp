//===- EndStages.cpp - Stages of an epilogue in frit's kernels ------------===//

#include "codegen/cuda/epilogue/EndStages.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

/// Calls `visit` with the code of each stage.
template <typename Visit>
static void visitAll(ArrayRef<nn::EndStage> stages, Visit visit) {
  for (const nn::EndStage &one : stages)
    visit(*std::visit([](const auto &stage) { return codeOf(stage); }, one));
}

nn::Legality frit::cuda::checkStages(const nn::GemmInfo &product, Type result) {
  nn::Legality why;
  visitAll(product.epilogue.stages, [&](const StageCode &code) {
    if (!why)
      why = code.check(product, result);
  });
  return why;
}

EndNeeds frit::cuda::needsOf(const nn::GemmInfo &product) {
  const nn::Epilogue &epilogue = product.epilogue;
  EndNeeds needs;
  visitAll(epilogue.stages,
           [&](const StageCode &code) { code.addNeeds(epilogue, needs); });
  if (product.pairedB) {
    needs.boxesRead = 0;
    needs.sumsPerResult = 2;
  }
  return needs;
}

SmallVector<StringRef> frit::cuda::wordsOf(const nn::Epilogue &epilogue) {
  SmallVector<StringRef> all;
  visitAll(epilogue.byKind(), [&](const StageCode &code) {
    if (StringRef words = code.words(); !words.empty())
      all.push_back(words);
  });
  return all;
}

void frit::cuda::addStages(const nn::Epilogue &epilogue, EpilogueText &text) {
  addFunction(epilogue, "Epilogue", text);
  visitAll(epilogue.byKind(),
           [&](const StageCode &code) { text.fields += code.fields(); });
}
