//===- Evaluation.h - Loss and accuracy on data that train nothing --------===//

#ifndef FRIT_TRAIN_EVALUATION_H
#define FRIT_TRAIN_EVALUATION_H

#include "tools/frit-train/Model.h"

#include <optional>

namespace frit::train {

/// The outputs that score classes, and the input that holds the right ones:
/// integers of shape [N, …] and floats of shape [N, …, classes], or
/// [N, classes, …]. Of several such inputs the last one counts.
struct Classifier {
  std::string labels; ///< input
  Input scores;       ///< output
  int64_t classes = 0;
  bool isLast = true; ///< whether the last dimension counts classes

  static std::optional<Classifier> find(const Function &function);
  /// Returns the check of the labels among `inputs`, if they are there.
  std::optional<LabelCheck> check(const std::vector<Input> &inputs,
                                  int64_t ignored) const;
};

/// Right answers, and all that were asked for.
struct Score {
  uint64_t right = 0, all = 0;
};

/// Counts where the best-scored class of the first `samples` samples is that of
/// the label.
void count(const Classifier &classifier, const Tensor &scores,
           const Input &labels, const Storage &right, uint64_t samples,
           int64_t ignored, Score &score);

struct Evaluated {
  double loss = 0;
  std::optional<double> accuracy; ///< if the model has classes
};

/// Evaluates all of `data`. The loss is the mean of the batches', weighted by
/// their samples; the last batch is filled up with the first samples, which are
/// not scored again. False if it failed, after an error message.
bool evaluate(Model &model, const Dataset &data, const Options &options,
              Evaluated &result);

} // namespace frit::train

#endif // FRIT_TRAIN_EVALUATION_H
