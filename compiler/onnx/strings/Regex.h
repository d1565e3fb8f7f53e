//===- Regex.h - Regular expressions --------------------------------------===//
//
// Patterns in RE2's syntax, without Unicode's classes and multiline mode. A
// pattern is matched with whole strings, so what it prefers does not matter,
// and captures nothing.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_COMPILER_ONNX_STRINGS_REGEX_H
#define FRIT_COMPILER_ONNX_STRINGS_REGEX_H

#include "compiler/onnx/strings/Nfa.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace frit::importer {

/// Parses a pattern. The error says what is wrong, and where in the pattern.
llvm::Expected<Nfa> parseRegex(llvm::StringRef pattern);

/// Returns the bytes of an artifact::Automaton that accepts the same strings;
/// an error if it would be too large.
llvm::Expected<std::string> determinize(const Nfa &nfa);

} // namespace frit::importer

#endif // FRIT_COMPILER_ONNX_STRINGS_REGEX_H
