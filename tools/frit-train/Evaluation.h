//===- Evaluation.h - Loss and accuracy on evaluation data ----------------===//

#ifndef FRIT_TOOLS_FRIT_TRAIN_EVALUATION_H
#define FRIT_TOOLS_FRIT_TRAIN_EVALUATION_H

#include "tools/frit-train/Classifier.h"
#include "tools/frit-train/Model.h"
#include "tools/frit-train/log/Log.h"

namespace frit::train {

struct Evaluated {
  double loss = 0;
  /// The model's other outputs of rank 0, by name.
  std::vector<std::pair<std::string, double>> metrics;
  std::optional<double> accuracy; ///< if the model has classes

  /// Returns the value of a metric of metricNames; NaN if there is none.
  double find(const std::string &name) const;
  /// Adds all values to a line of the log, as eval_NAME.
  void addTo(Json &line) const;
  /// Returns all values as text: "evaluation loss 0.5, accuracy 91.00%".
  std::string text() const;
};

/// Returns the names of what an evaluation on `data` computes, as find() takes
/// them; "loss" is the first.
std::vector<std::string> metricNames(const Model &model, const Dataset &data);

/// Evaluates all of `data`. The loss is the mean over the items that count,
/// such as labels that are not ignored, if eval_step says how many do;
/// otherwise, as every metric, over the samples. The last batch is filled up
/// with its own samples, and what these add is subtracted. A signal to stop
/// (Stop.h) ends it without a result. Returns false after an error message if
/// it failed.
bool evaluate(Model &model, const Dataset &data, const Options &options,
              std::optional<Evaluated> &result);

/// Evaluates a model as the options say, without training. Prints the result or
/// an error; returns the exit status.
int evaluateOnly(const Options &options);

} // namespace frit::train

#endif // FRIT_TOOLS_FRIT_TRAIN_EVALUATION_H
