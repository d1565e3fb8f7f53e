//===- Text.cpp - UTF-8 and classes of characters -------------------------===//

#include "tools/tokenizer/Text.h"

#include <utf8proc.h>

using namespace frit::tokenizer;

/// A sequence of bytes at the start of some bytes.
struct Sequence {
  size_t bytes;      ///< of the character, or of the part that is none
  bool isCharacter;  ///< otherwise it becomes one U+FFFD
  bool isIncomplete; ///< the bytes end within a character
};

/// Measures the first character of bytes, of which there is one, by the table
/// of well-formed sequences in the Unicode standard (3-7).
static Sequence measure(std::string_view text) {
  auto byte = [&](size_t at) { return uint8_t(text[at]); };
  uint8_t first = byte(0);
  if (first < 0x80)
    return {1, true, false};
  size_t count = first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  if (!count || first > 0xf4)
    return {1, false, false};
  uint8_t least = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
  uint8_t most = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
  for (size_t at = 1; at < count; ++at) {
    if (at == text.size())
      return {at, false, true};
    if (byte(at) < least || byte(at) > most)
      return {at, false, false};
    least = 0x80;
    most = 0xbf;
  }
  return {count, true, false};
}

Character frit::tokenizer::characterAt(std::string_view text, size_t at) {
  auto byte = [&](size_t offset) { return uint8_t(text[at + offset]); };
  uint8_t first = byte(0);
  if (first < 0x80)
    return {first, 1};
  if (first < 0xe0)
    return {(first & 0x1f) << 6 | (byte(1) & 0x3f), 2};
  if (first < 0xf0)
    return {(first & 0xf) << 12 | (byte(1) & 0x3f) << 6 | (byte(2) & 0x3f), 3};
  return {(first & 7) << 18 | (byte(1) & 0x3f) << 12 | (byte(2) & 0x3f) << 6 |
              (byte(3) & 0x3f),
          4};
}

void frit::tokenizer::appendCharacter(std::string &text, int32_t code) {
  utf8proc_uint8_t bytes[4];
  utf8proc_ssize_t count = utf8proc_encode_char(code, bytes);
  text.append(reinterpret_cast<const char *>(bytes), size_t(count));
}

size_t frit::tokenizer::findInvalid(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    Sequence sequence = measure(text.substr(at));
    if (!sequence.isCharacter)
      return at;
    at += sequence.bytes;
  }
  return text.npos;
}

std::string frit::tokenizer::replaceInvalid(std::string_view bytes) {
  std::string result;
  while (!bytes.empty()) {
    Sequence sequence = measure(bytes);
    if (sequence.isCharacter)
      result += bytes.substr(0, sequence.bytes);
    else
      result += "\uFFFD";
    bytes.remove_prefix(sequence.bytes);
  }
  return result;
}

size_t frit::tokenizer::incompleteTail(std::string_view bytes) {
  for (size_t count = 1; count <= 3 && count <= bytes.size(); ++count) {
    std::string_view tail = bytes.substr(bytes.size() - count);
    if ((uint8_t(tail[0]) & 0xc0) != 0x80)
      return measure(tail).isIncomplete ? count : 0;
  }
  return 0;
}

bool frit::tokenizer::isSpace(int32_t code) {
  if (code < 0x80)
    return code == ' ' || (code >= '\t' && code <= '\r');
  switch (utf8proc_category(code)) {
  case UTF8PROC_CATEGORY_ZS:
  case UTF8PROC_CATEGORY_ZL:
  case UTF8PROC_CATEGORY_ZP:
    return true;
  default:
    return code == 0x85;
  }
}

bool frit::tokenizer::isMark(int32_t code) {
  switch (utf8proc_category(code)) {
  case UTF8PROC_CATEGORY_MN:
  case UTF8PROC_CATEGORY_MC:
  case UTF8PROC_CATEGORY_ME:
    return true;
  default:
    return false;
  }
}

bool frit::tokenizer::isPunctuation(int32_t code) {
  if (code < 0x80)
    return code > ' ' && code < 0x7f && !(code >= '0' && code <= '9') &&
           !((code | 0x20) >= 'a' && (code | 0x20) <= 'z');
  utf8proc_category_t category = utf8proc_category(code);
  return category >= UTF8PROC_CATEGORY_PC && category <= UTF8PROC_CATEGORY_PO;
}

bool frit::tokenizer::isNumeric(int32_t code) {
  utf8proc_category_t category = utf8proc_category(code);
  return category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO;
}

bool frit::tokenizer::isWord(int32_t code) {
  utf8proc_category_t category = utf8proc_category(code);
  if (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_NL)
    return true; // letters, marks, Nd, Nl
  if (category == UTF8PROC_CATEGORY_PC || code == 0x200c || code == 0x200d)
    return true;
  // Symbols that are alphabetic: letters in circles and squares.
  return (code >= 0x24b6 && code <= 0x24e9) ||
         (code >= 0x1f130 && code <= 0x1f149) ||
         (code >= 0x1f150 && code <= 0x1f169) ||
         (code >= 0x1f170 && code <= 0x1f189);
}
