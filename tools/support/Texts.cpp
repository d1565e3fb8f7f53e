//===- Texts.cpp - Strings in .npy files ----------------------------------===//
//
// NumPy stores the strings of an array with as many characters as the longest
// has; zeros fill the others.
//
//===----------------------------------------------------------------------===//

#include "frit/printable.h"
#include "tools/support/Bytes.h"

#include <algorithm>

using namespace frit::tools;

/// Adds the UTF-8 of a character; that of U+FFFD if it is none.
static void append(std::string &text, uint32_t c) {
  if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
    c = 0xfffd;
  if (c < 0x80) {
    text += char(c);
    return;
  }
  int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
  static constexpr uint8_t heads[] = {0, 0xc0, 0xe0, 0xf0};
  text += char(heads[more] | c >> (6 * more));
  while (more-- > 0)
    text += char(0x80 | (c >> (6 * more) & 0x3f));
}

void frit::tools::decodeTexts(Tensor &tensor, const NpyLayout &layout) {
  uint64_t count = 1;
  for (int64_t dim : tensor.dims)
    count *= uint64_t(dim);
  uint64_t width = layout.characters * (layout.isUnicode ? 4 : 1);
  expectMemory(count * (sizeof(std::string) + sizeof(frit_string)),
               "an array of strings");
  tensor.texts.assign(count, {});
  for (uint64_t i = 0; i < count; ++i) {
    Bytes bytes = Bytes(tensor.data).subspan(i * width, width);
    std::string &text = tensor.texts[i];
    if (layout.isUnicode) {
      for (uint64_t at = 0; at < width; at += 4) {
        uint32_t c;
        memcpy(&c, &bytes[at], sizeof c);
        append(text, layout.header.isBigEndian ? __builtin_bswap32(c) : c);
      }
    } else {
      text = asText(bytes);
    }
    text.resize(text.find_last_not_of('\0') + 1);
  }
  tensor.data = Storage(count * sizeof(frit_string));
}

Storage frit::tools::encodeTexts(const Tensor &tensor, uint64_t &characters) {
  std::vector<std::vector<uint32_t>> all;
  characters = 1;
  for (std::string_view text : tensor.texts) {
    std::vector<uint32_t> &own = all.emplace_back();
    while (!text.empty()) {
      CodePoint first = decodeUtf8(text);
      own.push_back(first.bytes ? first.value : 0xfffd);
      text.remove_prefix(std::max<size_t>(first.bytes, 1));
    }
    characters = std::max<uint64_t>(characters, own.size());
  }
  expectMemory(all.size() * characters * 4, "an array of strings");
  Storage data(all.size() * characters * 4);
  for (size_t i = 0; i < all.size(); ++i)
    if (!all[i].empty())
      memcpy(data.data() + i * characters * 4, all[i].data(),
             all[i].size() * 4);
  return data;
}
