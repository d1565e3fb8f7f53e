//===- Evaluation.cpp - Loss and accuracy on data that train nothing ------===//

#include "tools/frit-train/Evaluation.h"

#include <algorithm>

using namespace frit::train;

/// Scores of more bytes a batch are not copied for an accuracy.
static constexpr uint64_t kMostScores = uint64_t(64) << 20;

//===----------------------------------------------------------------------===//
// Accuracy
//===----------------------------------------------------------------------===//

std::optional<Classifier> Classifier::find(const Function &function) {
  const std::vector<Input> &inputs = function.inputs();
  for (auto input = inputs.rbegin(); input != inputs.rend(); ++input) {
    if (!input->isInteger())
      continue;
    for (const Input &output : function.tensors()) {
      std::vector<int64_t> last = output.dims, second = output.dims;
      if (output.isInteger() || output.dtype == FRIT_BOOL || last.size() < 2)
        continue;
      last.pop_back();
      second.erase(second.begin() + 1);
      bool isLast = last == input->dims;
      int64_t classes = isLast ? output.dims.back() : output.dims[1];
      if ((isLast || second == input->dims) && classes > 1)
        return Classifier{input->name, output, classes, isLast};
    }
  }
  return std::nullopt;
}

std::optional<LabelCheck> Classifier::check(const std::vector<Input> &inputs,
                                            int64_t ignored) const {
  auto found = std::ranges::find(inputs, labels, &Input::name);
  if (found == inputs.end())
    return std::nullopt;
  return LabelCheck{size_t(found - inputs.begin()), classes, ignored};
}

void frit::train::count(const Classifier &classifier, const Tensor &scores,
                        const Input &labels, const Storage &right,
                        uint64_t samples, int64_t ignored, Score &score) {
  Tensor answers{labels.name, labels.dtype, labels.dims, right};
  uint64_t classes = uint64_t(classifier.classes);
  uint64_t perSample = answers.count() / uint64_t(labels.dims[0]);
  uint64_t inner = classifier.isLast ? 1 : perSample;
  for (uint64_t i = 0; i < samples * perSample; ++i) {
    int64_t answer = int64_t(answers.at(i));
    if (answer == ignored)
      continue;
    uint64_t start = i / inner * inner * classes + i % inner;
    uint64_t best = 0;
    for (uint64_t k = 1; k < classes; ++k)
      if (scores.at(start + k * inner) > scores.at(start + best * inner))
        best = k;
    ++score.all;
    score.right += int64_t(best) == answer;
  }
}

//===----------------------------------------------------------------------===//
// Evaluation
//===----------------------------------------------------------------------===//

bool frit::train::evaluate(Model &model, const Dataset &data,
                           const Options &options, Evaluated &result) {
  Function &function = model.evaluate;
  uint64_t batch = function.batch(), samples = data.count();
  if (frit_status status = function.resolve(data.inputs()))
    return model.failed(status);
  std::optional<Classifier> classifier = Classifier::find(function);
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
    const Batch &inputs = loader.next();
    if (!inputs.error.empty())
      return model.failed("evaluation: " + inputs.error);
    if (frit_status status = function.run(model.evaluateContext(),
                                          data.inputs(), inputs, wanted))
      return model.failed(status);
    uint64_t own = std::min(batch, samples - number * batch);
    sum += function.metrics()[0].value * double(own);
    if (!wanted.empty())
      count(*classifier, wanted[0], data.inputs()[check->input],
            inputs.inputs[check->input], own, options.ignoredLabel, score);
  }
  result.loss = sum / double(samples);
  result.accuracy.reset();
  if (score.all)
    result.accuracy = double(score.right) / double(score.all);
  return true;
}
