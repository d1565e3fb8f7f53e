//===- Trainer.h - A training run -----------------------------------------===//

#ifndef FRIT_TOOLS_FRIT_TRAIN_TRAINER_H
#define FRIT_TOOLS_FRIT_TRAIN_TRAINER_H

#include "tools/frit-train/Report.h"
#include "tools/frit-train/Team.h"

namespace frit::train {

/// A run to repeat, up to the step whose loss is not finite, to name the first
/// tensor that is not.
struct Search {
  Options options;
  uint64_t step; ///< whose loss is not finite, counted from 0
};

/// Trains as the options say. Functions that return bool print an error before
/// they return false.
class Trainer {
public:
  explicit Trainer(const Options &options)
      : options(options), model(options), team(options, model) {}

  /// Opens model, data, checkpoints and log, and checks that the results can be
  /// written.
  bool open();
  /// Trains, and writes the results.
  bool run();

  /// Returns what is left to do after run() has stopped at a loss that is not
  /// finite. It takes a trainer of its own, opened when this has given its
  /// memory back.
  std::optional<Search> search() const;
  /// Trains up to that step, and names the first tensor that is not finite.
  bool find(uint64_t bad);

  /// Returns the exit status after a function returned false.
  int status() const { return model.status(); }

private:
  bool joinRanks();
  bool shareState();
  bool openData();
  bool openOriginal();
  bool openCheckpoints();
  bool checkOutputs();
  bool begin();
  bool resume(const std::vector<std::string> &paths);
  bool checkPosition(const Checkpoint &checkpoint);
  bool setSeed();
  bool setRate();
  bool trainSteps(Report &report);
  bool trainStep(Loader &loader, Report &report);
  bool takeBatch(Loader &loader, const Batch *&batch,
                 std::vector<frit_tensor> &inputs);
  bool runStep(std::span<const frit_tensor> inputs);
  void advance();
  bool send(Loader &loader);
  bool hasSkipped() const;
  bool findTensor(std::span<const frit_tensor> inputs, double trained,
                  std::string &hint);
  bool checkLoss(const Batch &batch, std::span<const frit_tensor> inputs,
                 double trained);
  void noteOverflows();
  std::string noteOfStep() const;
  bool nameTensor(std::span<const frit_tensor> inputs, const std::string &what);
  bool examine(const std::vector<TensorView> &before,
               std::span<const frit_tensor> inputs, bool &isFound);
  bool traceOverflow(const std::vector<TensorView> &before,
                     std::span<const frit_tensor> inputs);
  bool afterStep(Report &report);
  bool evaluateNow(Report &report);
  void saveNow(Report &report);
  void saveBest();
  bool isOutOfPatience() const;
  bool isOver() const;
  bool findWeights(std::vector<TensorView> &weights);
  bool stop(Report &report, int signal);
  bool exportAll();
  void summarize(const Report &report) const;
  Loader::Settings loading() const;

  /// Returns the samples of a step over all ranks.
  uint64_t batch() const { return model.train.batch() * options.place.size; }
  uint64_t epochSteps() const { return data.count() / batch(); }
  bool tracksBest() const { return options.best || options.patience; }
  /// Returns whether the best checkpoint is written.
  bool keepsBest() const { return options.best && checkpoints.isOpen(); }

  const Options &options;
  Model model;
  Team team;
  Dataset data, evaluation;
  bool evaluates = false;
  MetricChoice choice; ///< of the best evaluation
  CheckpointFolder checkpoints;
  /// With several ranks, the state of the checkpoint to resume from, until all
  /// ranks have it.
  std::vector<TensorView> resumed;
  Position position;
  uint64_t total = 0;         ///< steps
  std::optional<double> rate; ///< in the state now
  std::optional<Evaluated> evaluated;
  std::optional<uint64_t> savedAt; ///< step of the newest checkpoint
  double trainedAtSave = 0; ///< seconds of training before it, in this run
  /// A step whose loss is not finite, to be trained again; counted from 0.
  std::optional<uint64_t> searched;
  Fault saveFault;             ///< why the last checkpoint was not written
  Fault bestFault;             ///< why the best one was not
  double waited = 0;           ///< seconds for data
  const Batch *sent = nullptr; ///< for the next step
  /// Consecutive steps, up to the last one, with gradients that are not finite.
  uint64_t overflowed = 0;
};

} // namespace frit::train

#endif // FRIT_TOOLS_FRIT_TRAIN_TRAINER_H
