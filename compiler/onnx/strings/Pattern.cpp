//===- Pattern.cpp - Parse regular expressions ----------------------------===//

#include "compiler/onnx/strings/Pattern.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ConvertUTF.h"

#include <optional>

using namespace llvm;
using namespace frit::importer;

/// RE2's limit of counts in braces.
static constexpr int kMostRepeated = 1000;
static constexpr unsigned kMostDepth = 200;

namespace {
class PatternParser {
public:
  explicit PatternParser(StringRef pattern) : all(pattern), rest(pattern) {}

  Expected<PartPtr> run() {
    PartPtr part = parseChoice();
    if (!failure && !rest.empty())
      fail("has a ')' too many");
    if (failure)
      return createStringError("at byte " + Twine(failedAt) + " it " +
                               *failure);
    return part;
  }

private:
  PartPtr fail(const Twine &what) {
    if (!failure) {
      failure = what.str();
      failedAt = all.size() - rest.size();
    }
    return std::make_unique<Part>();
  }
  bool at(char c) const { return !rest.empty() && rest.front() == c; }

  PartPtr parseChoice();
  PartPtr parseSequence();
  PartPtr parseRepetition();
  PartPtr repeat(PartPtr part, int least, int most);
  bool parseCounts(int &least, int &most);
  PartPtr parseAtom();
  PartPtr parseGroup();
  bool parseFlags();
  PartPtr parseEscape();
  PartPtr parseClass();
  bool parseNamedClass(CharacterSet &set);
  std::optional<CharacterSet> classOf(char letter) const;
  uint32_t parseEscaped();
  uint32_t takeCharacter();
  PartPtr characters(CharacterSet set);
  PartPtr literal(uint32_t c);
  static PartPtr asserts(Nfa::Kind kind);

  StringRef all, rest;
  std::optional<std::string> failure;
  size_t failedAt = 0;
  bool ignoresCase = false, dotTakesLines = false;
  unsigned depth = 0;
};
} // namespace

PartPtr PatternParser::characters(CharacterSet set) {
  auto part = std::make_unique<Part>();
  part->kind = Part::characters;
  part->set = std::move(set);
  return part;
}

/// Returns a part that matches a character, in either case if that is ignored.
PartPtr PatternParser::literal(uint32_t c) {
  CharacterSet set(c, c);
  if (ignoresCase)
    set.ignoreCase();
  return characters(std::move(set));
}

PartPtr PatternParser::asserts(Nfa::Kind kind) {
  auto part = std::make_unique<Part>();
  part->kind = Part::assertion;
  part->asserted = kind;
  return part;
}

PartPtr PatternParser::parseChoice() {
  auto part = std::make_unique<Part>();
  part->kind = Part::choice;
  do
    part->parts.push_back(parseSequence());
  while (!failure && rest.consume_front("|"));
  return part;
}

PartPtr PatternParser::parseSequence() {
  auto part = std::make_unique<Part>();
  while (!failure && !rest.empty() && !at('|') && !at(')'))
    part->parts.push_back(parseRepetition());
  return part;
}

PartPtr PatternParser::repeat(PartPtr repeated, int least, int most) {
  auto part = std::make_unique<Part>();
  part->kind = Part::repetition;
  part->least = least;
  part->most = most;
  part->parts.push_back(std::move(repeated));
  return part;
}

PartPtr PatternParser::parseRepetition() {
  PartPtr part = parseAtom();
  for (bool any = false; !failure && !rest.empty(); any = true) {
    int least = 0, most = -1;
    if (rest.consume_front("+"))
      least = 1;
    else if (rest.consume_front("?"))
      most = 1;
    else if (!rest.consume_front("*") && !parseCounts(least, most))
      break;
    if (failure)
      break;
    if (any)
      return fail("repeats a repetition");
    // What is preferred does not matter.
    rest.consume_front("?");
    part = repeat(std::move(part), least, most);
  }
  return part;
}

