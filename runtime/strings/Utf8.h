//===- Utf8.h - Characters of UTF-8 ---------------------------------------===//

#ifndef FRIT_RUNTIME_STRINGS_UTF8_H
#define FRIT_RUNTIME_STRINGS_UTF8_H

#include <cstdint>
#include <string>
#include <string_view>

namespace frit {

inline constexpr uint32_t kNoCharacter = ~0u;

/// Removes the first character of `text`, which is not empty, and returns it.
/// Returns kNoCharacter, and removes a byte, if it is no UTF-8.
uint32_t takeCharacter(std::string_view &text);

/// Returns whether `text` is UTF-8.
bool isUtf8(std::string_view text);

/// Returns whether a character separates words.
bool isSpace(uint32_t character);

/// Return a text of UTF-8 in lower or upper case, by Unicode's mappings of one
/// character to one other.
std::string lowerCase(std::string_view text);
std::string upperCase(std::string_view text);

} // namespace frit

#endif // FRIT_RUNTIME_STRINGS_UTF8_H
