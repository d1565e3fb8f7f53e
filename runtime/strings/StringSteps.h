//===- StringSteps.h - What a model computes from strings -----------------===//

#ifndef FRIT_RUNTIME_STRINGS_STRINGSTEPS_H
#define FRIT_RUNTIME_STRINGS_STRINGSTEPS_H

#include "runtime/strings/Numbers.h"

#include <vector>

namespace frit {

/// A dense tensor on the host. Strings are their numbers; bools are in `flags`,
/// all others in `numbers`.
struct HostTensor {
  std::vector<int64_t> dims;
  std::vector<int64_t> numbers;
  std::vector<uint8_t> flags;
};

/// A tensor of strings that a step reads.
struct StringsView {
  std::span<const int64_t> dims, numbers;
};

/// Computes the results of a step. `parts` is the most parts that the model
/// holds of a string that is split. Fails if the strings do not suit the model.
Status computeStrings(const PlanView &plan, const artifact::StringStep &step,
                      std::span<const StringsView> operands, int64_t parts,
                      StringNumbers &numbers, std::span<HostTensor> results);

/// Returns whether a text matches the automaton of a checked plan.
bool matches(std::span<const uint8_t> automaton, std::string_view text);

} // namespace frit

#endif // FRIT_RUNTIME_STRINGS_STRINGSTEPS_H
