//===- Evaluation.h - Loss and accuracy on evaluation data ----------------===//

#ifndef FRIT_TOOLS_FRIT_TRAIN_EVALUATION_H
#define FRIT_TOOLS_FRIT_TRAIN_EVALUATION_H

#include "tools/frit-train/Classifier.h"
#include "tools/frit-train/Model.h"

namespace frit::train {

struct Evaluated {
  double loss = 0;
  std::optional<double> accuracy; ///< if the model has classes
};

/// Evaluates all of `data`. The loss is the mean of the batches' losses,
/// weighted by their samples. The last batch is filled up with the first
/// samples, which are not counted again. A signal to stop (Stop.h) ends it
/// without a result. Returns false after an error message if it failed.
bool evaluate(Model &model, const Dataset &data, const Options &options,
              std::optional<Evaluated> &result);

} // namespace frit::train

#endif // FRIT_TOOLS_FRIT_TRAIN_EVALUATION_H
