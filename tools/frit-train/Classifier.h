//===- Classifier.h - Accuracy of a classifier ----------------------------===//

#ifndef FRIT_TOOLS_FRIT_TRAIN_CLASSIFIER_H
#define FRIT_TOOLS_FRIT_TRAIN_CLASSIFIER_H

#include "tools/frit-train/data/Loader.h"

#include <optional>

namespace frit::train {

/// The output with the scores of classes and the input with the right classes:
/// integers of shape [N, …] and floats of shape [N, …, classes] or
/// [N, classes, …]. If several inputs qualify, the last one.
struct Classifier {
  std::string labels; ///< input
  Input scores;       ///< output
  int64_t classes = 0;
  bool isLast = true; ///< whether the last dimension counts classes

  static std::optional<Classifier> find(const std::vector<Input> &inputs,
                                        const std::vector<Input> &outputs);
  /// Returns the check of the labels among `inputs`, if they are there.
  std::optional<LabelCheck> check(const std::vector<Input> &inputs,
                                  int64_t ignored) const;
};

/// Counts of right answers and of all labels.
struct Score {
  uint64_t right = 0, all = 0;
};

/// Counts the labels of the first `samples` samples whose class has the highest
/// score.
void count(const Classifier &classifier, const Tensor &scores,
           const Input &labels, Bytes right, uint64_t samples, int64_t ignored,
           Score &score);

} // namespace frit::train

#endif // FRIT_TOOLS_FRIT_TRAIN_CLASSIFIER_H
