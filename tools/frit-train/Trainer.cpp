//===- Trainer.cpp - A training run ---------------------------------------===//

#include "tools/frit-train/Trainer.h"
#include "tools/frit-train/Stop.h"
#include "tools/frit-train/data/Shuffle.h"
#include "tools/frit-train/weights/Export.h"
#include "tools/support/JsonText.h"
#include "tools/support/Message.h"

#include <algorithm>
#include <cmath>

using namespace frit::train;

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

/// Sets the learning rate of the next step.
bool Trainer::setRate() {
  if (!options.schedule) {
    double compiled;
    if (rate || !model.hasState(FRIT_STATE_LEARNING_RATE))
      return true;
    if (!model.readNumber(FRIT_STATE_LEARNING_RATE, compiled))
      return false;
    rate = compiled;
    return true;
  }
  if (!model.hasState(FRIT_STATE_LEARNING_RATE))
    return model.failed("the step has no learning rate for --lr to set");
  double next = options.schedule->at(position.steps, total, epochSteps());
  if (rate == next)
    return true;
  rate = next;
  return model.writeNumber(FRIT_STATE_LEARNING_RATE, next);
}

Loader::Settings Trainer::loading() const {
  Loader::Settings settings;
  settings.batch = model.train.batch();
  settings.first = position.steps;
  settings.end = total;
  settings.workers = unsigned(options.workers);
  if (model.hasEvaluation())
    if (auto classifier =
            Classifier::find(model.evaluate.inputs(), model.evaluate.tensors()))
      settings.labels = classifier->check(data.inputs(), options.ignoredLabel);
  settings.allocate = [this](uint64_t bytes) {
    void *memory = nullptr;
    return frit_feed_allocate(model.trainFeed(), bytes, &memory)
               ? nullptr
               : static_cast<uint8_t *>(memory);
  };
  uint64_t perEpoch = epochSteps();
  uint64_t before = options.place.rank * settings.batch;
  settings.sample = [perEpoch, before, position = position](uint64_t number,
                                                            uint64_t row) {
    uint64_t place = number % perEpoch * position.batch + before + row;
    if (!position.isShuffled)
      return place;
    // A worker stays in the same epoch for many batches.
    static thread_local std::optional<Shuffle> shuffle;
    static thread_local uint64_t epoch;
    if (!shuffle || epoch != number / perEpoch) {
      epoch = number / perEpoch;
      shuffle.emplace(position.seed, epoch, position.samples);
    }
    return shuffle->at(place);
  };
  return settings;
}

/// Begins to copy the next batch to the device.
bool Trainer::send(Loader &loader) {
  const Batch &batch = loader.next();
  if (batch.fault)
    return model.failed(batch.fault);
  std::vector<frit_tensor> inputs = bindInputs(data.inputs(), batch);
  sent = &batch;
  if (frit_status status = frit_feed_send(model.trainFeed(), inputs.data(),
                                          uint32_t(inputs.size())))
    return model.failed(status);
  return true;
}

/// Sets the learning rate of the next step, and takes its batch. `inputs` stay
/// valid until the batch after it is taken.
bool Trainer::takeBatch(Loader &loader, const Batch *&batch,
                        std::vector<frit_tensor> &inputs) {
  if (!setRate() || (!sent && !send(loader)))
    return false;
  batch = std::exchange(sent, nullptr);
  inputs.resize(data.inputs().size());
  if (frit_status status = frit_feed_take(model.trainFeed(), inputs.data()))
    return model.failed(status);
  // Copy a batch that is ready while this step runs.
  return !loader.isReady() || send(loader);
}

bool Trainer::runStep(std::span<const frit_tensor> inputs) {
  if (frit_status status = model.train.run(model.trainContext(), inputs))
    return model.failed(status);
  return true;
}

void Trainer::advance() {
  ++position.steps;
  position.epoch = position.steps / epochSteps();
  position.inEpoch = position.steps % epochSteps();
}

