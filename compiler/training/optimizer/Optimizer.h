//===- Optimizer.h - The update rules of optimizers -----------------------===//

#ifndef FRIT_COMPILER_TRAINING_OPTIMIZER_OPTIMIZER_H
#define FRIT_COMPILER_TRAINING_OPTIMIZER_OPTIMIZER_H

#include "compiler/training/TrainingOptions.h"
#include "compiler/training/optimizer/Buckets.h"

namespace frit {

/// The update of a bucket. Moments become states of the function.
class OptimizerStep {
public:
  States &states;
  nn::NNBuilder &b;
  const OptimizerOptions &options;
  const Bucket &bucket;
  nn::TensorExpr rate; ///< the bucket's learning rate, f32
  nn::TensorExpr step; ///< number of this step, from 1 on, i64
  /// Whether the step is taken; otherwise nothing changes. Null if it always
  /// is.
  std::optional<nn::TensorExpr> applies;
  bool sharded = false; ///< whether each rank has a part of the moments

  /// Returns the parameters after the step. With moments in bytes, the gradient
  /// is in blocks (Moments.h).
  mlir::Value build(nn::TensorExpr parameters, nn::TensorExpr gradient);

private:
  mlir::Value buildRule(nn::TensorExpr p, nn::TensorExpr g);
  nn::TensorExpr buildSgd(nn::TensorExpr p, nn::TensorExpr g);
  nn::TensorExpr buildAdam(nn::TensorExpr p, nn::TensorExpr g);
  mlir::Value buildLamb(nn::TensorExpr p, nn::TensorExpr g);
  nn::TensorExpr direction(nn::TensorExpr g);
  nn::TensorExpr biasCorrection(double beta);
  nn::TensorExpr keep(nn::TensorExpr after, nn::TensorExpr before);
  double decay() const { return bucket.decay; }
};

/// Updates the scale of the loss: after `growthInterval` steps without overflow
/// it grows; if gradients are not `finite` it shrinks and the step is skipped.
/// Only calls that are `complete` count, if there is such a number.
void addLossScale(States &states, nn::NNBuilder &b,
                  const LossScaleOptions &options, nn::TensorExpr scale,
                  nn::TensorExpr finite,
                  std::optional<nn::TensorExpr> complete);

} // namespace frit

#endif // FRIT_COMPILER_TRAINING_OPTIMIZER_OPTIMIZER_H
