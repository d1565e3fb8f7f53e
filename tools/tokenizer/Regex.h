//===- Regex.h - Regular expressions of tokenizers ------------------------===//

#ifndef FRIT_TOOLS_TOKENIZER_REGEX_H
#define FRIT_TOOLS_TOKENIZER_REGEX_H

#include "tools/support/Fault.h"
#include "tools/tokenizer/Text.h"

#include <memory>
#include <vector>

namespace frit::tokenizer {

/// A compiled expression. Copies share it; any number of threads may use it.
///
/// Tokenizers are written for Oniguruma and PCRE2 computes them: classes are
/// Unicode's, ^ and $ match at lines. Nested classes and their intersections
/// are refused.
class Regex {
public:
  /// Compiles a pattern from a file that may be hostile.
  static tools::Fault compile(std::string_view pattern, Regex &regex);
  /// Returns an expression that matches exactly `text`; none, if it is empty.
  static Regex literal(std::string text);

  /// Appends all matches in order. They do not overlap, and none that is empty
  /// follows another one immediately. Fails where the expression needs more
  /// work or memory than any tokenizer's does.
  tools::Fault findAll(std::string_view text, std::vector<Span> &matches) const;

  /// Replaces all matches by `by`.
  tools::Fault replaceAll(std::string &text, std::string_view by) const;

private:
  std::shared_ptr<const void> code;
  std::string text; ///< of a literal, which has no code
};

} // namespace frit::tokenizer

#endif // FRIT_TOOLS_TOKENIZER_REGEX_H
