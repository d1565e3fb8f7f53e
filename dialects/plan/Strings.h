//===- Strings.h - What a model does with strings -------------------------===//
//
// frit/artifact_strings.h has the same in binary form.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_DIALECTS_PLAN_STRINGS_H
#define FRIT_DIALECTS_PLAN_STRINGS_H

#include "llvm/ADT/SmallVector.h"

#include <optional>
#include <string>
#include <vector>

namespace frit::plan {

/// A tensor of strings that a step reads: an input of the function, or a
/// constant.
struct StringOperand {
  std::optional<unsigned> input;
  std::vector<int64_t> ids, dims;
  bool operator==(const StringOperand &) const = default;
};

struct StringStep {
  std::string op; ///< name of an artifact::StringOp
  std::string node;
  unsigned flags = 0; ///< of artifact::StringFlags
  std::vector<StringOperand> operands;
  unsigned result = 0; ///< first of the inputs that it computes
  std::vector<int64_t> texts;
  int64_t most = -1;
  std::string automaton; ///< bytes of an artifact::Automaton
  bool operator==(const StringStep &) const = default;
};

/// What a function does with strings.
struct Strings {
  /// The strings that the model has, by number.
  std::vector<std::string> vocabulary;
  /// Inputs and outputs that are strings.
  llvm::SmallVector<unsigned> inputs, outputs;
  std::vector<StringStep> steps;
  unsigned computed = 0; ///< inputs that the steps compute

  bool empty() const {
    return inputs.empty() && outputs.empty() && steps.empty();
  }
};

} // namespace frit::plan

#endif // FRIT_DIALECTS_PLAN_STRINGS_H
