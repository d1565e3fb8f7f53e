//===- Letters.h - Upper and lower case of texts --------------------------===//

#ifndef FRIT_TOOLS_TOKENIZER_JINJA_LETTERS_H
#define FRIT_TOOLS_TOKENIZER_JINJA_LETTERS_H

#include <cstdint>
#include <string>
#include <string_view>

namespace frit::jinja {

/// Each as Python's method of str. Letters that become several, but for ß, stay
/// as they are.
std::string toUpper(std::string_view text);
std::string toLower(std::string_view text);
std::string toTitle(std::string_view text);
std::string capitalize(std::string_view text);

/// Python's isspace() of a character.
bool isWhite(int32_t code);

/// Each of a text that is not empty.
bool areDigits(std::string_view text);
bool areNumeric(std::string_view text);
bool areLetters(std::string_view text);
bool areLettersOrDigits(std::string_view text);
bool areWhite(std::string_view text);
/// Whether there are letters with case, all of that case.
bool areUpper(std::string_view text);
bool areLower(std::string_view text);

} // namespace frit::jinja

#endif // FRIT_TOOLS_TOKENIZER_JINJA_LETTERS_H
