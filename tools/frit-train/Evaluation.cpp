//===- Evaluation.cpp - Loss and accuracy on evaluation data --------------===//

#include "tools/frit-train/Evaluation.h"
#include "tools/frit-train/Stop.h"
#include "tools/support/Table.h"

#include <algorithm>
#include <cmath>

using namespace frit::train;

/// Maximum bytes of a batch's scores that are copied to compute an accuracy.
static constexpr uint64_t kMostScores = uint64_t(64) << 20;

/// The output that says how many items the loss is the mean over.
static constexpr const char *kLossCount = "loss_count";

namespace {
/// The number of calls and the samples in their rows. A last batch of k samples
/// has a call with q copies of each and m of the first one, to fill its rows.
/// If m > 0, another call has copies of that sample alone.
class Calls {
public:
  Calls(uint64_t samples, uint64_t batch)
      : batch(batch), whole(samples / batch), own(samples % batch) {}

  uint64_t count() const { return whole + (own ? 1 : 0) + (rest() ? 1 : 0); }
  uint64_t sample(uint64_t call, uint64_t row) const {
    if (call < whole)
      return call * batch + row;
    bool isCopied = call == whole && row < own * copies();
    return whole * batch + (isCopied ? row % own : 0);
  }
  /// Returns the samples of which a call's first rows are the only copies that
  /// were not in calls before.
  uint64_t newSamples(uint64_t call) const {
    return call < whole ? batch : call == whole ? own : 0;
  }
  /// Returns the factor of a call in the sum over all samples.
  double factor(uint64_t call) const {
    if (call < whole)
      return 1;
    double once = 1 / double(copies());
    return call == whole ? once : -once * double(rest()) / double(batch);
  }

private:
  uint64_t copies() const { return own ? batch / own : 0; }
  uint64_t rest() const { return own ? batch % own : 0; }

  uint64_t batch, whole, own;
};

/// A weighted mean.
struct Mean {
  double sum = 0, weight = 0;

  void add(double value, double weight) {
    // A loss over no items may be 0 / 0.
    if (weight != 0)
      sum += value * weight;
    this->weight += weight;
  }
  double value() const { return sum / weight; }
};
} // namespace

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

double Evaluated::find(const std::string &name) const {
  if (name == "loss")
    return loss;
  if (name == "accuracy" && accuracy)
    return *accuracy;
  for (const auto &[own, value] : metrics)
    if (own == name)
      return value;
  return NAN;
}

void Evaluated::addTo(Json &line) const {
  line["eval_loss"] = loss;
  for (const auto &[name, value] : metrics)
    line["eval_" + name] = value;
  if (accuracy)
    line["eval_accuracy"] = *accuracy;
}

std::string Evaluated::text() const {
  std::string all = tools::text("evaluation loss %.5g", loss);
  for (const auto &[name, value] : metrics)
    all += tools::text(", %s %.5g", name.c_str(), value);
  if (accuracy)
    all += tools::text(", accuracy %.2f%%", 100 * *accuracy);
  return all;
}

/// Returns whether the scores of a batch are copied to compute an accuracy.
static bool isCounted(const std::optional<Classifier> &classifier) {
  if (!classifier)
    return false;
  const Input &scores = classifier->scores;
  std::optional<uint64_t> bytes = byteSize(scores.dtype, scores.dims);
  return bytes && *bytes <= kMostScores;
}

std::vector<std::string> frit::train::metricNames(const Model &model,
                                                  const Dataset &data) {
  const ModelFunction &function = model.evaluate;
  std::vector<std::string> names;
  for (const Metric &metric : function.metrics())
    if (metric.name != kLossCount)
      names.push_back(metric.name);
  if (isCounted(Classifier::find(data.inputs(), function.tensors())))
    names.push_back("accuracy");
  return names;
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

bool frit::train::evaluate(Model &model, const Dataset &data,
                           const Options &options,
                           std::optional<Evaluated> &result) {
  result.reset();
  ModelFunction &function = model.evaluate;
  uint64_t batch = function.batch();
  std::optional<Classifier> classifier =
      Classifier::find(data.inputs(), function.tensors());
  std::vector<Tensor> wanted;
  std::optional<LabelCheck> check;
  if (classifier) {
    check = classifier->check(data.inputs(), options.ignoredLabel);
    const Input &scores = classifier->scores;
    if (isCounted(classifier)) {
      wanted.push_back({scores.name, scores.dtype, scores.dims, {}});
      allocate(wanted.back());
    }
  }
  Calls calls(data.count(), batch);
  Loader loader(data, {batch, 0, calls.count(), unsigned(options.workers),
                       check, [=](uint64_t number, uint64_t row) {
                         return calls.sample(number, row);
                       }});
  const std::vector<Metric> &metrics = function.metrics();
  auto items = std::ranges::find(metrics, kLossCount, &Metric::name);
  std::vector<Mean> means(metrics.size());
  Score score;
  for (uint64_t number = 0; number < calls.count(); ++number) {
    if (StopSignals::received())
      return true;
    const Batch &inputs = loader.next();
    if (inputs.fault)
      return model.failed(inputs.fault.within("evaluation"));
    if (frit_status status = function.run(
            model.evaluateContext(), bindInputs(data.inputs(), inputs), wanted))
      return model.failed(status);
    double factor = calls.factor(number);
    for (size_t i = 0; i < metrics.size(); ++i) {
      bool counts = i == 0 && items != metrics.end();
      means[i].add(metrics[i].value,
                   factor * (counts ? items->value : double(batch)));
    }
    if (!wanted.empty() && calls.newSamples(number))
      count(*classifier, wanted[0], data.inputs()[check->input],
            inputs.inputs[check->input], calls.newSamples(number),
            options.ignoredLabel, score);
  }
  // No items, as if all labels were ignored, give a loss of 0.
  constexpr double kNone = 1e-6;
  result = Evaluated{means[0].weight > kNone ? means[0].value() : 0, {}, {}};
  for (size_t i = 1; i < metrics.size(); ++i)
    if (metrics.begin() + std::ptrdiff_t(i) != items)
      result->metrics.emplace_back(metrics[i].name, means[i].value());
  if (score.all)
    result->accuracy = double(score.right) / double(score.all);
  return true;
}
