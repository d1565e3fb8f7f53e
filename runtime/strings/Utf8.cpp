//===- Utf8.cpp - Characters of UTF-8 -------------------------------------===//

#include "runtime/strings/Utf8.h"

#include "frit/printable.h"

#include <algorithm>
#include <iterator>

using namespace frit;

namespace {
/// Characters, `step` apart, whose other case is `delta` further.
struct CaseRange {
  uint32_t first, last;
  uint32_t step;
  int32_t delta;
};
} // namespace

#include "runtime/strings/CaseTable.inc"

uint32_t frit::takeCharacter(std::string_view &text) {
  CodePoint first = decodeUtf8(text);
  text.remove_prefix(std::max<size_t>(first.bytes, 1));
  return first.bytes ? first.value : kNoCharacter;
}

bool frit::isUtf8(std::string_view text) {
  while (!text.empty())
    if (takeCharacter(text) == kNoCharacter)
      return false;
  return true;
}

bool frit::isSpace(uint32_t c) {
  return (c >= 9 && c <= 13) || (c >= 0x1c && c <= 0x20) || c == 0x85 ||
         c == 0xa0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200a) ||
         c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f ||
         c == 0x3000;
}

static void append(std::string &text, uint32_t c) {
  if (c < 0x80) {
    text += char(c);
    return;
  }
  if (c < 0x800) {
    text += char(0xc0 | c >> 6);
  } else {
    if (c < 0x10000) {
      text += char(0xe0 | c >> 12);
    } else {
      text += char(0xf0 | c >> 18);
      text += char(0x80 | (c >> 12 & 0x3f));
    }
    text += char(0x80 | (c >> 6 & 0x3f));
  }
  text += char(0x80 | (c & 0x3f));
}

/// Returns `text` with its characters' other case. `from` is the first ASCII
/// letter of the case to change, and `ranges` has the other characters,
/// ascending.
template <size_t count>
static std::string changeCase(std::string_view text, char from,
                              const CaseRange (&ranges)[count]) {
  std::string changed;
  changed.reserve(text.size());
  while (!text.empty()) {
    uint32_t c = takeCharacter(text);
    if (c < 0x80) {
      bool isLetter = c - uint32_t(from) < 26;
      changed += char(isLetter ? c ^ 0x20 : c);
      continue;
    }
    auto *range = std::lower_bound(
        ranges, ranges + count, c,
        [](const CaseRange &x, uint32_t y) { return x.last < y; });
    if (range != ranges + count && c >= range->first &&
        (c - range->first) % range->step == 0)
      c = uint32_t(int32_t(c) + range->delta);
    append(changed, c);
  }
  return changed;
}

std::string frit::lowerCase(std::string_view text) {
  return changeCase(text, 'A', kLower);
}

std::string frit::upperCase(std::string_view text) {
  return changeCase(text, 'a', kUpper);
}
