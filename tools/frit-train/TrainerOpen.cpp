//===- TrainerOpen.cpp - Open the model and the data of a run -------------===//

#include "tools/frit-train/Trainer.h"
#include "tools/frit-train/weights/Export.h"
#include "tools/support/Files.h"
#include "tools/support/Message.h"

#include <algorithm>

using namespace frit::train;

bool Trainer::open() {
  if (!team.connect())
    return false;
  auto openAll = [&](uint64_t batch) {
    return model.open(batch) && openData() && openOriginal() &&
           openCheckpoints() && checkOutputs() && begin();
  };
  // Rank 0 opens first, so that a fault is found and reported once. The others
  // use the batch that fits there.
  uint64_t batch = 0;
  if (options.place.rank)
    return team.goesOn() && team.shareBatch(batch) && openAll(batch) &&
           joinRanks();
  if (!openAll(0) || !team.goesOn())
    return false;
  batch = model.train.batch();
  return team.shareBatch(batch) && joinRanks();
}

/// Joins the ranks, at the position of rank 0.
bool Trainer::joinRanks() {
  bool isResumed = savedAt.has_value();
  // Only then does a rank know its part of the state.
  return team.join(position, total, isResumed) &&
         (team.isAlone() || !isResumed || shareState()) && team.checkEqual();
}

/// Broadcasts the state of rank 0's checkpoint.
bool Trainer::shareState() {
  if (options.place.rank)
    model.allocateState(resumed);
  // Sort, because a file has its own order.
  std::ranges::sort(resumed, {}, &TensorView::name);
  for (TensorView &tensor : resumed) {
    std::span<uint8_t> bytes(const_cast<uint8_t *>(tensor.data.data()),
                             tensor.data.size());
    if (!team.share(bytes))
      return false;
  }
  bool isWritten = model.writeState(resumed);
  resumed.clear();
  rate.reset();
  return isWritten && setRate();
}

/// Checks that images to evaluate on have the classes of those to train on.
static Fault checkClasses(const Dataset &data, const Dataset &evaluation) {
  const std::vector<std::string> &trained = data.classes(),
                                 &others = evaluation.classes();
  if (trained.empty() || others.empty() || trained == others)
    return {};
  std::string names;
  for (const std::string &name : others)
    if (std::ranges::find(trained, name) == trained.end())
      names = "'" + name + "' is a folder of the latter only";
  for (const std::string &name : trained)
    if (std::ranges::find(others, name) == others.end())
      names = "'" + name + "' is a folder of the former only";
  return Fault("the images to train on have " + std::to_string(trained.size()) +
               " classes, and those to "
               "evaluate on others: " +
               names);
}

bool Trainer::openData() {
  if (Fault fault = openSamples(data, options.data, options.tokens, model.train,
                                options.ignoredLabel))
    return model.failed(fault);
  if (data.count() < batch())
    return model.failed("the data have " + std::to_string(data.count()) +
                        " samples, and a step takes " +
                        std::to_string(batch()));
  uint64_t epochs = std::max<uint64_t>(options.epochs, 1);
  total = options.steps ? options.steps : epochs * epochSteps();
  double rises =
      options.schedule ? options.schedule->warmupSteps(total, epochSteps()) : 0;
  if (rises > double(total) && !options.place.rank && !options.isSearch) {
    char text[160];
    snprintf(
        text, sizeof text,
        "note: the warm-up of --lr takes %.0f steps, and the run has %llu: "
        "the rate rises to %.4g",
        rises, (unsigned long long)total,
        options.schedule->at(total - 1, total, epochSteps()));
    complain(text);
  }
  evaluates = !options.evaluation.empty() || !options.evaluationTokens.empty();
  if (evaluates && !model.hasEvaluation())
    return model.failed("'" + options.model +
                        "' has no eval_step, so it evaluates nothing");
  if (evaluates)
    if (Fault fault = openSamples(evaluation, options.evaluation,
                                  options.evaluationTokens, model.evaluate,
                                  options.ignoredLabel))
      return model.failed(fault);
  if (evaluates && !evaluation.count())
    return model.failed("the data to evaluate on have no samples");
  if (evaluates)
    if (Fault fault = checkClasses(data, evaluation))
      return model.failed(fault);
  position = {model.name(),
              0,
              0,
              0,
              data.count(),
              batch(),
              options.seed.value_or(0),
              options.isShuffled,
              {}};
  choice = options.best.value_or(MetricChoice());
  if (!tracksBest())
    return true;
  position.best.track(choice);
  Fault fault = choice.check(metricNames(model, evaluation));
  return !fault || model.failed(fault.within("--best"));
}

