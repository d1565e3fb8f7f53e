//===- Augment.h - Batches of images from bytes ---------------------------===//

#ifndef FRIT_COMPILER_TRAINING_LOSS_AUGMENT_H
#define FRIT_COMPILER_TRAINING_LOSS_AUGMENT_H

#include "compiler/training/TrainingOptions.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace frit {

/// Makes the inputs that the options name batches of bytes, N × height × width
/// × channels, from which the step crops, mirrors and normalizes what the model
/// reads. Only a step that `trains` draws random numbers; their operands are
/// those of a call 0 until TrainingMode replaces them.
llvm::LogicalResult augmentInputs(mlir::func::FuncOp main,
                                  const TrainingOptions &options, bool trains);

} // namespace frit

#endif // FRIT_COMPILER_TRAINING_LOSS_AUGMENT_H
