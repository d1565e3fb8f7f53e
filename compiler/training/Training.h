//===- Training.h - Functions that train a model --------------------------===//

#ifndef FRIT_COMPILER_TRAINING_TRAINING_H
#define FRIT_COMPILER_TRAINING_TRAINING_H

#include "compiler/training/TrainingOptions.h"

#include "frit/roles.h"

#include "mlir/Pass/Pass.h"

namespace frit {

/// The passes keep a reference to the options. TrainingMode and AddLoss run on
/// the imported model, AddOptimizer once its values have the target's layout.
/// See their .cpp.
std::unique_ptr<mlir::Pass> createTrainingMode(const TrainingOptions &options,
                                               frit_function_role function);
std::unique_ptr<mlir::Pass> createAddLoss(const TrainingOptions &options,
                                          frit_function_role function);
std::unique_ptr<mlir::Pass> createAddOptimizer(const TrainingOptions &options,
                                               frit_function_role function,
                                               bool isBf16 = false);

/// Runs on a training step that is fused for a target.
std::unique_ptr<mlir::Pass> createRecompute(const TrainingOptions &options);

/// Returns where messages about options are: their file, or else the model.
mlir::Location locationOf(const TrainingOptions &options,
                          mlir::Operation *main);

/// Lets TrainingMode find a value by the name that it has in the model.
void recordValueName(mlir::Value value, llvm::StringRef name);

} // namespace frit

#endif // FRIT_COMPILER_TRAINING_TRAINING_H