/// Checks that the weights can be exported to a copy of the original.
bool Trainer::openOriginal() {
  if (options.original.empty())
    return true;
  Fault fault = exportOnnx("", options.original, weightsOf(model.stateTypes()));
  return !fault || model.failed(fault);
}

/// Opens the folder of checkpoints. The run's inputs must be known.
bool Trainer::openCheckpoints() {
  if (!options.initial.empty())
    frit::protectInput(options.initial);
  if (options.checkpoints.empty())
    return true;
  Fault fault = checkpoints.open(options.checkpoints);
  return !fault || model.failed(fault);
}

bool Trainer::checkOutputs() {
  std::vector<OutputName> outputs = {{"--log", options.log}};
  for (const std::string &path : options.exports)
    outputs.push_back({"--export", path});
  Fault fault = tools::checkOutputs(std::move(outputs));
  return !fault || model.failed(fault);
}

/// Sets the state of the first step: the newest checkpoint's, if there is one.
bool Trainer::begin() {
  auto beginAnew = [&] {
    return model.loadWeights() && setSeed() && setRate();
  };
  if (!checkpoints.isOpen())
    return beginAnew();
  checkpoints.removePartial();
  std::vector<std::string> paths = checkpoints.list();
  // If all others are lost, the best one is left.
  if (checkpoints.hasBest())
    paths.push_back(checkpoints.bestPath());
  if (!paths.empty() && !options.resume)
    return model.failed("'" + options.checkpoints +
                        "' has checkpoints of an earlier run: --resume goes "
                        "on from them, another folder keeps them");
  if (paths.empty() && options.resume && options.verbose)
    complain("note: there is no checkpoint in '" + options.checkpoints +
             "' yet");
  return paths.empty() ? beginAnew() : resume(paths) && setRate();
}

bool Trainer::resume(const std::vector<std::string> &paths) {
  for (const std::string &path : paths) {
    Checkpoint checkpoint;
    CheckpointFault fault =
        readCheckpoint(path, model.stateTypes(), model.name(), checkpoint);
    if (fault.isForeign())
      return model.failed(fault);
    if (fault.isDamaged()) {
      complain("note: " + fault.message() + "; taking an older one");
      continue;
    }
    if (!checkPosition(checkpoint))
      return false;
    if (options.place.size > 1)
      resumed = std::move(checkpoint.state);
    else if (!model.writeState(checkpoint.state))
      return false;
    position = checkpoint.position;
    if (tracksBest())
      position.best.track(choice);
    else
      position.best = {};
    savedAt = position.steps;
    if (!options.json)
      printf("resuming after step %llu from '%s'\n",
             (unsigned long long)position.steps, path.c_str());
    return true;
  }
  return model.failed("no checkpoint in '" + options.checkpoints +
                      "' is whole; move them away to start anew");
}

/// Checks that the run can continue with the next batch.
bool Trainer::checkPosition(const Checkpoint &checkpoint) {
  const Position &then = checkpoint.position;
  std::string start = "the checkpoint '" + checkpoint.path + "' was written ";
  if (then.samples != position.samples)
    return model.failed(start + "with data of " + std::to_string(then.samples) +
                        " samples, and these have " +
                        std::to_string(position.samples));
  if (then.batch != position.batch)
    return model.failed(start + "with a batch of " +
                        std::to_string(then.batch) + ", and this one has " +
                        std::to_string(position.batch) + team.text());
  if (options.seed && then.seed != *options.seed)
    return model.failed(start + "with --seed=" + std::to_string(then.seed));
  if (then.isShuffled != options.isShuffled)
    return model.failed(start + (then.isShuffled ? "without" : "with") +
                        " --no-shuffle");
  return true;
}

bool Trainer::setSeed() {
  return !options.seed || !model.hasState(FRIT_STATE_RANDOM_SEED) ||
         model.writeNumber(FRIT_STATE_RANDOM_SEED, double(*options.seed));
}
