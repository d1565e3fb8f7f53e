//===- artifact_strings.h - What a model does with strings ----------------===//
//
// A tensor of strings is an i64 tensor of their numbers, on every target. The
// vocabulary has the strings that the compiler knew, in the order of their
// numbers. The runtime numbers the others of a call from there on, so that
// equal strings have equal numbers. When a call starts, string steps compute
// inputs of the function from its strings, on the host. A part of
// frit/artifact.h.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_ARTIFACT_STRINGS_H
#define FRIT_ARTIFACT_STRINGS_H

#include "frit/artifact_types.h"

namespace frit::artifact {

enum class StringOp : uint32_t {
  concat,    ///< two operands, which broadcast; one tensor of strings
  match,     ///< whether a string matches the automaton; one tensor of bools
  split,     ///< parts of strings, numbers of parts, and the largest of these
  normalize, ///< strings without stop words, and how many there are
};

enum StringFlags : uint32_t {
  kToLower = 1,
  kToUpper = 2,
  kCaseSensitive = 4, ///< stop words are
};

/// A tensor of strings that a step reads: an input of the function, which may
/// be one that an earlier step computes, or a constant.
struct StringOperand {
  uint32_t input = kNone;
  uint32_t reserved = 0;
  Range ids;  ///< of Header::dims: the numbers of the constant's strings
  Range dims; ///< of Header::dims: the constant's shape
};

struct StringStep {
  StringOp op = StringOp::concat;
  uint32_t flags = 0;  ///< of StringFlags
  Text node;           ///< for messages: "node 'x' (StringSplit, opset 20)"
  Range operands;      ///< of Header::stringOperands
  uint32_t result = 0; ///< first of the function's inputs that it computes
  uint32_t reserved = 0;
  /// Range of Header::dims: numbers of the vocabulary. split: the delimiter, or
  /// none to split at whitespace. normalize: the stop words.
  Range texts;
  int64_t most = -1; ///< split: splits per string; negative for any number
  Blob automaton;    ///< match: an Automaton
};

/// Returns the number of inputs that a step computes.
constexpr uint32_t resultsOf(StringOp op) {
  return op == StringOp::split ? 3 : op == StringOp::normalize ? 2 : 1;
}

/// What a function does with strings. The inputs that its steps compute follow
/// the model's own.
struct StringProgram {
  Range steps;           ///< of Header::stringSteps
  uint32_t computed = 0; ///< number of inputs that they compute
  uint32_t reserved = 0;
};

/// Head of a deterministic automaton over the bytes of a string. After it come,
/// as uint16_t, the next states [state][class], kNoState if none. The last
/// class, after those of bytes, is the string's end: a string matches if it has
/// a next state. State 0 is the start.
struct Automaton {
  uint32_t states = 0, classes = 0;
  uint8_t classOf[256] = {}; ///< of a byte, below classes - 1

  uint64_t bytes() const {
    return sizeof(Automaton) + uint64_t(states) * classes * 2;
  }
};
inline constexpr uint16_t kNoState = 0xffff;

/// Limits of what a call takes.
inline constexpr uint64_t kMostStringBytes = uint64_t(1) << 20; ///< of a string
inline constexpr uint64_t kMostTextBytes = uint64_t(1) << 30;   ///< of a call

} // namespace frit::artifact

#endif // FRIT_ARTIFACT_STRINGS_H
