//===- BuildLoss.h - The loss of a model's output -------------------------===//

#ifndef FRIT_COMPILER_TRANSFORM_TRAINING_BUILDLOSS_H
#define FRIT_COMPILER_TRANSFORM_TRAINING_BUILDLOSS_H

#include "compiler/transform/training/TrainingOptions.h"
#include "dialects/nn/NN.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace frit {

/// A loss. If data decide how many items it is the mean over, these have a
/// `sum` and a `count`, which is at most `most`.
struct Loss {
  mlir::Value mean, sum, count;
  double most = 1;
};

/// Finds the output of `main` that the options name `wanted`; "" is the only
/// one. `use` says in messages what it is for.
mlir::FailureOr<mlir::Value> findOutput(mlir::func::FuncOp main,
                                        llvm::StringRef wanted,
                                        llvm::StringRef use);

/// Builds the loss of `prediction`, an output of `main`, and adds its target to
/// the arguments. `trains` says that the loss will be differentiated.
mlir::FailureOr<Loss> buildLoss(nn::NNBuilder &builder, mlir::func::FuncOp main,
                                const TrainingOptions &options, bool trains,
                                mlir::Value prediction);

} // namespace frit

#endif // FRIT_COMPILER_TRANSFORM_TRAINING_BUILDLOSS_H
