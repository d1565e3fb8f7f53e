//===- StepBuilder.h - Gradients and updates behind a loss ----------------===//

#ifndef FRIT_COMPILER_TRAINING_OPTIMIZER_STEPBUILDER_H
#define FRIT_COMPILER_TRAINING_OPTIMIZER_STEPBUILDER_H

#include "compiler/training/TrainingOptions.h"
#include "compiler/training/optimizer/Buckets.h"
#include "compiler/training/optimizer/States.h"
#include "dialects/nn/TensorExpr.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <optional>

namespace frit {

/// Builds the training step behind a loss, in the order of its methods.
class StepBuilder {
public:
  StepBuilder(const TrainingOptions &options, mlir::func::FuncOp main,
              States &states, nn::NNBuilder &b, llvm::ArrayRef<Bucket> buckets,
              llvm::ArrayRef<mlir::Value> parameters,
              llvm::ArrayRef<mlir::Value> averages);

  llvm::LogicalResult buildGradients();
  void accumulate();
  void divideByShare();
  void addMetrics();
  void update();
  void addNumbers();

private:
  nn::TensorExpr addScale();
  void takeShare();
  void averageNumbers();
  bool roundsGradients(const Bucket &bucket,
                       llvm::ArrayRef<mlir::Value> members) const;
  bool scattersGradients() const;
  mlir::Value averageOverRanks(mlir::Value gradient);
  nn::TensorExpr sumSquares();
  void average(nn::TensorExpr before, nn::TensorExpr parameters);

  const TrainingOptions &options;
  mlir::func::FuncOp main;
  mlir::Operation *terminator;
  States &states;
  nn::NNBuilder &b;
  llvm::ArrayRef<Bucket> buckets;
  llvm::ArrayRef<mlir::Value> parameters;
  /// The buckets' moving averages; empty if none are kept.
  llvm::ArrayRef<mlir::Value> averages;
  /// Numbers of the state. Without loss scaling the scale is 1.
  nn::TensorExpr rate, step, scale;
  /// Gradients of the buckets, times the scale.
  llvm::SmallVector<mlir::Value> gradients;
  /// Factor of the gradients in the update.
  nn::TensorExpr factor;
  /// The share of the loss's items that count, in all calls so far that make a
  /// step, if data decide it.
  std::optional<nn::TensorExpr> share;
  /// Whether gradients of enough calls have been added; none if one call is
  /// enough.
  std::optional<nn::TensorExpr> complete;
  /// Whether the update is made; none if it always is.
  std::optional<nn::TensorExpr> applies;
};

} // namespace frit

#endif // FRIT_COMPILER_TRAINING_OPTIMIZER_STEPBUILDER_H
