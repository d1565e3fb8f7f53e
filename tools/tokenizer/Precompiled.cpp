//===- Precompiled.cpp - SentencePiece's map of characters ----------------===//

#include "tools/tokenizer/Precompiled.h"
#include "tools/tokenizer/Text.h"

#include <cstring>
#include <utf8proc.h>

using namespace frit::tokenizer;
using frit::tools::Fault;

static bool decodeBase64(std::string_view encoded, std::string &bytes) {
  static constexpr std::string_view digits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  while (encoded.ends_with('='))
    encoded.remove_suffix(1);
  uint32_t bits = 0;
  int count = 0;
  for (char c : encoded) {
    size_t digit = digits.find(c);
    if (digit == digits.npos)
      return false;
    bits = bits << 6 | uint32_t(digit);
    count += 6;
    if (count >= 8)
      bytes += char(bits >> (count -= 8));
  }
  return true;
}

Fault Precompiled::readBase64(std::string_view encoded) {
  std::string bytes;
  if (!decodeBase64(encoded, bytes))
    return Fault("the map of characters is no base64");
  return read(bytes);
}

Fault Precompiled::read(std::string_view bytes) {
  if (bytes.empty())
    return {};
  uint32_t size = 0;
  if (bytes.size() >= 4)
    memcpy(&size, bytes.data(), 4);
  if (bytes.size() < 4 || size % 4 || size > bytes.size() - 4)
    return Fault("the map of characters is truncated");
  units.resize(size / 4);
  if (size)
    memcpy(units.data(), bytes.data() + 4, size);
  targets = bytes.substr(4 + size);
  // No entry may add a part of a character.
  if (findInvalid(targets) != targets.npos)
    return Fault("the map of characters has texts that are no UTF-8");
  return {};
}

bool Precompiled::appendMapped(std::string_view text,
                               std::string &result) const {
  auto offsetOf = [](uint32_t unit) {
    return (unit >> 10) << ((unit & 0x200) >> 6);
  };
  if (units.empty())
    return false;
  size_t place = offsetOf(units[0]);
  for (char c : text) {
    place ^= uint8_t(c);
    if (!c || place >= units.size() ||
        (units[place] & 0x800000ff) != uint8_t(c))
      return false;
    bool isEntry = units[place] >> 8 & 1;
    place ^= offsetOf(units[place]);
    if (!isEntry)
      continue;
    if (place >= units.size())
      return false;
    size_t target = units[place] & 0x7fffffff;
    if (target >= targets.size() || (uint8_t(targets[target]) & 0xc0) == 0x80)
      return target == targets.size();
    result += targets.c_str() + target;
    return true;
  }
  return false;
}

/// Returns the end of the cluster of characters that begins at `begin`.
static size_t clusterEnd(std::string_view text, size_t begin) {
  Character last = characterAt(text, begin);
  size_t at = begin + last.bytes;
  utf8proc_int32_t state = 0;
  while (at < text.size()) {
    Character next = characterAt(text, at);
    if (utf8proc_grapheme_break_stateful(last.code, next.code, &state))
      break;
    at += next.bytes;
    last = next;
  }
  return at;
}

void Precompiled::apply(std::string &text) const {
  std::string result;
  for (size_t at = 0; at < text.size();) {
    size_t end = clusterEnd(text, at);
    std::string_view cluster = std::string_view(text).substr(at, end - at);
    at = end;
    if (cluster.size() < 6 && appendMapped(cluster, result))
      continue;
    forEachCharacter(cluster, [&](int32_t, Span span) {
      std::string_view one = cluster.substr(span.begin, span.end - span.begin);
      if (!appendMapped(one, result))
        result += one;
    });
  }
  text = std::move(result);
}
