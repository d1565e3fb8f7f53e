//===- Lexer.cpp - Parts of a template ------------------------------------===//

#include "tools/tokenizer/jinja/Lexer.h"

#include "tools/tokenizer/Text.h"

#include <algorithm>

using namespace frit;
using namespace frit::jinja;
using tools::Fault;

namespace {
class Lexer {
public:
  Lexer(std::string_view source, std::vector<Token> &tokens)
      : source(source), tokens(tokens) {}

  Fault run();

private:
  Fault fail(const std::string &message) const {
    return Fault("line " + std::to_string(lineAt(at)) + ": " + message);
  }
  int lineAt(size_t place) const;
  void add(TokenKind kind, std::string text) {
    tokens.push_back({kind, lineAt(start), std::move(text)});
  }
  void addData(size_t end, char mark, char control);
  Fault readComment();
  Fault readTag(bool isBlock);
  Fault readRaw(bool &isRaw);
  Fault readToken();
  Fault readText(char quote);
  void readNumber();
  bool starts(std::string_view what) const {
    return source.substr(at).starts_with(what);
  }
  void finishTag(char control, bool isBlock);

  std::string_view source;
  std::vector<Token> &tokens;
  size_t at = 0, start = 0;
  mutable size_t countedTo = 0;
  mutable int counted = 1;
};
} // namespace

