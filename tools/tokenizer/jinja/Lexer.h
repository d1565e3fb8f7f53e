//===- Lexer.h - Parts of a template --------------------------------------===//

#ifndef FRIT_TOOLS_TOKENIZER_JINJA_LEXER_H
#define FRIT_TOOLS_TOKENIZER_JINJA_LEXER_H

#include "tools/support/Fault.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace frit::jinja {

enum class TokenKind : uint8_t {
  data,  ///< text that is written as it is
  open,  ///< {% or {{
  close, ///< %} or }}
  name,
  text,
  integer,
  real,
  sign, ///< operators and brackets
  end
};

struct Token {
  TokenKind kind;
  int line;
  std::string text;
};

/// Cuts a template into tokens, with white space removed as transformers does:
/// trim_blocks and lstrip_blocks. `source` is UTF-8.
tools::Fault cut(std::string_view source, std::vector<Token> &tokens);

} // namespace frit::jinja

#endif // FRIT_TOOLS_TOKENIZER_JINJA_LEXER_H
