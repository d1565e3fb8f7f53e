//===- TextMethods.cpp - Methods of Python's str --------------------------===//
//
// Those that templates have a use for and that change nothing.
//
//===----------------------------------------------------------------------===//

#include "tools/tokenizer/Text.h"
#include "tools/tokenizer/jinja/Interpreter.h"
#include "tools/tokenizer/jinja/Letters.h"

#include <algorithm>

using namespace frit;
using namespace frit::jinja;

std::string jinja::strip(std::string_view text, bool left, bool right,
                         const Value *which) {
  std::string_view set =
      which && which->is(Kind::text) ? which->text() : std::string_view();
  auto isStripped = [&](std::string_view character) {
    if (which && which->is(Kind::text))
      return set.find(character) != set.npos;
    return isWhite(tokenizer::characterAt(character, 0).code);
  };
  auto characters = charactersOf(text);
  size_t first = 0, last = characters.size();
  while (left && first < last && isStripped(characters[first]))
    ++first;
  while (right && last > first && isStripped(characters[last - 1]))
    --last;
  if (first == last)
    return "";
  const char *begin = characters[first].data();
  return std::string(begin, size_t(characters[last - 1].data() +
                                   characters[last - 1].size() - begin));
}

std::string jinja::replaceAll(const std::string &text, const std::string &from,
                              const std::string &to, int64_t most) {
  std::string result;
  size_t at = 0;
  if (from.empty()) { // between all characters
    for (std::string_view character : charactersOf(text)) {
      if (most-- != 0)
        result += to;
      result += character;
    }
    return most ? result + to : result;
  }
  for (size_t found; most != 0 && (found = text.find(from, at)) != text.npos;
       --most) {
    result.append(text, at, found - at) += to;
    at = found + from.size();
  }
  return result.append(text, at);
}

namespace {
/// The arguments of a method of a text.
struct Call {
  Interpreter &interpreter;
  const std::string &text;
  const Arguments &arguments;

  const Value *argument(size_t index, const char *name = "") const {
    return arguments.find(index, name);
  }
  /// Returns a text that must be there; empty after a fault.
  std::string textAt(size_t index, const char *name = "") const {
    const Value *value = argument(index, name);
    if (value && value->is(Kind::text))
      return value->text();
    interpreter.fail("a method needs a text as argument");
    return "";
  }
  int64_t wholeAt(size_t index, const char *name, int64_t otherwise) const {
    const Value *value = argument(index, name);
    return value && value->isWhole() ? value->whole() : otherwise;
  }
  Value make(std::string made) const {
    return interpreter.makeText(std::move(made));
  }
};
} // namespace

/// Splits at white space, from the left or from the right.
static std::vector<std::string> splitWords(const std::string &text,
                                           int64_t most, bool fromRight) {
  std::vector<std::string> words;
  std::string_view rest = text;
  auto characters = charactersOf(rest);
  auto white = [&](size_t i) {
    return isWhite(tokenizer::characterAt(characters[i], 0).code);
  };
  size_t first = 0, last = characters.size();
  auto join = [&](size_t from, size_t to) {
    std::string word;
    for (size_t i = from; i < to; ++i)
      word += characters[i];
    return word;
  };
  while (true) {
    while (first < last && white(first))
      ++first;
    while (fromRight && last > first && white(last - 1))
      --last;
    if (first == last)
      break;
    if (most-- == 0) {
      // The rest keeps its white space on the far side.
      words.push_back(fromRight ? join(0, last)
                                : join(first, characters.size()));
      break;
    }
    size_t end = fromRight ? last : first;
    if (fromRight) {
      while (end > first && !white(end - 1))
        --end;
      words.push_back(join(end, last));
      last = end;
    } else {
      while (end < last && !white(end))
        ++end;
      words.push_back(join(first, end));
      first = end;
    }
  }
  if (fromRight)
    std::ranges::reverse(words);
  return words;
}

static std::vector<std::string> splitAt(const std::string &text,
                                        const std::string &mark, int64_t most,
                                        bool fromRight) {
  std::vector<std::string> parts;
  if (!fromRight) {
    size_t at = 0;
    for (size_t found; most != 0 && (found = text.find(mark, at)) != text.npos;
         --most) {
      parts.push_back(text.substr(at, found - at));
      at = found + mark.size();
    }
    parts.push_back(text.substr(at));
    return parts;
  }
  size_t end = text.size();
  for (size_t found; most != 0 && end >= mark.size() &&
                     (found = text.rfind(mark, end - mark.size())) != text.npos;
       --most) {
    parts.push_back(
        text.substr(found + mark.size(), end - found - mark.size()));
    end = found;
  }
  parts.push_back(text.substr(0, end));
  std::ranges::reverse(parts);
  return parts;
}

