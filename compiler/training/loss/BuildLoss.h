//===- BuildLoss.h - The loss of a model's output -------------------------===//

#ifndef FRIT_COMPILER_TRAINING_LOSS_BUILDLOSS_H
#define FRIT_COMPILER_TRAINING_LOSS_BUILDLOSS_H

#include "compiler/training/TrainingOptions.h"
#include "dialects/nn/NN.h"
#include "dialects/nn/TensorExpr.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringMap.h"

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

/// Returns "loss", or the name of one of several losses, for messages.
std::string describeLoss(const LossOptions &loss);

/// Builds the losses of a model's outputs. They share targets of equal names.
class LossBuilder {
public:
  /// `trains` says that the losses will be differentiated.
  LossBuilder(nn::NNBuilder &b, mlir::func::FuncOp main,
              const TrainingOptions &options, bool trains)
      : b(b), main(main), options(options), trains(trains) {}

  /// Builds a loss of `prediction`, an output of `main`, and adds its target to
  /// the arguments.
  mlir::FailureOr<Loss> build(const LossOptions &loss, mlir::Value prediction);

private:
  mlir::FailureOr<Loss> buildOwn(mlir::Value prediction);
  mlir::FailureOr<Loss> buildCrossEntropy(mlir::Value prediction);
  mlir::FailureOr<mlir::BlockArgument> addTarget(mlir::Value prediction,
                                                 mlir::Type element,
                                                 llvm::ArrayRef<int64_t> shape);
  Loss crossEntropy(nn::TensorExpr logits, nn::TensorExpr labels);
  Loss weightedCrossEntropy(nn::TensorExpr logits, nn::TensorExpr labels,
                            nn::TensorExpr counts);

  nn::NNBuilder &b;
  mlir::func::FuncOp main;
  const TrainingOptions &options;
  bool trains;
  const LossOptions *loss = nullptr; ///< that is being built
  llvm::StringMap<mlir::BlockArgument> targets;
};

} // namespace frit

#endif // FRIT_COMPILER_TRAINING_LOSS_BUILDLOSS_H
