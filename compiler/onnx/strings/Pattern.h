//===- Pattern.h - The parts of a regular expression ----------------------===//

#ifndef FRIT_COMPILER_ONNX_STRINGS_PATTERN_H
#define FRIT_COMPILER_ONNX_STRINGS_PATTERN_H

#include "compiler/onnx/strings/CharacterSet.h"
#include "compiler/onnx/strings/Nfa.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <vector>

namespace frit::importer {

/// A part of a pattern.
struct Part {
  enum Kind { characters, assertion, sequence, choice, repetition };
  Kind kind = sequence;
  CharacterSet set;                    ///< of `characters`
  Nfa::Kind asserted = Nfa::textBegin; ///< of `assertion`
  int least = 0, most = 0;             ///< of `repetition`; most < 0: any
  std::vector<std::unique_ptr<Part>> parts;
};
using PartPtr = std::unique_ptr<Part>;

/// Parses a pattern of RE2's syntax, UTF-8. Errors say what is wrong, and at
/// which byte.
llvm::Expected<PartPtr> parsePattern(llvm::StringRef pattern);

} // namespace frit::importer

#endif // FRIT_COMPILER_ONNX_STRINGS_PATTERN_H
