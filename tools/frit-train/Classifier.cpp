//===- Classifier.cpp - Accuracy of a classifier --------------------------===//

#include "tools/frit-train/Classifier.h"

#include <algorithm>

using namespace frit::train;

std::optional<Classifier> Classifier::find(const std::vector<Input> &inputs,
                                           const std::vector<Input> &outputs) {
  for (auto input = inputs.rbegin(); input != inputs.rend(); ++input) {
    if (!input->isInteger())
      continue;
    for (const Input &output : outputs) {
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
                        const Input &labels, Bytes right, uint64_t samples,
                        int64_t ignored, Score &score) {
  Tensor answers{labels.name, labels.dtype, labels.dims,
                 Storage(right.begin(), right.end())};
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