bool Trainer::trainStep(Loader &loader, Report &report) {
  const Batch *batch = nullptr;
  std::vector<frit_tensor> inputs;
  if (!takeBatch(loader, batch, inputs))
    return false;
  std::vector<TensorView> before;
  if (options.traceOverflow && !model.readState(before))
    return false;
  if (!runStep(inputs) ||
      (options.traceOverflow && !traceOverflow(before, inputs)) ||
      !checkLoss(*batch, inputs, report.seconds()))
    return false;
  noteOverflows();
  uint64_t epoch = position.epoch;
  advance();
  report.step(position.steps, epoch, model.train.metrics(), rate);
  return true;
}

/// Writes the best checkpoint. If that fails, training goes on.
void Trainer::saveBest() {
  std::vector<TensorView> state;
  bestFault = team.readState(state)
                  ? checkpoints.writeBest(position, state)
                  : Fault("the state cannot be read", kMachine);
  if (bestFault)
    complain(bestFault.message() + "; training goes on");
}

bool Trainer::evaluateNow(Report &report) {
  report.pause();
  std::optional<Evaluated> result;
  if (!evaluate(model, evaluation, options, result))
    return false;
  if (result) {
    evaluated = result;
    // The epoch of the last step, also if that step ended it.
    report.evaluated(position.steps, (position.steps - 1) / epochSteps(),
                     *result);
    bool isBest =
        tracksBest() &&
        position.best.add(choice, result->find(choice.name), position.steps);
    if (isBest && keepsBest())
      saveBest();
    if (isOutOfPatience())
      report.stopped(position.steps, choice, position.best);
  }
  report.start();
  return true;
}

/// Returns whether too many evaluations were not better.
bool Trainer::isOutOfPatience() const {
  return options.patience && position.best.since >= options.patience;
}

/// Returns whether no step follows.
bool Trainer::isOver() const {
  return team.hasEnded() || position.steps >= total || isOutOfPatience();
}

/// Writes a checkpoint. If that fails, training continues: older checkpoints
/// stay, and the next one may succeed.
void Trainer::saveNow(Report &report) {
  report.pause();
  std::vector<TensorView> state;
  saveFault = team.readState(state)
                  ? checkpoints.write(position, state, options.keep)
                  : Fault("the state cannot be read", kMachine);
  if (saveFault) {
    complain(saveFault.message() +
             (isOver() ? "" : "; training goes on and tries again later"));
  } else {
    savedAt = position.steps;
    trainedAtSave = report.seconds();
    report.saved(position.steps, checkpoints.pathOf(position.steps));
  }
  report.start();
}

bool Trainer::afterStep(Report &report) {
  auto isDue = [&](uint64_t every) {
    return isOver() || position.steps % (every ? every : epochSteps()) == 0;
  };
  if (evaluates && isDue(options.evaluateEvery) && !evaluateNow(report))
    return false;
  if (checkpoints.isOpen() && isDue(options.checkpointEvery))
    saveNow(report);
  return true;
}

/// Ends the run at a signal.
bool Trainer::stop(Report &report, int signal) {
  bool isSaved = savedAt == position.steps;
  if (checkpoints.isOpen() && !isSaved) {
    saveNow(report);
    isSaved = !saveFault;
  }
  report.finish();
  return model.failed("interrupted after step " +
                          std::to_string(position.steps) +
                          (isSaved ? "; --resume goes on from there"
                                   : "; there is no checkpoint of it"),
                      ExitStatus(128 + signal));
}

bool Trainer::trainSteps(Report &report) {
  StopSignals signals;
  Loader loader(data, loading());
  if (!loader.isOpen())
    return model.failed(FRIT_OUT_OF_MEMORY);
  report.start();
  bool good = true;
  while (good && !isOver()) {
    good = team.goesOn();
    if (!good || team.hasEnded())
      break;
    good = trainStep(loader, report) && afterStep(report);
    int signal = team.stopSignal();
    if (good && signal && !isOver())
      good = stop(report, signal);
  }
  report.pause();
  waited = loader.waited();
  return good;
}

