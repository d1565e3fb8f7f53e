//===- ByteLevel.h - GPT-2's characters for bytes -------------------------===//
//
// A byte that prints in Latin-1 is that character; the others are, in order,
// the characters from U+0100: a space is U+0120.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_TOOLS_TOKENIZER_BYTELEVEL_H
#define FRIT_TOOLS_TOKENIZER_BYTELEVEL_H

#include <optional>
#include <string>
#include <string_view>

namespace frit::tokenizer {

/// Returns the characters of all bytes.
std::string toByteCharacters(std::string_view bytes);

/// Returns the bytes of UTF-8 text; nothing if a character stands for none.
std::optional<std::string> fromByteCharacters(std::string_view text);

} // namespace frit::tokenizer

#endif // FRIT_TOOLS_TOKENIZER_BYTELEVEL_H
