//===- Passes.cpp - The passes over nn ------------------------------------===//

#include "compiler/transform/Passes.h"

#include "compiler/transform/quantize/RoundedWeights.h"
#include "compiler/transform/sparse/Sparsity.h"

using namespace mlir;

void frit::registerTransformPasses(const nn::Target &target) {
  registerPass([] { return createSimplify(); });
  registerPass([] { return createUnrollScans(); });
  registerPass([] { return createSplitPrefixSums(); });
  registerPass([] { return createCompose(); });
  registerPass([] { return createPrecision(); });
  registerPass([] { return createInterfaceTypes(); });
  registerPass([] { return createBindStates(); });
  registerPass([] { return createAddSampler(); });
  registerPass([] { return createQuantizeWeights(); });
  registerPass([] { return createSparseWeights(); });
  registerPass([&target] { return createQuantizedConvs(target); });
  registerPass([&target] { return createLayout(target); });
  registerPass([&target] { return createFloat8Products(target); });
  registerPass([&target] { return createGateProducts(target); });
  registerPass([&target] { return createFoldProducts(target); });
  registerPass([&target] { return createFoldUpsampling(target); });
  registerPass([&target] { return createFoldNorms(target); });
  registerPass([&target] { return createDecompose(target); });
  registerPass([&target] { return createSplitReductions(target); });
  registerPass([&target] { return createByteTables(target); });
  registerPass([&target] { return createCompressWeights(target); });
  registerPass([&target] { return createTileWeights(target); });
  registerPass([&target] { return createTransposeWeights(target); });
  registerPass([] { return createHoistPrepare(); });
  registerPass([&target] { return createGuard(target); });
  registerPass([&target] { return createFusion(target); });
  registerPass([&target] { return createJoinAppends(target); });
  registerPass([&target] { return createJoinMaps(target); });
  registerPass([&target] { return createSideOutputs(target); });
  registerPass([] { return createShareKernels(); });
  registerPass([&target] { return createSchedule(target); });
  registerPass([&target] { return createRunBeside(target); });
  registerPass([] { return createRepeatSteps(); });
}
