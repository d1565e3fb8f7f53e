//===- CheckGradients.h - Whether the loss trains the weights -------------===//

#ifndef FRIT_COMPILER_TRAINING_OPTIMIZER_CHECKGRADIENTS_H
#define FRIT_COMPILER_TRAINING_OPTIMIZER_CHECKGRADIENTS_H

#include "compiler/training/optimizer/Buckets.h"

namespace frit {

/// Warns of parameters without a gradient, which are null in `gradients`, the
/// gradients of all members of the buckets in order. Fails after an error if
/// there is no gradient at all. Names the operators through which none passes.
llvm::LogicalResult checkGradients(mlir::Value loss,
                                   llvm::ArrayRef<Bucket> buckets,
                                   llvm::ArrayRef<mlir::Value> gradients);

} // namespace frit

#endif // FRIT_COMPILER_TRAINING_OPTIMIZER_CHECKGRADIENTS_H
