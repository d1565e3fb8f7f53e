//===- Regex.h - Regular expressions --------------------------------------===//
//
// Patterns in RE2's syntax, without Unicode's classes and multiline mode. A
// pattern is matched with whole strings, so what it prefers does not matter,
// and captures nothing.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_COMPILER_ONNX_STRINGS_REGEX_H
#define FRIT_COMPILER_ONNX_STRINGS_REGEX_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <string>
#include <vector>

namespace frit::importer {

/// A nondeterministic automaton over bytes.
struct Nfa {
  enum Kind : uint8_t {
    bytes,       ///< a byte in [low, high], then `next`
    split,       ///< `next` or `other`
    textBegin,   ///< asserts that nothing precedes, then `next`
    textEnd,     ///< asserts that nothing follows
    boundary,    ///< asserts that a word begins or ends here
    notBoundary, ///< asserts the contrary
    accept
  };
  struct State {
    Kind kind = accept;
    uint8_t low = 0, high = 0;
    unsigned next = 0, other = 0;
  };
  std::vector<State> states;
  unsigned start = 0;
};

/// Parses a pattern. The error says what is wrong, and where in the pattern.
llvm::Expected<Nfa> parseRegex(llvm::StringRef pattern);

/// Returns the bytes of an artifact::Automaton that accepts the same strings;
/// an error if it would be too large.
llvm::Expected<std::string> determinize(const Nfa &nfa);

} // namespace frit::importer

#endif // FRIT_COMPILER_ONNX_STRINGS_REGEX_H
