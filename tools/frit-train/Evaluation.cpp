//===- Evaluation.cpp - Loss and accuracy on evaluation data --------------===//

#include "tools/frit-train/Evaluation.h"
#include "tools/frit-train/Stop.h"

#include <algorithm>

using namespace frit::train;

/// Maximum bytes of a batch's scores that are copied to compute an accuracy.
static constexpr uint64_t kMostScores = uint64_t(64) << 20;

bool frit::train::evaluate(Model &model, const Dataset &data,
                           const Options &options,
                           std::optional<Evaluated> &result) {
  result.reset();
  Function &function = model.evaluate;
  uint64_t batch = function.batch(), samples = data.count();
  std::optional<Classifier> classifier =
      Classifier::find(data.inputs(), function.tensors());
  std::vector<Tensor> wanted;
  std::optional<LabelCheck> check;
  if (classifier) {
    check = classifier->check(data.inputs(), options.ignoredLabel);
    const Input &scores = classifier->scores;
    std::optional<uint64_t> bytes = byteSize(scores.dtype, scores.dims);
    if (bytes && *bytes <= kMostScores) {
      wanted.push_back({scores.name, scores.dtype, scores.dims, {}});
      allocate(wanted.back());
    }
  }
  uint64_t batches = (samples + batch - 1) / batch;
  Loader loader(data, {batch, 0, batches, unsigned(options.workers), check,
                       [=](uint64_t number, uint64_t row) {
                         return (number * batch + row) % samples;
                       }});
  double sum = 0;
  Score score;
  for (uint64_t number = 0; number < batches; ++number) {
    if (StopSignals::received())
      return true;
    const Batch &inputs = loader.next();
    if (inputs.fault)
      return model.failed(inputs.fault.within("evaluation"));
    if (frit_status status = function.run(
            model.evaluateContext(), bindInputs(data.inputs(), inputs), wanted))
      return model.failed(status);
    uint64_t own = std::min(batch, samples - number * batch);
    sum += function.metrics()[0].value * double(own);
    if (!wanted.empty())
      count(*classifier, wanted[0], data.inputs()[check->input],
            inputs.inputs[check->input], own, options.ignoredLabel, score);
  }
  result = Evaluated{sum / double(samples), std::nullopt};
  if (score.all)
    result->accuracy = double(score.right) / double(score.all);
  return true;
}