static Value splitText(const Call &call, bool fromRight) {
  const Value *mark = call.argument(0, "sep");
  int64_t most = call.wholeAt(1, "maxsplit", -1);
  std::vector<std::string> parts;
  if (!mark || mark->is(Kind::none)) {
    parts = splitWords(call.text, most, fromRight);
  } else {
    std::string text = call.textAt(0, "sep");
    if (call.interpreter.hasFailed())
      return {};
    if (text.empty())
      return call.interpreter.fail("empty separator");
    parts = splitAt(call.text, text, most, fromRight);
  }
  std::vector<Value> items;
  for (std::string &part : parts)
    items.push_back(Value(std::move(part)));
  call.interpreter.work(call.text.size() / 16);
  return call.interpreter.makeList(std::move(items));
}

static Value partitionText(const Call &call, bool fromRight) {
  std::string mark = call.textAt(0);
  if (call.interpreter.hasFailed())
    return {};
  if (mark.empty())
    return call.interpreter.fail("empty separator");
  auto parts = splitAt(call.text, mark, 1, fromRight);
  std::vector<Value> items;
  if (parts.size() == 2)
    items = {Value(parts[0]), Value(mark), Value(parts[1])};
  else if (fromRight)
    items = {Value(std::string()), Value(std::string()), Value(parts[0])};
  else
    items = {Value(parts[0]), Value(std::string()), Value(std::string())};
  return call.interpreter.makeList(std::move(items), /*isTuple=*/true);
}

static Value splitLines(const Call &call) {
  std::vector<Value> items;
  const Value *keeps = call.argument(0, "keepends");
  std::string line;
  auto characters = charactersOf(call.text);
  for (size_t i = 0; i < characters.size(); ++i) {
    std::string end(characters[i]);
    int32_t code = tokenizer::characterAt(end, 0).code;
    bool ends = (code >= '\n' && code <= '\r') ||
                (code >= 0x1c && code <= 0x1e) || code == 0x85 ||
                code == 0x2028 || code == 0x2029;
    if (!ends) {
      line += end;
      continue;
    }
    if (code == '\r' && i + 1 < characters.size() && characters[i + 1] == "\n")
      end += characters[++i];
    items.push_back(Value(keeps && isTrue(*keeps) ? line + end : line));
    line.clear();
  }
  if (!line.empty())
    items.push_back(Value(line));
  return call.interpreter.makeList(std::move(items));
}

/// Whether a text begins, or ends, with another or one of a tuple.
static Value meets(const Call &call, bool atStart) {
  const Value *what = call.argument(0);
  if (call.argument(1))
    return call.interpreter.fail("places to search from are not supported");
  std::vector<Value> any;
  if (what && what->is(Kind::list))
    any = what->list().items;
  else if (what)
    any = {*what};
  bool found = false;
  for (const Value &one : any) {
    if (!one.is(Kind::text))
      return call.interpreter.fail("a text or a tuple of them is needed");
    found |= atStart ? call.text.starts_with(one.text())
                     : call.text.ends_with(one.text());
  }
  return Value(found);
}

static Value findText(const Call &call, bool fromRight, bool mustBe) {
  if (call.argument(1))
    return call.interpreter.fail("places to search from are not supported");
  std::string what = call.textAt(0);
  size_t found = fromRight ? call.text.rfind(what) : call.text.find(what);
  call.interpreter.work(call.text.size() / 64 * (1 + what.size() / 256));
  if (found == std::string::npos)
    return mustBe ? call.interpreter.fail("substring not found")
                  : Value(int64_t(-1));
  return Value(int64_t(lengthOf(std::string_view(call.text).substr(0, found))));
}

static Value countOf(const Call &call) {
  if (call.argument(1))
    return call.interpreter.fail("places to search from are not supported");
  std::string what = call.textAt(0);
  int64_t count = 0;
  if (what.empty())
    return Value(int64_t(lengthOf(call.text) + 1));
  for (size_t at = 0; (at = call.text.find(what, at)) != std::string::npos;
       at += what.size())
    ++count;
  return Value(count);
}

