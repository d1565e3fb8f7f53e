//===- Letters.cpp - Upper and lower case of texts ------------------------===//

#include "tools/tokenizer/jinja/Letters.h"

#include "tools/tokenizer/Text.h"

#include <utf8proc.h>

using namespace frit;
using namespace frit::jinja;

static constexpr int32_t kSharpS = 0xdf;

static bool isCategory(int32_t code, utf8proc_category_t first,
                       utf8proc_category_t last) {
  utf8proc_category_t category = utf8proc_category(code);
  return category >= first && category <= last;
}

static bool isLetter(int32_t code) {
  return isCategory(code, UTF8PROC_CATEGORY_LU, UTF8PROC_CATEGORY_LO);
}

static bool isDecimal(int32_t code) {
  return utf8proc_category(code) == UTF8PROC_CATEGORY_ND;
}

static bool isUpper(int32_t code) {
  return utf8proc_category(code) == UTF8PROC_CATEGORY_LU;
}

static bool isLower(int32_t code) {
  return utf8proc_category(code) == UTF8PROC_CATEGORY_LL;
}

static void appendUpper(std::string &result, int32_t code, bool isTitle) {
  if (code == kSharpS)
    result += isTitle ? "Ss" : "SS";
  else
    tokenizer::appendCharacter(result, isTitle ? utf8proc_totitle(code)
                                               : utf8proc_toupper(code));
}

std::string jinja::toUpper(std::string_view text) {
  std::string result;
  tokenizer::forEachCharacter(text, [&](int32_t code, tokenizer::Span) {
    appendUpper(result, code, /*isTitle=*/false);
  });
  return result;
}

std::string jinja::toLower(std::string_view text) {
  std::string result;
  tokenizer::forEachCharacter(text, [&](int32_t code, tokenizer::Span) {
    tokenizer::appendCharacter(result, utf8proc_tolower(code));
  });
  return result;
}

std::string jinja::toTitle(std::string_view text) {
  std::string result;
  bool isInside = false;
  tokenizer::forEachCharacter(text, [&](int32_t code, tokenizer::Span) {
    if (isInside)
      tokenizer::appendCharacter(result, utf8proc_tolower(code));
    else
      appendUpper(result, code, /*isTitle=*/true);
    isInside = isCategory(code, UTF8PROC_CATEGORY_LU, UTF8PROC_CATEGORY_LT);
  });
  return result;
}

std::string jinja::capitalize(std::string_view text) {
  std::string result;
  tokenizer::forEachCharacter(text, [&](int32_t code, tokenizer::Span span) {
    if (span.begin)
      tokenizer::appendCharacter(result, utf8proc_tolower(code));
    else
      appendUpper(result, code, /*isTitle=*/true);
  });
  return result;
}

bool jinja::isWhite(int32_t code) {
  return tokenizer::isSpace(code) || (code >= 0x1c && code <= 0x1f);
}

template <typename Test> static bool all(std::string_view text, Test test) {
  bool holds = !text.empty();
  tokenizer::forEachCharacter(text, [&](int32_t code, tokenizer::Span) {
    holds = holds && test(code);
  });
  return holds;
}

bool jinja::areDigits(std::string_view text) { return all(text, isDecimal); }
bool jinja::areNumeric(std::string_view text) {
  return all(text, tokenizer::isNumeric);
}
bool jinja::areLetters(std::string_view text) { return all(text, isLetter); }
bool jinja::areLettersOrDigits(std::string_view text) {
  return all(text, [](int32_t code) {
    return isLetter(code) || tokenizer::isNumeric(code);
  });
}
bool jinja::areWhite(std::string_view text) { return all(text, isWhite); }

/// Returns whether there is a letter of one case and none of the other.
static bool areOf(std::string_view text, bool (*own)(int32_t),
                  bool (*other)(int32_t)) {
  bool found = false, foundOther = false;
  tokenizer::forEachCharacter(text, [&](int32_t code, tokenizer::Span) {
    found |= own(code);
    foundOther |= other(code);
  });
  return found && !foundOther;
}

bool jinja::areUpper(std::string_view text) {
  return areOf(text, isUpper, isLower);
}
bool jinja::areLower(std::string_view text) {
  return areOf(text, isLower, isUpper);
}