/// Parses "{2}", "{2,}" or "{2,5}"; a brace with anything else is a character.
bool PatternParser::parseCounts(int &least, int &most) {
  StringRef counts = rest;
  if (!counts.consume_front("{") || counts.consumeInteger(10, least))
    return false;
  most = least;
  if (counts.consume_front(",")) {
    most = -1;
    if (!counts.starts_with("}") && counts.consumeInteger(10, most))
      return false;
  }
  if (!counts.consume_front("}"))
    return false;
  if (least < 0 || least > kMostRepeated || most > kMostRepeated ||
      (most >= 0 && most < least))
    fail("has a wrong count of repetitions");
  rest = counts;
  return true;
}

PartPtr PatternParser::parseAtom() {
  if (rest.consume_front("("))
    return parseGroup();
  if (rest.consume_front("["))
    return parseClass();
  if (rest.consume_front("\\"))
    return parseEscape();
  if (rest.consume_front("^"))
    return asserts(Nfa::textBegin);
  if (rest.consume_front("$"))
    return asserts(Nfa::textEnd);
  if (rest.consume_front("."))
    return characters(dotTakesLines ? CharacterSet(0, kLastCharacter)
                                    : CharacterSet('\n', '\n').inverted());
  if (at('*') || at('+') || at('?'))
    return fail("repeats nothing");
  return literal(takeCharacter());
}

/// Parses the flags after "(?", up to ':' or ')'.
bool PatternParser::parseFlags() {
  bool value = true;
  while (!rest.empty() && !at(':') && !at(')')) {
    char flag = rest.front();
    if (flag == 'i')
      ignoresCase = value;
    else if (flag == 's')
      dotTakesLines = value;
    else if (flag == '-' && value)
      value = false;
    else if (flag != 'U')
      return fail("has a group of a kind that is not supported"), false;
    rest = rest.drop_front();
  }
  return true;
}

PartPtr PatternParser::parseGroup() {
  if (++depth > kMostDepth)
    return fail("nests too deeply");
  bool hadCase = ignoresCase, hadLines = dotTakesLines;
  if (rest.consume_front("?P<") ||
      (rest.starts_with("?<") && !rest.starts_with("?<=") &&
       !rest.starts_with("?<!") && rest.consume_front("?<"))) {
    rest = rest.drop_until([](char c) { return c == '>'; });
    if (!rest.consume_front(">"))
      return fail("does not end a group's name");
  } else if (rest.consume_front("?")) {
    if (!parseFlags())
      return fail("");
    // Flags without a part hold up to the end of the enclosing group.
    if (rest.consume_front(")")) {
      --depth;
      return std::make_unique<Part>();
    }
    rest.consume_front(":");
  }
  PartPtr part = parseChoice();
  if (!failure && !rest.consume_front(")"))
    return fail("lacks a ')'");
  ignoresCase = hadCase;
  dotTakesLines = hadLines;
  --depth;
  return part;
}

/// Returns the class that a letter names after a backslash, if any.
std::optional<CharacterSet> PatternParser::classOf(char letter) const {
  CharacterSet set;
  switch (toLower(letter)) {
  case 'd':
    set.add('0', '9');
    break;
  case 'w':
    set.add('0', '9');
    set.add('A', 'Z');
    set.add('a', 'z');
    set.add('_', '_');
    break;
  case 's':
    set.add('\t', '\n');
    set.add('\f', '\r');
    set.add(' ', ' ');
    break;
  default:
    return std::nullopt;
  }
  return isUpper(letter) ? set.inverted() : set;
}

PartPtr PatternParser::parseEscape() {
  if (rest.empty())
    return fail("ends with a backslash");
  if (auto set = classOf(rest.front())) {
    rest = rest.drop_front();
    return characters(std::move(*set));
  }
  if (rest.consume_front("b"))
    return asserts(Nfa::boundary);
  if (rest.consume_front("B"))
    return asserts(Nfa::notBoundary);
  if (rest.consume_front("A"))
    return asserts(Nfa::textBegin);
  if (rest.consume_front("z"))
    return asserts(Nfa::textEnd);
  if (rest.consume_front("Q")) {
    auto part = std::make_unique<Part>();
    while (!rest.empty() && !rest.consume_front("\\E")) {
      uint32_t c = takeCharacter();
      part->parts.push_back(characters(CharacterSet(c, c)));
    }
    return part;
  }
  return literal(parseEscaped());
}

