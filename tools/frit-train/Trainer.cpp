//===- Trainer.cpp - A training run ---------------------------------------===//

#include "tools/frit-train/Trainer.h"
#include "tools/frit-train/Export.h"
#include "tools/frit-train/Overflow.h"
#include "tools/frit-train/Stop.h"
#include "tools/frit-train/data/Shuffle.h"
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
    if (rate || !model.hasState("learning_rate"))
      return true;
    if (!model.readNumber("learning_rate", compiled))
      return false;
    rate = compiled;
    return true;
  }
  if (!model.hasState("learning_rate"))
    return model.failed("the step has no state 'learning_rate' for --lr to "
                        "set");
  double next = options.schedule->at(position.steps, total, epochSteps());
  if (rate == next)
    return true;
  rate = next;
  return model.writeNumber("learning_rate", next);
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

/// Describes the first NaN of an input.
static std::string findNan(const Input &type, Bytes data,
                           const std::function<uint64_t(uint64_t)> &sample) {
  if (type.isInteger() || type.dtype == FRIT_BOOL)
    return "";
  Tensor tensor{type.name, type.dtype, type.dims,
                Storage(data.begin(), data.end())};
  for (uint64_t i = 0, count = tensor.count(); i < count; ++i)
    if (!std::isfinite(tensor.at(i))) {
      uint64_t row = i / (count / uint64_t(type.dims[0]));
      return "input '" + type.name + "' is not finite at " +
             tensor.position(i) + ", in sample " + std::to_string(sample(row));
    }
  return "";
}

bool Trainer::checkLoss(const Batch &batch) {
  double loss = model.train.metrics()[0].value;
  if (std::isfinite(loss) || options.allowNan)
    return true;
  uint64_t number = position.steps;
  std::string why;
  for (size_t i = 0; why.empty() && i < batch.inputs.size(); ++i)
    why = findNan(data.inputs()[i], batch.inputs[i],
                  [&](uint64_t row) { return loading().sample(number, row); });
  if (why.empty())
    why = (options.place.size > 1 ? "the inputs of rank 0" : "its inputs") +
          std::string(" are finite, so a lower --lr or a warm-up may help");
  if (savedAt)
    why +=
        "; the newest checkpoint is that of step " + std::to_string(*savedAt);
  return model.failed(
      "step " + std::to_string(number + 1) + ": the loss is " +
      (std::isnan(loss) ? "NaN" : "infinite") + "; " + why +
      (options.traceOverflow ? "" : "; --trace-overflow names the tensor") +
      "; --allow-nan goes on");
}

/// Prints a note if loss scaling has skipped so many steps in a row that it may
/// skip all of them.
void Trainer::noteOverflows() {
  constexpr uint64_t kMany = 20;
  bool isFinite =
      std::ranges::all_of(model.train.metrics(), [](const Metric &m) {
        return std::isfinite(m.value);
      });
  overflowed = isFinite ? 0 : overflowed + 1;
  if (overflowed != kMany || options.place.rank ||
      !model.hasState("loss_scale"))
    return;
  complain(
      "note: step " + std::to_string(position.steps + 1) +
      ": the gradients of the last " + std::to_string(kMany) +
      " steps are not finite, so these changed no weight; a lower "
      "'loss_scale.initial' in train.json helps if it began too high" +
      (options.traceOverflow ? "" : "; --trace-overflow names the tensor"));
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

/// If a scalar that the step returned is not finite, runs the step again from
/// the state `before` and names the first tensor that is not finite.
bool Trainer::traceOverflow(const std::vector<TensorView> &before,
                            std::span<const frit_tensor> inputs) {
  auto bad = std::ranges::find_if(model.train.metrics(), [](const Metric &m) {
    return !std::isfinite(m.value);
  });
  if (bad == model.train.metrics().end())
    return true;
  Overflow found;
  if (!model.writeState(before))
    return false;
  if (frit_status status = findOverflow(model.trainContext(), inputs, found))
    return model.failed(status);
  std::string step = "step " + std::to_string(position.steps + 1) + ": ";
  if (found.node.empty())
    complain("note: " + step + "'" + bad->name +
             "' is not finite, and all that its kernels stored is");
  else
    complain("note: " + step + "the first tensor that is not finite is of " +
             found.node + ": " + std::to_string(found.bad) + " of " +
             std::to_string(found.all) + " " + found.type);
  return true;
}

bool Trainer::trainStep(Loader &loader, Report &report) {
  if (!setRate() || (!sent && !send(loader)))
    return false;
  const Batch &batch = *std::exchange(sent, nullptr);
  std::vector<frit_tensor> inputs(data.inputs().size());
  if (frit_status status = frit_feed_take(model.trainFeed(), inputs.data()))
    return model.failed(status);
  // Copy a batch that is ready while this step runs.
  if (loader.isReady() && !send(loader))
    return false;
  std::vector<TensorView> before;
  if (options.traceOverflow && !model.readState(before))
    return false;
  if (frit_status status = model.train.run(model.trainContext(), inputs))
    return model.failed(status);
  if (options.traceOverflow && !traceOverflow(before, inputs))
    return false;
  if (!checkLoss(batch))
    return false;
  noteOverflows();
  uint64_t epoch = position.epoch;
  ++position.steps;
  position.epoch = position.steps / epochSteps();
  position.inEpoch = position.steps % epochSteps();
  report.step(position.steps, epoch, model.train.metrics(), rate);
  return true;
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
  }
  report.start();
  return true;
}

