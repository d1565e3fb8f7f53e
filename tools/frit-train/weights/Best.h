//===- Best.h - The best evaluation of a run ------------------------------===//

#ifndef FRIT_TOOLS_FRIT_TRAIN_WEIGHTS_BEST_H
#define FRIT_TOOLS_FRIT_TRAIN_WEIGHTS_BEST_H

#include "tools/support/Fault.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace frit::train {

using namespace tools;

/// A metric of evaluations, and whether its best value is the largest.
struct MetricChoice {
  std::string name = "loss"; ///< without "eval_"
  bool isMost = false;

  /// Parses "loss", "eval_accuracy" or "f1:max". Metrics other than loss and
  /// accuracy need ":min" or ":max".
  static Fault parse(const std::string &text, MetricChoice &choice);
  /// Checks that an evaluation has this metric, among `names`.
  Fault check(const std::vector<std::string> &names) const;
  /// Returns the metric as the log calls it.
  std::string logName() const { return "eval_" + name; }
};

/// The best of the evaluations so far. A part of each checkpoint.
struct Best {
  std::string metric;          ///< "accuracy:max"; empty: none is tracked
  std::optional<double> value; ///< none: no evaluation has a finite one
  uint64_t step = 0;           ///< of the best evaluation
  uint64_t since = 0;          ///< evaluations after the best one

  /// Begins anew, unless this tracks that metric already.
  void track(const MetricChoice &choice);
  /// Adds an evaluation; returns whether it is the best one. A value that is
  /// not finite never is, nor is one that equals the best.
  bool add(const MetricChoice &choice, double now, uint64_t step);
};

} // namespace frit::train

#endif // FRIT_TOOLS_FRIT_TRAIN_WEIGHTS_BEST_H
