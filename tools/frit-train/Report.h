//===- Report.h - Progress of a training run ------------------------------===//

#ifndef FRIT_TOOLS_FRIT_TRAIN_REPORT_H
#define FRIT_TOOLS_FRIT_TRAIN_REPORT_H

#include "compiler/support/Progress.h"
#include "tools/frit-train/Evaluation.h"
#include "tools/frit-train/log/EventFile.h"
#include "tools/frit-train/weights/Checkpoint.h"

#include <chrono>
#include <memory>

namespace frit::train {

/// Prints progress, as an updated line on a terminal and as one line per report
/// elsewhere, and writes the log.
class Report {
public:
  /// Reports on steps from `first` to `total`, each of `batch` samples, which
  /// take `memory` bytes of the device.
  Report(const Options &options, uint64_t first, uint64_t total, uint64_t batch,
         uint64_t memory);

  /// Opens the logs that the options name.
  Fault open();

  /// Starts the clock, which runs until the next pause().
  void start();
  void pause();

  /// Reports step number `done`, counted from 1, of epoch `epoch`, from 0.
  void step(uint64_t done, uint64_t epoch, const std::vector<Metric> &metrics,
            std::optional<double> rate);
  void evaluated(uint64_t done, uint64_t epoch, const Evaluated &result);
  void saved(uint64_t done, const std::string &path);
  /// Reports that the metric of `best` has not improved for too long.
  void stopped(uint64_t done, const MetricChoice &choice, const Best &best);

  /// Ends the line on a terminal.
  void finish() { progress.reset(); }

  /// Returns the samples per second since the first step, without the pauses.
  double speed() const;
  /// Returns the seconds of training, without the pauses.
  double seconds() const;
  /// Returns false if a line of the log was lost.
  bool isLogWhole() const { return !logFault; }

private:
  using Clock = std::chrono::steady_clock;

  void log(const Json &line);
  void print(const std::string &line);

  const Options &options;
  uint64_t first, total, batch, memory, every;
  uint64_t done;
  Log file;
  EventFile events;
  Fault logFault; ///< why a line of either was lost
  std::unique_ptr<Progress> progress;
  bool printsSteps;

  double trained = 0; ///< seconds before the last start
  bool isRunning = false;
  Clock::time_point started;
  uint64_t reported; ///< step of the last report
  double reportedAt = 0;
};

} // namespace frit::train

#endif // FRIT_TOOLS_FRIT_TRAIN_REPORT_H
