//===- Passes.cpp - The passes that make a training step ------------------===//

#include "compiler/training/Passes.h"

using namespace mlir;

void frit::registerTrainingPasses(const nn::Target &target,
                                  const TrainingOptions &training) {
  constexpr auto step = FRIT_FUNCTION_TRAIN_STEP;
  registerPass([&training] { return createTrainingMode(training, step); });
  registerPass([&training] { return createAddLoss(training, step); });
  registerPass([&target] { return createConvBatchNorms(target); });
  registerPass([] { return createDifferentiate(); });
  registerPass([&training] { return createAddOptimizer(training, step); });
  registerPass([&target] { return createAttentionDeltas(target); });
  registerPass([] { return createRecomputeWide(); });
  registerPass([] { return createStoreCasts(); });
  registerPass([&target] { return createAlignColumns(target); });
  registerPass([&training] { return createRecompute(training); });
}
