//===- Passes.cpp - The passes over nn ------------------------------------===//

#include "compiler/transform/Passes.h"

using namespace mlir;

void frit::registerTransformPasses(const nn::Target &target) {
  registerPass([] { return createSimplify(); });
  registerPass([] { return createCompose(); });
  registerPass([] { return createPrecision(); });
  registerPass([] { return createDifferentiate(); });
  registerPass([] { return createInterfaceTypes(); });
  registerPass([&target] { return createLayout(target); });
  registerPass([&target] { return createFoldNorms(target); });
  registerPass([&target] { return createDecompose(target); });
  registerPass([] { return createRecomputeWide(); });
  registerPass([&target] { return createSplitReductions(target); });
  registerPass([] { return createHoistPrepare(); });
  registerPass([&target] { return createAlignColumns(target); });
  registerPass([&target] { return createGuard(target); });
  registerPass([&target] { return createFusion(target); });
  registerPass([&target] { return createJoinColumnSums(target); });
  registerPass([&target] { return createSumProductColumns(target); });
  registerPass([&target] { return createJoinActivations(target); });
  registerPass([&target] { return createSchedule(target); });
}
