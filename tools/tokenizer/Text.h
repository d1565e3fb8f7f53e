//===- Text.h - UTF-8 and classes of characters ---------------------------===//
//
// Unicode's tables are utf8proc's. Functions without another word on it take
// valid UTF-8, which `findInvalid` checks once where text comes in.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_TOOLS_TOKENIZER_TEXT_H
#define FRIT_TOOLS_TOKENIZER_TEXT_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace frit::tokenizer {

/// Half-open range of bytes.
struct Span {
  size_t begin = 0, end = 0;
  bool operator==(const Span &) const = default;
};

/// A code point and the bytes that it takes.
struct Character {
  int32_t code = 0;
  size_t bytes = 0;
};

/// Returns the character that begins at byte `at`, which exists.
Character characterAt(std::string_view text, size_t at);

void appendCharacter(std::string &text, int32_t code);

/// Returns the position of the first byte that is no UTF-8; npos if none.
size_t findInvalid(std::string_view text);

/// Returns any bytes as UTF-8: each longest start of a character that does not
/// go on becomes one U+FFFD, as does each byte that starts none.
std::string replaceInvalid(std::string_view bytes);

/// Returns how many bytes at the end of any bytes start a character that more
/// bytes could complete: 0 to 3.
size_t incompleteTail(std::string_view bytes);

/// Unicode's White_Space.
bool isSpace(int32_t code);
/// General category M.
bool isMark(int32_t code);
/// General category P, and the other ASCII characters that print and are no
/// letters or digits.
bool isPunctuation(int32_t code);
/// General category N.
bool isNumeric(int32_t code);
/// What \w is in Unicode's regular expressions: alphabetic characters, marks,
/// decimal digits, connectors and the two joiners.
bool isWord(int32_t code);

/// Calls `visit` with each character and its position.
template <typename Visitor>
void forEachCharacter(std::string_view text, Visitor visit) {
  for (size_t at = 0; at < text.size();) {
    Character character = characterAt(text, at);
    visit(character.code, Span{at, at + character.bytes});
    at += character.bytes;
  }
}

} // namespace frit::tokenizer

#endif // FRIT_TOOLS_TOKENIZER_TEXT_H
