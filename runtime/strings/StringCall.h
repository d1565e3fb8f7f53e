//===- StringCall.h - The strings of a call -------------------------------===//

#ifndef FRIT_RUNTIME_STRINGS_STRINGCALL_H
#define FRIT_RUNTIME_STRINGS_STRINGCALL_H

#include "runtime/strings/StringSteps.h"

namespace frit {

/// Turns the strings of a context's calls into what the device computes with,
/// and back.
class StringCall {
public:
  void open(const PlanView &plan);

  /// Begins a call of `variant`. Forgets the strings of the last one.
  void begin(size_t variant);
  /// Numbers the strings of input `index`, which has the model's type. Returns
  /// their numbers in `data`.
  Status read(size_t index, const std::string &name, const frit_tensor &tensor,
              void *&data);
  /// Runs the string steps, once all inputs have been read.
  Status compute();
  /// Returns what the steps computed for input `index`.
  std::span<const int64_t> dims(size_t index) const {
    return tensors[index].dims;
  }
  void *data(size_t index);

  /// Returns memory for the numbers of an output of strings.
  void *output(size_t index, frit_string *strings);
  /// Writes the strings of the outputs that `output` was asked for, whose
  /// `shapes` are known by now.
  Status finish(std::span<const std::vector<int64_t>> shapes);

private:
  Status run(const artifact::StringStep &step);
  Status check(const artifact::StringStep &step);

  PlanView plan;
  size_t variant = 0;
  StringNumbers numbers;
  std::vector<HostTensor> tensors; ///< by input
  struct Output {
    size_t index;
    frit_string *strings;
    std::vector<int64_t> numbers;
  };
  std::vector<Output> outputs;
};

} // namespace frit

#endif // FRIT_RUNTIME_STRINGS_STRINGCALL_H
