//===- Passes.h - The passes that make a training step --------------------===//
//
// Each is a .cpp named after it, which begins with an example; PassLists.cpp
// says in which order they run. Training.h has those that take options.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_COMPILER_TRAINING_PASSES_H
#define FRIT_COMPILER_TRAINING_PASSES_H

#include "compiler/training/Training.h"
#include "dialects/nn/Target.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace frit {

#define GEN_PASS_DECL
#include "compiler/training/Passes.h.inc"

// The passes that ask the target keep a reference to it.
std::unique_ptr<mlir::Pass> createConvBatchNorms(const nn::Target &target);
std::unique_ptr<mlir::Pass> createAttentionDeltas(const nn::Target &target);
std::unique_ptr<mlir::Pass> createAlignColumns(const nn::Target &target);

/// Registers every pass for command lines. Those that need a target use
/// `target`, the others `training`; both must outlive them.
void registerTrainingPasses(const nn::Target &target,
                            const TrainingOptions &training);

} // namespace frit

#endif // FRIT_COMPILER_TRAINING_PASSES_H