static bool isBlank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
static bool isDigit(char c) { return c >= '0' && c <= '9'; }
static bool startsName(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

int Lexer::lineAt(size_t place) const {
  if (place < countedTo) {
    countedTo = 0;
    counted = 1;
  }
  counted += int(std::count(source.begin() + long(countedTo),
                            source.begin() + long(place), '\n'));
  countedTo = place;
  return counted;
}

/// Adds the text from `at` to `end`, where a tag begins with `mark`: '%', '{'
/// or
/// '#', and then perhaps `control`: '-' or '+'.
void Lexer::addData(size_t end, char mark, char control) {
  std::string_view text = source.substr(at, end - at);
  if (control == '-') {
    while (!text.empty() && isBlank(text.back()))
      text.remove_suffix(1);
  } else if (mark != '{' && mark && control != '+') {
    // lstrip_blocks: white space before a tag that begins a line.
    size_t line = text.rfind('\n') + 1;
    bool begins = line || at == 0 || source[at - 1] == '\n';
    if (begins && std::ranges::all_of(text.substr(line),
                                      [](char c) { return isBlank(c); }))
      text = text.substr(0, line);
  }
  if (!text.empty())
    add(TokenKind::data, std::string(text));
}

/// Skips white space after a tag: all of it, or with trim_blocks one line end.
void Lexer::finishTag(char control, bool isBlock) {
  if (control == '-')
    while (at < source.size() && isBlank(source[at]))
      ++at;
  else if (isBlock && control != '+' && at < source.size() &&
           source[at] == '\n')
    ++at;
}

Fault Lexer::readComment() {
  size_t end = source.find("#}", at);
  if (end == source.npos)
    return fail("a comment does not end");
  char control = end > at ? source[end - 1] : 0;
  at = end + 2;
  finishTag(control, /*isBlock=*/true);
  return {};
}

/// Reads {% raw %} … {% endraw %}, if a block is that.
Fault Lexer::readRaw(bool &isRaw) {
  auto skip = [&](size_t place) {
    while (place < source.size() && isBlank(source[place]))
      ++place;
    return place;
  };
  auto findEnd = [&](size_t place, std::string_view word) {
    if (!source.substr(place).starts_with(word))
      return source.npos;
    place = skip(place + word.size());
    if (place < source.size() && (source[place] == '-' || source[place] == '+'))
      ++place;
    return source.substr(place).starts_with("%}") ? place + 2 : source.npos;
  };
  size_t first = findEnd(skip(at), "raw");
  isRaw = first != source.npos;
  if (!isRaw)
    return {};
  size_t end = first;
  while ((end = source.find("{%", end)) != source.npos) {
    size_t inner = end + 2;
    char control = inner < source.size() ? source[inner] : 0;
    inner += control == '-' || control == '+';
    size_t last = findEnd(skip(inner), "endraw");
    if (last == source.npos) {
      end += 2;
      continue;
    }
    at = first;
    finishTag(source[first - 3], /*isBlock=*/true);
    addData(end, '%', control);
    at = last;
    finishTag(source[last - 3], /*isBlock=*/true);
    return {};
  }
  return fail("raw does not end");
}

/// Reads a string literal, which has Python's escapes.
Fault Lexer::readText(char quote) {
  std::string text;
  for (++at; at < source.size() && source[at] != quote; ++at) {
    if (source[at] != '\\' || at + 1 == source.size()) {
      text += source[at];
      continue;
    }
    static constexpr std::string_view from = "abfnrtv\\'\"";
    static constexpr std::string_view to = "\a\b\f\n\r\t\v\\'\"";
    char c = source[++at];
    if (size_t found = from.find(c); found != from.npos) {
      text += to[found];
      continue;
    }
    if (c == '\n')
      continue;
    int digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    bool isOctal = c >= '0' && c <= '7';
    if (!digits && !isOctal) {
      (text += '\\') += c;
      continue;
    }
    int64_t code = 0;
    if (isOctal) {
      int count = 0;
      for (; count < 3 && at < source.size() && source[at] >= '0' &&
             source[at] <= '7';
           ++count)
        code = code * 8 + (source[at++] - '0');
      --at;
    } else {
      for (int i = 0; i < digits; ++i) {
        char digit = at + 1 < source.size() ? source[at + 1] : ' ';
        int value = isDigit(digit)                 ? digit - '0'
                    : digit >= 'a' && digit <= 'f' ? digit - 'a' + 10
                    : digit >= 'A' && digit <= 'F' ? digit - 'A' + 10
                                                   : -1;
        if (value < 0)
          return fail("an escape of a string is not complete");
        code = code * 16 + value;
        ++at;
      }
    }
    if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
      return fail("an escape of a string is no character");
    tokenizer::appendCharacter(text, int32_t(code));
  }
  if (at == source.size())
    return fail("a string does not end");
  ++at;
  add(TokenKind::text, std::move(text));
  return {};
}

void Lexer::readNumber() {
  std::string text;
  bool isReal = false;
  auto digits = [&] {
    while (at < source.size() && (isDigit(source[at]) || source[at] == '_')) {
      if (source[at] != '_')
        text += source[at];
      ++at;
    }
  };
  digits();
  if (at + 1 < source.size() && source[at] == '.' && isDigit(source[at + 1])) {
    isReal = true;
    text += source[at++];
    digits();
  }
  if (at + 1 < source.size() && (source[at] == 'e' || source[at] == 'E')) {
    bool isSigned = source[at + 1] == '+' || source[at + 1] == '-';
    if (at + 1 + isSigned < source.size() &&
        isDigit(source[at + 1 + isSigned])) {
      isReal = true;
      text += 'e';
      ++at;
      if (isSigned)
        text += source[at++];
      digits();
    }
  }
  add(isReal ? TokenKind::real : TokenKind::integer, std::move(text));
}

Fault Lexer::readToken() {
  char c = source[at];
  start = at;
  if (c == '"' || c == '\'')
    return readText(c);
  if (isDigit(c)) {
    readNumber();
    return {};
  }
  if (startsName(c)) {
    while (at < source.size() &&
           (startsName(source[at]) || isDigit(source[at])))
      ++at;
    add(TokenKind::name, std::string(source.substr(start, at - start)));
    return {};
  }
  for (std::string_view sign : {"//", "**", "==", "!=", "<=", ">="})
    if (starts(sign)) {
      at += 2;
      add(TokenKind::sign, std::string(sign));
      return {};
    }
  static constexpr std::string_view signs = "+-*/%~<>=.:|,;()[]{}";
  if (signs.find(c) == signs.npos)
    return fail("unexpected character '" +
                std::string(source.substr(
                    at, tokenizer::characterAt(source, at).bytes)) +
                "'");
  ++at;
  add(TokenKind::sign, std::string(1, c));
  return {};
}

/// Reads what is between {% and %}, or between {{ and }}.
Fault Lexer::readTag(bool isBlock) {
  if (isBlock) {
    bool isRaw = false;
    if (Fault fault = readRaw(isRaw); fault || isRaw)
      return fault;
  }
  start = at;
  std::string_view end = isBlock ? "%}" : "}}";
  add(TokenKind::open, isBlock ? "{%" : "{{");
  int depth = 0;
  while (true) {
    while (at < source.size() && isBlank(source[at]))
      ++at;
    if (at == source.size())
      return fail("a tag does not end");
    char control =
        source[at] == '-' || (isBlock && source[at] == '+') ? source[at] : 0;
    bool ends = source.substr(at + (control != 0)).starts_with(end);
    if (!depth && ends) {
      start = at;
      add(TokenKind::close, std::string(end));
      at += 2 + (control != 0);
      finishTag(control, isBlock);
      return {};
    }
    depth += source[at] == '{' || source[at] == '(' || source[at] == '[';
    depth -=
        depth && (source[at] == '}' || source[at] == ')' || source[at] == ']');
    if (Fault fault = readToken())
      return fault;
  }
}

Fault Lexer::run() {
  while (true) {
    start = at;
    size_t tag = at;
    while ((tag = source.find('{', tag)) != source.npos) {
      char next = tag + 1 < source.size() ? source[tag + 1] : 0;
      if (next == '{' || next == '%' || next == '#')
        break;
      ++tag;
    }
    if (tag == source.npos) {
      addData(source.size(), 0, 0);
      break;
    }
    char mark = source[tag + 1];
    char control = tag + 2 < source.size() ? source[tag + 2] : 0;
    if (control != '-' && control != '+')
      control = 0;
    addData(tag, mark, control);
    at = tag + 2 + (control != 0);
    if (Fault fault = mark == '#' ? readComment() : readTag(mark == '%'))
      return fault;
  }
  start = source.size();
  add(TokenKind::end, "");
  return {};
}

Fault jinja::cut(std::string_view source, std::vector<Token> &tokens) {
  // Line ends are one character, and the last one counts for nothing.
  std::string text;
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] != '\r')
      text += source[i];
    else if (i + 1 == source.size() || source[i + 1] != '\n')
      text += '\n';
  }
  if (text.ends_with('\n'))
    text.pop_back();
  return Lexer(text, tokens).run();
}
