//===- TrainerOverflow.cpp - Numbers of a step that are not finite --------===//
//
// A step overwrites the weights that it begins with, so what overflowed first
// can be found afterwards only where it changed none (loss scaling skips
// updates), or by training again from the newest checkpoint or the start. This
// costs nothing as long as the loss is finite.
//
//===----------------------------------------------------------------------===//

#include "tools/frit-train/Overflow.h"
#include "tools/frit-train/Trainer.h"
#include "tools/frit-train/weights/Export.h"
#include "tools/support/Message.h"

#include <algorithm>
#include <cmath>

using namespace frit::train;

//===----------------------------------------------------------------------===//
// A step
//===----------------------------------------------------------------------===//

static std::string describe(const Overflow &found) {
  return std::to_string(found.bad) + " of " + std::to_string(found.all) + " " +
         found.type;
}

std::string Trainer::noteOfStep() const {
  return "note: step " + std::to_string(position.steps + 1) + ": ";
}

/// Runs the step again, and names the first tensor that is not finite. `what`
/// is known not to be.
bool Trainer::nameTensor(std::span<const frit_tensor> inputs,
                         const std::string &what) {
  Overflow found;
  if (frit_status status = findOverflow(model.trainContext(), inputs, found))
    return model.failed(status);
  std::string start = noteOfStep();
  complain(found.bad
               ? start + "the first tensor that is not finite is of " +
                     found.name + ": " + describe(found)
               : start + what +
                     " is not finite, and all that its kernels stored is");
  return true;
}

/// If a scalar that the step returned is not finite, runs the step again from
/// the state `before` and names the first tensor that is not finite.
bool Trainer::traceOverflow(const std::vector<TensorView> &before,
                            std::span<const frit_tensor> inputs) {
  auto bad = std::ranges::find_if(model.train.metrics(), [](const Metric &m) {
    return !std::isfinite(m.value);
  });
  return bad == model.train.metrics().end() ||
         (model.writeState(before) &&
          nameTensor(inputs, "'" + bad->name + "'"));
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

/// Returns whether the step that ran has changed no weight, because loss
/// scaling skips updates by gradients that are not finite.
bool Trainer::hasSkipped() const {
  return model.hasState(FRIT_STATE_LOSS_SCALE) &&
         std::ranges::any_of(model.train.metrics(), [](const Metric &m) {
           return m.name == "gradient_norm" && !std::isfinite(m.value);
         });
}

/// Names the first tensor of a step whose loss is not finite. The weights
/// before the step are needed for that. If it has overwritten them, sets
/// `searched`, or says in `hint` what to type.
bool Trainer::findTensor(std::span<const frit_tensor> inputs, double trained,
                         std::string &hint) {
  bool isAlone = options.place.size == 1;
  if (isAlone && hasSkipped()) {
    // Repeats the step's dropout.
    double calls = 0;
    if (model.hasState(FRIT_STATE_RANDOM_COUNTER) &&
        (!model.readNumber(FRIT_STATE_RANDOM_COUNTER, calls) ||
         !model.writeNumber(FRIT_STATE_RANDOM_COUNTER, calls - 1)))
      return false;
    return nameTensor(inputs, "the loss");
  }
  if (isAlone && trained - trainedAtSave < double(options.traceLimit))
    searched = position.steps;
  else
    hint = std::string("; the same command with ") +
           (savedAt && !options.resume ? "--resume " : "") +
           "--trace-overflow names the tensor";
  return true;
}

/// Ends the run if the loss of the step is not finite. `trained` is the seconds
/// of training until now.
bool Trainer::checkLoss(const Batch &batch, std::span<const frit_tensor> inputs,
                        double trained) {
  double loss = model.train.metrics()[0].value;
  if (std::isfinite(loss) || options.allowNan)
    return true;
  uint64_t number = position.steps;
  std::string why;
  for (size_t i = 0; why.empty() && i < batch.inputs.size(); ++i)
    why = findNan(data.inputs()[i], batch.inputs[i],
                  [&](uint64_t row) { return loading().sample(number, row); });
  std::string hint;
  if (why.empty()) {
    if (!options.traceOverflow && !findTensor(inputs, trained, hint))
      return false;
    why = (options.place.size > 1 ? "the inputs of rank 0" : "its inputs") +
          std::string(" are finite, so a lower --lr or a warm-up may help");
  }
  if (savedAt)
    why +=
        "; the newest checkpoint is that of step " + std::to_string(*savedAt);
  return model.failed("step " + std::to_string(number + 1) + ": the loss is " +
                      (std::isnan(loss) ? "NaN" : "infinite") + "; " + why +
                      hint + "; --allow-nan goes on");
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
      !model.hasState(FRIT_STATE_LOSS_SCALE))
    return;
  complain(
      "note: step " + std::to_string(position.steps + 1) +
      ": the gradients of the last " + std::to_string(kMany) +
      " steps are not finite, so these changed no weight; a lower "
      "'loss_scale.initial' in train.json helps if it began too high" +
      (options.traceOverflow ? "" : "; --trace-overflow names the tensor"));
}

