//===- TrainingOptions.h - Options of training ----------------------------===//

#ifndef FRIT_COMPILER_TRAINING_TRAININGOPTIONS_H
#define FRIT_COMPILER_TRAINING_TRAININGOPTIONS_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace frit {

enum class LossKind { crossEntropy, mse, bceWithLogits, output };

/// What a loss is a mean over, if how many items count depends on the data.
enum class LossMean {
  all, ///< the items of all calls that make a step, on all ranks
  call ///< those of a call on a rank; a step has the mean of these means
};

/// Mean over all elements (mse, bce; output: the model computes the loss
/// itself) or all rows that count (cross-entropy).
struct LossOptions {
  LossKind kind = LossKind::crossEntropy;
  std::string name;   ///< of its mean among the outputs; empty: it has none
  double weight = 1;  ///< in the sum of several losses
  std::string output; ///< of the model; empty: its only one
  std::string count;  ///< output: how many items `output` is the mean over
  LossMean mean = LossMean::all;
  std::string target = "labels"; ///< name of the input that is added, if any
  int64_t axis = -1;             ///< of the classes
  int64_t ignoreIndex = -100;
  double labelSmoothing = 0;
  std::vector<double> classWeights; ///< one per class; empty: all are 1
};

/// Training by several ranks, each with a part of the batch.
struct DataParallelOptions {
  /// Whether gradients and the loss are means over the ranks. The others are
  /// used with it.
  bool enabled = false;
  /// Whether batch norm's statistics are means over the ranks.
  bool syncBatchNorm = false;
  /// Whether ranks divide the optimizer's state, and each updates its part of
  /// the parameters (ZeRO-1: Rajbhandari et al., arXiv:1910.02054).
  bool shardOptimizer = false;
  /// Whether gradients are rounded to bf16 before ranks average them.
  bool compressGradients = false;
};

enum class OptimizerKind { sgd, adam, adamw, lamb };

/// Weights whose update differs.
struct ParameterGroup {
  std::vector<std::string> match;    ///< glob patterns of parameters' names
  double rateFactor = 1;             ///< of the learning rate
  std::optional<double> weightDecay; ///< none: that of all
};

struct OptimizerOptions {
  OptimizerKind kind = OptimizerKind::sgd;
  double learningRate = 1e-3; ///< until the host writes another
  double momentum = 0;        ///< sgd
  bool nesterov = false;      ///< sgd
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  double weightDecay = 0;
  bool byteMoments = false;           ///< whether moments are kept in 8 bits
  std::vector<std::string> noDecay;   ///< glob patterns of parameters' names
  std::vector<ParameterGroup> groups; ///< the first that matches counts
};

/// Dynamic loss scaling, as in mixed precision training (Micikevicius et al.,
/// "Mixed Precision Training", arXiv:1710.03740).
struct LossScaleOptions {
  bool enabled = false;
  double initial = 65536, growth = 2, backoff = 0.5;
  int64_t growthInterval = 2000;
};

/// Dropout after values of a model that lacks it there.
struct DropoutOptions {
  std::vector<std::string> after; ///< glob patterns of values' or nodes' names
  double rate = 0.5;              ///< probability that an element is dropped
};

/// An input of images, whose batch the step makes from bytes.
struct AugmentOptions {
  std::string input;
  int64_t height = 0, width = 0; ///< of the bytes; 0: as the model's
  int64_t padding = 0;           ///< black pixels on each side, in training
  double flip = 0;               ///< probability that training mirrors an image
  /// Of each channel, of values from 0 to 1; empty: 0 and 1.
  std::vector<double> mean, deviation;
};

struct TrainingOptions {
  std::string file; ///< that they are from, for messages; or empty
  /// The step's loss is the sum of their weighted means. At least one.
  std::vector<LossOptions> losses = {LossOptions()};
  OptimizerOptions optimizer;
  LossScaleOptions lossScale;
  std::vector<DropoutOptions> dropout; ///< the first that matches counts
  std::vector<AugmentOptions> augment;
  std::vector<std::string> train;  ///< patterns; empty: every float weight
  std::vector<std::string> freeze; ///< patterns; they win
  /// Patterns of nodes whose kernels run again in the backward pass.
  std::vector<std::string> recompute;
  /// Whether kernels of other nodes may too, to meet a memory limit.
  bool recomputesToFit = true;
  double clipNorm = 0;    ///< 0: gradients are not clipped
  double clipValue = 0;   ///< limit of each element; 0: none
  double emaDecay = 0;    ///< of the weights' moving average; 0: none is kept
  int64_t accumulate = 1; ///< calls whose gradients make a step
  /// Samples of a step, of one rank: functions of smaller batches accumulate
  /// the gradients of as many calls as it takes. 0: `accumulate` says how many.
  int64_t batch = 0;
  /// Weight of a batch's statistics in the running ones, for all batch norms;
  /// none: what the model says of each.
  std::optional<double> batchNormMomentum;
  DataParallelOptions dataParallel;
};

} // namespace frit

#endif // FRIT_COMPILER_TRAINING_TRAININGOPTIONS_H
