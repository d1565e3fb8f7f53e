//===- Nfa.h - Nondeterministic automata ----------------------------------===//

#ifndef FRIT_COMPILER_ONNX_STRINGS_NFA_H
#define FRIT_COMPILER_ONNX_STRINGS_NFA_H

#include <cstdint>
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

} // namespace frit::importer

#endif // FRIT_COMPILER_ONNX_STRINGS_NFA_H