/// Writes a checkpoint. If that fails, training continues: older checkpoints
/// stay, and the next one may succeed.
void Trainer::saveNow(Report &report) {
  report.pause();
  std::vector<TensorView> state;
  saveFault = readState(state)
                  ? checkpoints.write(position, state, options.keep)
                  : Fault("the state cannot be read", kMachine);
  if (saveFault) {
    complain(saveFault.message() +
             (position.steps < total
                  ? "; training goes on and tries again later"
                  : ""));
  } else {
    savedAt = position.steps;
    report.saved(position.steps, checkpoints.pathOf(position.steps));
  }
  report.start();
}

bool Trainer::afterStep(Report &report) {
  auto isDue = [&](uint64_t every) {
    return position.steps == total ||
           position.steps % (every ? every : epochSteps()) == 0;
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
  Loader::Settings settings = loading();
  settings.allocate = [&](uint64_t bytes) {
    void *memory = nullptr;
    return frit_feed_allocate(model.trainFeed(), bytes, &memory)
               ? nullptr
               : static_cast<uint8_t *>(memory);
  };
  Loader loader(data, settings);
  if (!loader.isOpen())
    return model.failed(FRIT_OUT_OF_MEMORY);
  report.start();
  bool good = true;
  while (good && position.steps < total) {
    good = goesOn() && trainStep(loader, report) && afterStep(report);
    int signal = stopSignal();
    if (good && signal && position.steps < total)
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
  if (first >= total && !options.json)
    printf("all %llu steps are done\n", (unsigned long long)total);
  bool good = first >= total || trainSteps(report);
  report.finish();
  if (!good || !exportAll() ||
      !(options.place.rank ? obey() : tell(Order::end)))
    return false;
  if (!options.place.rank)
    summarize(report);
  if (saveFault)
    return model.failed(
        saveFault.within("the last checkpoint was not written"));
  if (!report.isLogWhole())
    return model.failed("the log is not whole", kMachine);
  return true;
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

bool Trainer::exportAll() {
  if (options.exports.empty())
    return true;
  std::vector<TensorView> state;
  if (!readState(state))
    return false;
  std::vector<TensorView> weights = weightsOf(state);
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
    if (evaluated) {
      json["eval_loss"] = evaluated->loss;
      if (evaluated->accuracy)
        json["eval_accuracy"] = *evaluated->accuracy;
    }
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
         (unsigned long long)position.steps, device.device, ranksText().c_str(),
         report.seconds(), waited, report.speed(),
         formatBytes(device.context_bytes).c_str(), formatBytes(state).c_str());
  if (savedAt)
    printf("checkpoint: %s\n", checkpoints.pathOf(*savedAt).c_str());
  for (const std::string &path : options.exports)
    printf("weights: %s\n", path.c_str());
}