//===----------------------------------------------------------------------===//
// Training again
//===----------------------------------------------------------------------===//

std::optional<Search> Trainer::search() const {
  if (!searched)
    return std::nullopt;
  Search search{options, *searched};
  Options &again = search.options;
  again.isSearch = again.json = true;
  again.resume = savedAt.has_value();
  if (!savedAt)
    again.checkpoints.clear();
  again.batch = position.batch;
  again.largestBatch = false;
  again.evaluation.clear();
  again.evaluationTokens.clear();
  again.best.reset();
  again.patience = 0;
  again.exports.clear();
  again.original.clear();
  again.log.clear();
  again.events.clear();
  return search;
}

/// Names what is not finite first in a step that has run from the state
/// `before`. Clears `isFound` if all is finite.
bool Trainer::examine(const std::vector<TensorView> &before,
                      std::span<const frit_tensor> inputs, bool &isFound) {
  std::string start = noteOfStep();
  isFound = true;
  if (Overflow found = findOverflow(weightsOf(before)); found.bad) {
    complain(start + "it begins with '" + found.name +
             "', which is not finite: " + describe(found));
    return true;
  }
  if (std::isfinite(model.train.metrics()[0].value)) {
    std::vector<TensorView> after;
    if (!model.readState(after))
      return false;
    Overflow found = findOverflow(weightsOf(after));
    isFound = found.bad;
    if (!isFound)
      return true;
    complain(start + "it leaves '" + found.name +
             "', which is not finite: " + describe(found));
  }
  return model.writeState(before) && nameTensor(inputs, "a result");
}

bool Trainer::find(uint64_t bad) {
  uint64_t first = position.steps;
  complain("note: training again from step " + std::to_string(first + 1) +
           " to step " + std::to_string(bad + 1) +
           ", to name the first tensor that is not finite");
  Loader loader(data, loading());
  if (!loader.isOpen())
    return model.failed(FRIT_OUT_OF_MEMORY);
  frit::Progress progress("train again");
  for (bool isFound = false; position.steps <= bad; advance()) {
    const Batch *batch = nullptr;
    std::vector<frit_tensor> inputs;
    std::vector<TensorView> before;
    progress.update(position.steps - first, bad + 1 - first);
    // The step before may have spoilt a weight, although its loss was finite.
    bool isExamined = position.steps + 1 >= bad;
    if (!takeBatch(loader, batch, inputs) ||
        (isExamined && !model.readState(before)) || !runStep(inputs))
      return false;
    if (isExamined)
      frit::Progress::hide();
    if (isExamined && !examine(before, inputs, isFound))
      return false;
    if (isFound)
      return true;
  }
  complain("note: trained again, the loss of step " + std::to_string(bad + 1) +
           " is finite: kernels that add in another order each time are "
           "avoided by --deterministic");
  return true;
}