bool Trainer::run() {
  uint64_t first = position.steps;
  frit_device_info device = model.device();
  Report report(options, first, total, position.batch,
                device.module_bytes + device.context_bytes);
  if (Fault fault = report.open())
    return model.failed(fault);
  bool isDone = isOver();
  if (isDone && !options.json && first >= total)
    printf("all %llu steps are done\n", (unsigned long long)total);
  else if (isDone)
    report.stopped(first, choice, position.best);
  bool good = isDone || trainSteps(report);
  report.finish();
  if (!good || !exportAll() || !team.end())
    return false;
  if (!options.place.rank)
    summarize(report);
  if (saveFault)
    return model.failed(
        saveFault.within("the last checkpoint was not written"));
  if (bestFault)
    return model.failed(
        bestFault.within("the best checkpoint was not written"));
  if (!report.isLogWhole())
    return model.failed("the log is not whole", kMachine);
  return true;
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// Finds the weights to export: of the best evaluation, if the options name a
/// metric and there was one; otherwise of the last step.
bool Trainer::findWeights(std::vector<TensorView> &weights) {
  std::vector<TensorView> state;
  if (!keepsBest() || !position.best.value) {
    if (!team.readState(state))
      return false;
  } else {
    Checkpoint best;
    CheckpointFault fault = readCheckpoint(
        checkpoints.bestPath(), model.stateTypes(), model.name(), best);
    if (fault)
      return model.failed(fault.within("cannot export"));
    state = std::move(best.state);
  }
  weights = weightsOf(state);
  return true;
}

bool Trainer::exportAll() {
  if (options.exports.empty())
    return true;
  std::vector<TensorView> weights;
  if (!findWeights(weights))
    return false;
  for (const std::string &path : options.exports) {
    Fault fault = path.ends_with(".onnx")
                      ? exportOnnx(path, options.original, weights)
                      : exportSafetensors(path, weights);
    if (fault)
      return model.failed(fault);
  }
  return true;
}

void Trainer::summarize(const Report &report) const {
  frit_device_info device = model.device();
  uint64_t state = model.stateBytes();
  if (options.json) {
    Json json = {{"model", position.model},
                 {"device", device.device},
                 {"steps", position.steps},
                 {"batch", position.batch},
                 {"epochs", double(position.steps) / double(epochSteps())}};
    if (options.place.size > 1)
      json["ranks"] = options.place.size;
    for (const Metric &metric : model.train.metrics())
      json[metric.name] = metric.value;
    if (evaluated)
      evaluated->addTo(json);
    if (const Best &best = position.best; best.value)
      json["best"] = {{choice.logName(), *best.value}, {"step", best.step}};
    json["stopped_early"] = position.steps < total;
    json["seconds"] = report.seconds();
    json["samples_per_second"] = report.speed();
    json["seconds_waited_for_data"] = waited;
    json["module_bytes"] = device.module_bytes;
    json["context_bytes"] = device.context_bytes;
    json["state_bytes"] = state;
    if (savedAt)
      json["checkpoint"] = checkpoints.pathOf(*savedAt);
    json["exports"] = options.exports;
    puts(jsonText(json).c_str());
    return;
  }
  printf("%llu steps on %s%s in %.1f s (%.1f s of them waiting for data), %.0f "
         "samples/s; %s of memory and %s of state\n",
         (unsigned long long)position.steps, device.device, team.text().c_str(),
         report.seconds(), waited, report.speed(),
         formatBytes(device.context_bytes).c_str(), formatBytes(state).c_str());
  if (const Best &best = position.best; best.value)
    printf("best %s: %.5g, of step %llu%s%s\n", choice.logName().c_str(),
           *best.value, (unsigned long long)best.step,
           keepsBest() ? ", in " : "",
           keepsBest() ? checkpoints.bestPath().c_str() : "");
  if (savedAt)
    printf("checkpoint: %s\n", checkpoints.pathOf(*savedAt).c_str());
  for (const std::string &path : options.exports)
    printf("weights: %s\n", path.c_str());
}
