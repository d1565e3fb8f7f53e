//===- printable.h - Make names from files printable ----------------------===//

#ifndef FRIT_PRINTABLE_H
#define FRIT_PRINTABLE_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace frit {

/// The first code point of a text and its length in bytes.
struct CodePoint {
  uint32_t value = 0;
  size_t bytes = 0; ///< 0 if the text does not start with valid UTF-8
};

inline CodePoint decodeUtf8(std::string_view text) {
  uint8_t first = text.empty() ? 0x80 : uint8_t(text[0]);
  if (first < 0x80)
    return {first, 1};
  size_t bytes = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 ? 2 : 0;
  if (!bytes || first > 0xf4 || text.size() < bytes)
    return {};
  uint32_t value = first & (0xffu >> (bytes + 1));
  for (size_t i = 1; i < bytes; ++i) {
    if ((uint8_t(text[i]) & 0xc0) != 0x80)
      return {};
    value = value << 6 | (uint8_t(text[i]) & 0x3f);
  }
  bool isLongest = value >= (bytes == 4 ? 0x10000u : bytes == 3 ? 0x800u : 0u);
  bool isSurrogate = value >= 0xd800 && value <= 0xdfff;
  if (!isLongest || isSurrogate || value > 0x10ffff)
    return {};
  return {value, bytes};
}

/// Returns whether a code point is visible text or a space. False for control
/// characters, line separators, byte order marks and characters that change the
/// text's direction.
constexpr bool isPrintable(uint32_t c) {
  return c >= 0x20 && !(c >= 0x7f && c <= 0x9f) && c != 0xad && c != 0x61c &&
         c != 0x180e && !(c >= 0x200b && c <= 0x200f) &&
         !(c >= 0x2028 && c <= 0x202e) && !(c >= 0x2060 && c <= 0x206f) &&
         c != 0xfeff && !(c >= 0xfff0 && c <= 0xfffb) &&
         (c & 0xfffe) != 0xfffe && !(c >= 0xfdd0 && c <= 0xfdef) &&
         !(c >= 0xe0000 && c <= 0xe0fff);
}

/// Escapes everything in `text` that is not printable UTF-8 as in C: "\n",
/// "\x1b", "\u202E". Backslashes are not escaped, so the result is for display
/// and cannot be decoded.
inline std::string printable(std::string_view text) {
  static constexpr char digits[] = "0123456789ABCDEF";
  std::string out;
  out.reserve(text.size());
  auto addHex = [&](uint32_t value, int count) {
    while (count--)
      out += digits[value >> (4 * count) & 15];
  };
  while (!text.empty()) {
    CodePoint c = decodeUtf8(text);
    size_t bytes = c.bytes ? c.bytes : 1;
    if (c.bytes && isPrintable(c.value)) {
      out += text.substr(0, bytes);
    } else if (c.bytes &&
               (c.value == '\n' || c.value == '\t' || c.value == '\r')) {
      out += c.value == '\n' ? "\\n" : c.value == '\t' ? "\\t" : "\\r";
    } else if (!c.bytes || c.value < 0x80) {
      out += "\\x";
      addHex(uint8_t(text[0]), 2);
    } else {
      out += c.value > 0xffff ? "\\U" : "\\u";
      addHex(c.value, c.value > 0xffff ? 8 : 4);
    }
    text.remove_prefix(bytes);
  }
  return out;
}

/// As `printable`, for use inside a comment of C or C++: the text cannot end,
/// open or continue one.
inline std::string commentText(std::string_view text) {
  std::string out;
  for (char c : printable(text)) {
    bool ends = !out.empty() && ((out.back() == '*' && c == '/') ||
                                 (out.back() == '/' && c == '*'));
    out += ends ? "\\" : "";
    out += c;
  }
  // A backslash at the end would continue the line.
  if (!out.empty() && out.back() == '\\')
    out += ' ';
  return out;
}

} // namespace frit

#endif // FRIT_PRINTABLE_H
