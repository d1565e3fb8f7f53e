//===- Options.h - Command line of frit-train -----------------------------===//

#ifndef FRIT_TOOLS_FRIT_TRAIN_OPTIONS_H
#define FRIT_TOOLS_FRIT_TRAIN_OPTIONS_H

#include "tools/frit-train/Schedule.h"
#include "tools/frit-train/ranks/Place.h"
#include "tools/frit-train/weights/Best.h"
#include "tools/support/RunOptions.h"

#include <optional>
#include <string>
#include <vector>

namespace frit::train {

using namespace tools;

struct Options : RunOptions {
  std::string model;
  std::vector<std::string> data, evaluation;
  std::string tokens, evaluationTokens;
  uint64_t workers = 2;
  bool isShuffled = true;
  std::optional<uint64_t> seed;
  int64_t ignoredLabel = -100;

  std::string initial;            ///< file of weights to begin with
  bool isPartial = false;         ///< it may have some of them, and others
  bool isEvaluation = false;      ///< evaluate without training
  uint64_t epochs = 0, steps = 0; ///< at most one is not 0
  uint64_t batch = 0;             ///< of all ranks; 0: the step's largest
  bool largestBatch = false;      ///< the largest that fits into memory
  std::optional<Schedule> schedule;
  bool allowNan = false;
  bool traceOverflow = false;
  uint64_t traceLimit = 300;  ///< seconds of training that a search repeats
  bool isSearch = false;      ///< this run repeats another; not an option
  uint64_t evaluateEvery = 0; ///< steps; 0: an epoch
  /// What the best evaluation is, for its checkpoint and `patience`.
  std::optional<MetricChoice> best;
  uint64_t patience = 0; ///< evaluations without a better one; 0: no end

  std::string checkpoints;      ///< folder; empty: none are written
  uint64_t checkpointEvery = 0; ///< steps; 0: an epoch
  uint64_t keep = 3;
  bool resume = false;
  std::vector<std::string> exports;
  std::string original; ///< the ONNX file whose weights an export replaces

  std::string log;
  std::string events;    ///< folder of TensorBoard's event files
  uint64_t logEvery = 0; ///< steps; 0: a hundredth of them, 100 at most
  bool json = false;

  /// The GPU of each rank; empty: this process is the only rank.
  std::vector<uint32_t> devices;
  Place place;
  uint64_t joinTimeout = 60; ///< seconds to wait for other ranks
};

/// Applies this process's place among the ranks: sets its device, and disables
/// output of results except on rank 0.
void takePlace(Options &options, const Place &place);

/// Returns whether the options about ranks have an effect at the process's
/// place; prints which one has none.
bool checkRanks(const Options &options);

/// Parses the command line. Prints help, or an error.
Parsed parseOptions(int count, char **arguments, Options &options);

} // namespace frit::train

#endif // FRIT_TOOLS_FRIT_TRAIN_OPTIONS_H