static Value joinTexts(const Call &call) {
  std::vector<Value> items;
  const Value *given = call.argument(0);
  if (!given || !call.interpreter.iterate(*given, items))
    return call.interpreter.fail("join() needs what to join");
  std::string text;
  for (size_t i = 0; i < items.size(); ++i) {
    if (!items[i].is(Kind::text))
      return call.interpreter.fail("join() is of texts alone");
    text += (i ? call.text : "") + items[i].text();
  }
  return call.make(std::move(text));
}

using TextMethod = Value (*)(const Call &);
static constexpr std::pair<std::string_view, TextMethod> kTextMethods[] = {
    {"strip",
     [](const Call &c) {
       return c.make(strip(c.text, true, true, c.argument(0)));
     }},
    {"lstrip",
     [](const Call &c) {
       return c.make(strip(c.text, true, false, c.argument(0)));
     }},
    {"rstrip",
     [](const Call &c) {
       return c.make(strip(c.text, false, true, c.argument(0)));
     }},
    {"split", [](const Call &c) { return splitText(c, false); }},
    {"rsplit", [](const Call &c) { return splitText(c, true); }},
    {"partition", [](const Call &c) { return partitionText(c, false); }},
    {"rpartition", [](const Call &c) { return partitionText(c, true); }},
    {"splitlines", splitLines},
    {"startswith", [](const Call &c) { return meets(c, true); }},
    {"endswith", [](const Call &c) { return meets(c, false); }},
    {"find", [](const Call &c) { return findText(c, false, false); }},
    {"rfind", [](const Call &c) { return findText(c, true, false); }},
    {"index", [](const Call &c) { return findText(c, false, true); }},
    {"rindex", [](const Call &c) { return findText(c, true, true); }},
    {"count", countOf},
    {"join", joinTexts},
    {"upper", [](const Call &c) { return c.make(toUpper(c.text)); }},
    {"lower", [](const Call &c) { return c.make(toLower(c.text)); }},
    {"title", [](const Call &c) { return c.make(toTitle(c.text)); }},
    {"capitalize", [](const Call &c) { return c.make(capitalize(c.text)); }},
    {"isdigit", [](const Call &c) { return Value(areDigits(c.text)); }},
    {"isdecimal", [](const Call &c) { return Value(areDigits(c.text)); }},
    {"isnumeric", [](const Call &c) { return Value(areNumeric(c.text)); }},
    {"isalpha", [](const Call &c) { return Value(areLetters(c.text)); }},
    {"isalnum",
     [](const Call &c) { return Value(areLettersOrDigits(c.text)); }},
    {"isspace", [](const Call &c) { return Value(areWhite(c.text)); }},
    {"isupper", [](const Call &c) { return Value(areUpper(c.text)); }},
    {"islower", [](const Call &c) { return Value(areLower(c.text)); }},
    {"replace",
     [](const Call &c) {
       std::string from = c.textAt(0, "old"), to = c.textAt(1, "new");
       if (!c.interpreter.work(c.text.size() / 16 *
                               (1 + (to.size() + from.size()) / 64)))
         return Value();
       return c.make(replaceAll(c.text, from, to, c.wholeAt(2, "count", -1)));
     }},
    {"removeprefix",
     [](const Call &c) {
       std::string part = c.textAt(0);
       return c.make(c.text.substr(c.text.starts_with(part) ? part.size() : 0));
     }},
    {"removesuffix",
     [](const Call &c) {
       std::string part = c.textAt(0);
       return c.make(c.text.substr(
           0, c.text.size() - (c.text.ends_with(part) ? part.size() : 0)));
     }},
    {"zfill",
     [](const Call &c) {
       size_t width = size_t(std::clamp<int64_t>(c.wholeAt(0, "", 0), 0, 999));
       size_t sign = c.text.starts_with('-') || c.text.starts_with('+');
       std::string text = c.text;
       if (lengthOf(text) < width)
         text.insert(sign, width - lengthOf(text), '0');
       return c.make(std::move(text));
     }},
};

/// Returns the method whose number the function's self has, of a text.
static Value callTextMethod(Interpreter &interpreter, const Value &self,
                            const Arguments &arguments) {
  const auto &parts = self.list().items;
  const auto &method = kTextMethods[size_t(parts[1].whole())];
  Value made = method.second(Call{interpreter, parts[0].text(), arguments});
  return interpreter.hasFailed() ? Value() : made;
}

Value jinja::textMethodOf(Interpreter &interpreter, const Value &value,
                          const std::string &name) {
  for (size_t i = 0; i < std::size(kTextMethods); ++i)
    if (kTextMethods[i].first == name)
      return interpreter.makeFunction(
          callTextMethod, interpreter.makeList({value, Value(int64_t(i))}));
  return {};
}
