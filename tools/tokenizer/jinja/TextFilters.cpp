//===- TextFilters.cpp - Filters of texts and numbers ---------------------===//

#include "tools/tokenizer/jinja/Filtered.h"
#include "tools/tokenizer/jinja/Letters.h"

#include <algorithm>
#include <charconv>
#include <cmath>

using namespace frit;
using namespace frit::jinja;

static Value toJson(const Filtered &f) {
  JsonStyle style;
  style.isAscii = f.has(0, "ensure_ascii");
  style.sortsKeys = f.has(3, "sort_keys");
  if (const Value *indent = f.argument(1, "indent");
      indent && indent->isWhole()) {
    style.indent = std::clamp<int64_t>(indent->whole(), 0, 64);
    style.between = ",";
  }
  if (const Value *marks = f.argument(2, "separators");
      marks && marks->is(Kind::list) && marks->list().items.size() == 2) {
    style.between = textOf(marks->list().items[0]);
    style.after = textOf(marks->list().items[1]);
  }
  auto text = jsonOf(f.value, style);
  if (!text)
    return f.interpreter.fail(std::string("'") + f.value.typeName() +
                              "' has a part that JSON does not have");
  return f.make(std::move(*text));
}

static Value orDefault(const Filtered &f) {
  const Value *given = f.argument(0, "default_value");
  bool isMissing =
      f.value.is(Kind::undefined) || (f.has(1, "boolean") && !isTrue(f.value));
  return !isMissing ? f.value : given ? *given : Value(std::string());
}

static Value toInteger(const Filtered &f) {
  const Value *given = f.argument(0, "default");
  Value otherwise = given ? *given : Value(int64_t(0));
  if (f.value.isWhole())
    return Value(f.value.whole());
  double number = 0;
  if (f.value.is(Kind::real)) {
    number = f.value.real();
  } else if (f.value.is(Kind::text)) {
    std::string text = strip(f.value.text(), true, true, nullptr);
    const char *begin = text.data() + text.starts_with('+'),
               *end = text.data() + text.size();
    int64_t whole = 0;
    auto [rest, error] = std::from_chars(begin, end, whole);
    if (error == std::errc() && rest == end)
      return Value(whole);
    auto [after, wrong] = std::from_chars(begin, end, number);
    if (wrong != std::errc() || after != end)
      return otherwise;
  } else {
    return otherwise;
  }
  return std::abs(number) < 0x1p62 ? Value(int64_t(number)) : otherwise;
}

static Value toReal(const Filtered &f) {
  const Value *given = f.argument(0, "default");
  if (f.value.isNumber())
    return Value(f.value.real());
  std::string text = strip(textOf(f.value), true, true, nullptr);
  double number = 0;
  auto [rest, error] = std::from_chars(text.data() + text.starts_with('+'),
                                       text.data() + text.size(), number);
  bool fits = error == std::errc() && rest == text.data() + text.size();
  return fits ? Value(number) : given ? *given : Value(0.0);
}

static Value roundNumber(const Filtered &f) {
  const Value *digits = f.argument(0, "precision");
  std::string method = f.textAt(1, "method", "common");
  if (!f.value.isNumber())
    return f.interpreter.fail("round is of a number");
  double power =
      std::pow(10.0, digits && digits->isWhole() ? double(digits->whole()) : 0);
  double scaled = f.value.real() * power;
  scaled = method == "ceil"    ? std::ceil(scaled)
           : method == "floor" ? std::floor(scaled)
                               : std::nearbyint(scaled);
  return Value(scaled / power);
}

static Value absolute(const Filtered &f) {
  if (!f.value.isNumber())
    return f.interpreter.fail("abs is of a number");
  return f.value.isWhole()
             ? f.interpreter.compute(f.value.whole() < 0 ? "-" : "+",
                                     Value(int64_t(0)), f.value)
             : Value(std::abs(f.value.real()));
}

