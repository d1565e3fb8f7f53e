//===- Forms.cpp - Unicode's normalization forms --------------------------===//

#include "tools/tokenizer/Normalizer.h"
#include "tools/tokenizer/Text.h"

#include <utf8proc.h>

using namespace frit::tokenizer;

/// Sorts runs of combining characters by class. utf8proc's own sorting takes
/// quadratic time in the length of a run.
static void orderMarks(std::vector<int32_t> &codes) {
  auto classOf = [](int32_t code) {
    return utf8proc_get_property(code)->combining_class;
  };
  for (size_t at = 0; at < codes.size(); ++at) {
    size_t begin = at;
    while (at < codes.size() && classOf(codes[at]))
      ++at;
    std::stable_sort(
        codes.begin() + long(begin), codes.begin() + long(at),
        [&](int32_t a, int32_t b) { return classOf(a) < classOf(b); });
  }
}

void frit::tokenizer::normalizeForm(std::string &text, Form form) {
  bool composes = form == Form::nfc || form == Form::nfkc;
  bool isCompatible = form == Form::nfkc || form == Form::nfkd;
  // ASCII is in every form.
  if (std::ranges::all_of(text, [](char c) { return uint8_t(c) < 0x80; }))
    return;
  int options = UTF8PROC_STABLE | UTF8PROC_DECOMPOSE |
                (isCompatible ? UTF8PROC_COMPAT : 0);
  std::vector<int32_t> codes;
  forEachCharacter(text, [&](int32_t code, Span) {
    int32_t parts[32]; // the longest decomposition has 18
    int boundary = 0;
    utf8proc_ssize_t count = utf8proc_decompose_char(
        code, parts, 32, static_cast<utf8proc_option_t>(options), &boundary);
    if (count >= 0)
      codes.insert(codes.end(), parts, parts + std::min<long>(count, 32));
  });
  orderMarks(codes);
  size_t count = codes.size();
  if (composes)
    count = size_t(utf8proc_normalize_utf32(
        codes.data(), utf8proc_ssize_t(count),
        static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE)));
  text.clear();
  for (size_t at = 0; at < count; ++at)
    appendCharacter(text, codes[at]);
}