/// Parses what follows a backslash to a character.
uint32_t PatternParser::parseEscaped() {
  char letter = rest.front();
  static constexpr StringLiteral letters = "afnrtv", controls = "\a\f\n\r\t\v";
  if (size_t place = letters.find(letter); place != StringRef::npos) {
    rest = rest.drop_front();
    return controls[place];
  }
  if (letter == 'x') {
    rest = rest.drop_front();
    StringRef digits = rest.take_front(2);
    size_t taken = digits.size();
    if (rest.starts_with("{")) {
      digits = rest.drop_front().take_until([](char c) { return c == '}'; });
      taken = digits.size() + 2;
    }
    uint32_t c;
    if (digits.empty() || taken > rest.size() || digits.getAsInteger(16, c) ||
        c > kLastCharacter)
      return fail("has a wrong number after \\x"), 0;
    rest = rest.drop_front(taken);
    return c;
  }
  if (isAlnum(letter) || static_cast<unsigned char>(letter) >= 0x80)
    return fail("has \\" + Twine(letter) + ", which is not supported"), 0;
  return takeCharacter();
}

/// Takes a character of UTF-8.
uint32_t PatternParser::takeCharacter() {
  auto *begin = reinterpret_cast<const UTF8 *>(rest.data());
  const UTF8 *from = begin;
  UTF32 c = 0;
  if (convertUTF8Sequence(&from, begin + rest.size(), &c, strictConversion) !=
      conversionOK)
    return fail("is not UTF-8"), 0;
  rest = rest.drop_front(from - begin);
  return c;
}

/// Parses "[:alpha:]" inside a class.
bool PatternParser::parseNamedClass(CharacterSet &set) {
  struct Named {
    StringLiteral name, ranges;
  };
  static constexpr Named names[] = {{"alnum", "09AZaz"},
                                    {"alpha", "AZaz"},
                                    {"digit", "09"},
                                    {"lower", "az"},
                                    {"upper", "AZ"},
                                    {"xdigit", "09AFaf"},
                                    {"word", "09AZaz__"},
                                    {"space", "\t\r  "},
                                    {"blank", "\t\t  "},
                                    {"punct", "!/:@[`{~"},
                                    {"cntrl", "\1\x1f\x7f\x7f"},
                                    {"print", " ~"},
                                    {"graph", "!~"},
                                    {"ascii", "\1\x7f"}};
  for (const Named &named : names)
    for (bool inverts : {false, true})
      if (rest.consume_front(
              ("[:" + Twine(inverts ? "^" : "") + named.name + ":]").str())) {
        CharacterSet own;
        for (size_t i = 0; i < named.ranges.size(); i += 2)
          own.add(named.ranges[i], named.ranges[i + 1]);
        set.add(inverts ? own.inverted() : own);
        return true;
      }
  return false;
}

PartPtr PatternParser::parseClass() {
  CharacterSet set;
  bool inverts = rest.consume_front("^");
  // A bracket that comes first is a character.
  for (bool isFirst = true; isFirst || !at(']'); isFirst = false) {
    if (rest.empty())
      return fail("lacks a ']'");
    if (parseNamedClass(set))
      continue;
    bool isEscape = rest.consume_front("\\");
    if (isEscape && rest.empty())
      return fail("ends with a backslash");
    if (isEscape)
      if (auto own = classOf(rest.front())) {
        rest = rest.drop_front();
        set.add(*own);
        continue;
      }
    uint32_t first = isEscape ? parseEscaped() : takeCharacter(), last = first;
    if (!failure && rest.size() > 1 && at('-') && rest[1] != ']') {
      rest = rest.drop_front();
      isEscape = rest.consume_front("\\");
      if (isEscape && rest.empty())
        return fail("ends with a backslash");
      last = isEscape ? parseEscaped() : takeCharacter();
    }
    if (!failure && last < first)
      return fail("has a range that ends before it begins");
    if (failure)
      return fail("");
    set.add(first, last);
  }
  rest = rest.drop_front();
  if (ignoresCase)
    set.ignoreCase();
  return characters(inverts ? set.inverted() : set);
}

Expected<PartPtr> frit::importer::parsePattern(StringRef pattern) {
  return PatternParser(pattern).run();
}