static Value indentLines(const Filtered &f) {
  const Value *width = f.argument(0, "width");
  std::string space =
      width && width->is(Kind::text)
          ? width->text()
          : std::string(size_t(width && width->isWhole()
                                   ? std::clamp<int64_t>(width->whole(), 0, 256)
                                   : 4),
                        ' ');
  std::string text = textOf(f.value), result;
  bool indentsFirst = f.has(1, "first"), indentsBlank = f.has(2, "blank");
  for (size_t at = 0, number = 0;; ++number) {
    size_t end = std::min(text.find('\n', at), text.size());
    bool isBlank = end == at;
    if (number ? !isBlank || indentsBlank : indentsFirst)
      result += space;
    result.append(text, at, end - at);
    if (end == text.size())
      break;
    result += '\n';
    at = end + 1;
  }
  f.interpreter.work(text.size() / 16);
  return f.make(std::move(result));
}

static Value escapeMarkup(const Filtered &f) {
  std::string result;
  for (char c : textOf(f.value)) {
    static constexpr std::pair<char, const char *> escapes[] = {
        {'&', "&amp;"},
        {'<', "&lt;"},
        {'>', "&gt;"},
        {'"', "&#34;"},
        {'\'', "&#39;"}};
    auto found =
        std::ranges::find(escapes, c, [](auto pair) { return pair.first; });
    if (found != std::end(escapes))
      result += found->second;
    else
      result += c;
  }
  return f.make(std::move(result));
}

static Value replaceIn(const Filtered &f) {
  const Value *count = f.argument(2, "count");
  std::string text = textOf(f.value), from = f.textAt(0, "s", ""),
              to = f.textAt(1, "new", "");
  if (!f.interpreter.work(text.size() / 16 *
                          (1 + (to.size() + from.size()) / 64)))
    return {};
  return f.make(replaceAll(text, from, to,
                           count && count->isWhole() ? count->whole() : -1));
}

/// Capitalizes words. Unlike Python's title(), an apostrophe ends none.
static std::string startWords(const std::string &text) {
  std::string result, word;
  for (std::string_view character : charactersOf(text)) {
    bool isBetween = isWhite(uint8_t(character[0])) && character.size() == 1;
    isBetween |= std::string_view("-({[<").find(character) != std::string::npos;
    if (!isBetween) {
      word += character;
      continue;
    }
    result += capitalize(word) += character;
    word.clear();
  }
  return result + capitalize(word);
}

std::span<const NamedFilter> jinja::textFilters() {
  static constexpr NamedFilter filters[] = {
      {"tojson", toJson},
      {"default", orDefault},
      {"d", orDefault},
      {"int", toInteger},
      {"float", toReal},
      {"round", roundNumber},
      {"abs", absolute},
      {"string", [](const Filtered &f) { return f.make(textOf(f.value)); }},
      {"safe", [](const Filtered &f) { return f.make(textOf(f.value)); }},
      {"trim",
       [](const Filtered &f) {
         return f.make(
             strip(textOf(f.value), true, true, f.argument(0, "chars")));
       }},
      {"upper",
       [](const Filtered &f) { return f.make(toUpper(textOf(f.value))); }},
      {"lower",
       [](const Filtered &f) { return f.make(toLower(textOf(f.value))); }},
      {"title",
       [](const Filtered &f) { return f.make(startWords(textOf(f.value))); }},
      {"capitalize",
       [](const Filtered &f) { return f.make(capitalize(textOf(f.value))); }},
      {"replace", replaceIn},
      {"indent", indentLines},
      {"escape", escapeMarkup},
      {"e", escapeMarkup},
  };
  return filters;
}

Value Interpreter::applyFilter(const std::string &name, const Value &value,
                               const Arguments &arguments) {
  if (!work() || ++depth > kMostLevels)
    return fail("it is nested too deep");
  for (auto filters : {listFilters(), textFilters()})
    for (auto [known, filter] : filters)
      if (known == name) {
        Value made = filter(Filtered{*this, value, arguments});
        --depth;
        return fault ? Value() : made;
      }
  return fail("filter '" + name + "' is not supported");
}
