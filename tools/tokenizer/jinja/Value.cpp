//===- Value.cpp - Values of templates ------------------------------------===//

#include "tools/tokenizer/jinja/Value.h"

#include "tools/tokenizer/Text.h"

#include <algorithm>
#include <charconv>
#include <cmath>

using namespace frit;
using namespace frit::jinja;

Value Value::undefined(std::string name) {
  Value value;
  value.characters = std::make_shared<const std::string>(std::move(name));
  return value;
}

const char *Value::typeName() const {
  static constexpr const char *names[] = {"undefined", "NoneType", "bool",
                                          "int",       "float",    "str",
                                          "list",      "dict",     "function"};
  return names[size_t(type)];
}

const Value *Map::find(const Value &key) const {
  for (const auto &[name, value] : entries)
    if (areEqual(name, key))
      return &value;
  return nullptr;
}

const Value *Map::find(std::string_view key) const {
  for (const auto &[name, value] : entries)
    if (name.is(Kind::text) && name.text() == key)
      return &value;
  return nullptr;
}

void Map::set(const Value &key, Value value) {
  for (auto &[name, old] : entries)
    if (areEqual(name, key)) {
      old = std::move(value);
      return;
    }
  entries.emplace_back(key, std::move(value));
}

const Value *Arguments::find(size_t index, std::string_view name) const {
  if (index < list.size())
    return &list[index];
  for (const auto &[given, value] : named)
    if (given == name)
      return &value;
  return nullptr;
}

bool jinja::isTrue(const Value &value) {
  switch (value.kind()) {
  case Kind::undefined:
  case Kind::none:
    return false;
  case Kind::boolean:
  case Kind::integer:
    return value.whole() != 0;
  case Kind::real:
    return value.real() != 0;
  case Kind::text:
    return !value.text().empty();
  case Kind::list:
    return !value.list().items.empty();
  case Kind::map:
    return value.map().isNamespace || !value.map().entries.empty();
  case Kind::function:
    return true;
  }
  return false;
}

bool jinja::areEqual(const Value &x, const Value &y, int depth) {
  if (x.isNumber() && y.isNumber())
    return x.isWhole() && y.isWhole() ? x.whole() == y.whole()
                                      : x.real() == y.real();
  if (x.kind() != y.kind() || depth <= 0)
    return false;
  switch (x.kind()) {
  case Kind::text:
    return x.text() == y.text();
  case Kind::list: {
    const List &a = x.list(), &b = y.list();
    return &a == &b || (a.isTuple == b.isTuple &&
                        std::ranges::equal(a.items, b.items,
                                           [&](const Value &m, const Value &n) {
                                             return areEqual(m, n, depth - 1);
                                           }));
  }
  case Kind::map: {
    const Map &a = x.map(), &b = y.map();
    if (&a == &b)
      return true;
    if (a.isNamespace || b.isNamespace || a.entries.size() != b.entries.size())
      return false;
    return std::ranges::all_of(a.entries, [&](const auto &entry) {
      const Value *other = b.find(entry.first);
      return other && areEqual(entry.second, *other, depth - 1);
    });
  }
  case Kind::function:
    return &x.function() == &y.function();
  default:
    return true;
  }
}

std::optional<int> jinja::compare(const Value &x, const Value &y, int depth) {
  auto order = [](auto a, auto b) { return a < b ? -1 : b < a ? 1 : 0; };
  if (x.isWhole() && y.isWhole())
    return order(x.whole(), y.whole());
  if (x.isNumber() && y.isNumber())
    return order(x.real(), y.real());
  if (x.is(Kind::text) && y.is(Kind::text))
    return order(x.text().compare(y.text()), 0);
  if (!x.is(Kind::list) || !y.is(Kind::list) || depth <= 0)
    return std::nullopt;
  const auto &a = x.list().items, &b = y.list().items;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (areEqual(a[i], b[i], depth - 1))
      continue;
    return compare(a[i], b[i], depth - 1);
  }
  return order(a.size(), b.size());
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

std::string jinja::textOf(double value) {
  if (std::isnan(value))
    return "nan";
  if (std::isinf(value))
    return value < 0 ? "-inf" : "inf";
  // The shortest digits, laid out as Python does: "-d.ddde+XX".
  char buffer[64];
  auto [end, error] = std::to_chars(buffer, buffer + sizeof(buffer), value,
                                    std::chars_format::scientific);
  std::string_view all(buffer, size_t(end - buffer));
  size_t mark = all.find('e');
  int exponent = 0;
  const char *power = all.data() + mark + 1 + (all[mark + 1] == '+');
  std::from_chars(power, all.data() + all.size(), exponent);
  bool isNegative = all[0] == '-';
  std::string digits;
  for (char c : all.substr(0, mark))
    if (c >= '0' && c <= '9')
      digits += c;
  std::string text;
  if (exponent < -4 || exponent >= 16) {
    text = digits.substr(0, 1);
    if (digits.size() > 1)
      text += "." + digits.substr(1);
    std::string number = std::to_string(std::abs(exponent));
    text += exponent < 0 ? "e-" : "e+";
    text += (number.size() < 2 ? "0" : "") + number;
  } else if (exponent < 0) {
    text = "0." + std::string(size_t(-exponent - 1), '0') + digits;
  } else {
    size_t before = size_t(exponent) + 1;
    if (digits.size() < before)
      digits.append(before - digits.size(), '0');
    text = digits.substr(0, before) + ".";
    text += digits.size() > before ? digits.substr(before) : "0";
  }
  return (isNegative ? "-" : "") + text;
}

static std::string reprOf(const std::string &text) {
  bool hasSingle = text.find('\'') != text.npos;
  char quote = hasSingle && text.find('"') == text.npos ? '"' : '\'';
  static constexpr char hex[] = "0123456789abcdef";
  std::string result(1, quote);
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    if (c == quote || c == '\\')
      (result += '\\') += c;
    else if (c == '\n')
      result += "\\n";
    else if (c == '\r')
      result += "\\r";
    else if (c == '\t')
      result += "\\t";
    else if (byte < 0x20 || byte == 0x7f)
      ((result += "\\x") += hex[byte >> 4]) += hex[byte & 15];
    else
      result += c;
  }
  return result + quote;
}

std::string jinja::textOf(const Value &value) {
  if (value.is(Kind::text))
    return value.text();
  return value.is(Kind::undefined) ? "" : reprOf(value);
}

std::string jinja::reprOf(const Value &value, int depth) {
  if (depth <= 0)
    return "...";
  switch (value.kind()) {
  case Kind::undefined:
    return "Undefined";
  case Kind::none:
    return "None";
  case Kind::boolean:
    return value.whole() ? "True" : "False";
  case Kind::integer:
    return std::to_string(value.whole());
  case Kind::real:
    return textOf(value.real());
  case Kind::text:
    return ::reprOf(value.text());
  case Kind::list: {
    const List &list = value.list();
    std::string text;
    for (const Value &item : list.items)
      text += (text.empty() ? "" : ", ") + reprOf(item, depth - 1);
    if (list.isTuple)
      return "(" + text + (list.items.size() == 1 ? ",)" : ")");
    return "[" + text + "]";
  }
  case Kind::map: {
    std::string text;
    for (const auto &[key, item] : value.map().entries)
      text += (text.empty() ? "" : ", ") + reprOf(key, depth - 1) + ": " +
              reprOf(item, depth - 1);
    text = "{" + text + "}";
    return value.map().isNamespace ? "<Namespace " + text + ">" : text;
  }
  case Kind::function:
    return "<function>";
  }
  return "";
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

static void appendEscape(std::string &result, uint32_t unit) {
  static constexpr char hex[] = "0123456789abcdef";
  result += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4)
    result += hex[unit >> shift & 15];
}

static std::string quote(const std::string &text, bool isAscii) {
  std::string result = "\"";
  tokenizer::forEachCharacter(text, [&](int32_t code, tokenizer::Span span) {
    switch (code) {
    case '"':
      result += "\\\"";
      return;
    case '\\':
      result += "\\\\";
      return;
    case '\n':
      result += "\\n";
      return;
    case '\r':
      result += "\\r";
      return;
    case '\t':
      result += "\\t";
      return;
    case '\b':
      result += "\\b";
      return;
    case '\f':
      result += "\\f";
      return;
    default:
      break;
    }
    if (code >= 0x20 && (!isAscii || code < 0x7f)) {
      result.append(text, span.begin, span.end - span.begin);
    } else if (code < 0x10000) {
      appendEscape(result, uint32_t(code));
    } else {
      appendEscape(result, 0xd800 + (uint32_t(code - 0x10000) >> 10));
      appendEscape(result, 0xdc00 + (uint32_t(code - 0x10000) & 0x3ff));
    }
  });
  return result + "\"";
}

static std::optional<std::string> keyOf(const Value &key, bool isAscii) {
  switch (key.kind()) {
  case Kind::text:
    return quote(key.text(), isAscii);
  case Kind::none:
    return "\"null\"";
  case Kind::boolean:
    return key.whole() ? "\"true\"" : "\"false\"";
  case Kind::integer:
  case Kind::real:
    return "\"" + textOf(key) + "\"";
  default:
    return std::nullopt;
  }
}

/// Puts the parts of a list or a map between brackets.
static std::string enclose(const std::vector<std::string> &parts, char open,
                           char close, const JsonStyle &style, int depth) {
  std::string result(1, open);
  auto startLine = [&](int level) {
    if (style.indent)
      result +=
          "\n" +
          std::string(size_t(std::max<int64_t>(*style.indent * level, 0)), ' ');
  };
  for (size_t i = 0; i < parts.size(); ++i) {
    // json.dumps ends lines without a space if it indents.
    if (i)
      result += style.between;
    startLine(depth + 1);
    result += parts[i];
  }
  if (!parts.empty())
    startLine(depth);
  return result + close;
}

std::optional<std::string> jinja::jsonOf(const Value &value,
                                         const JsonStyle &style, int depth) {
  constexpr int kDeepest = 64;
  if (depth > kDeepest)
    return std::nullopt;
  switch (value.kind()) {
  case Kind::none:
    return "null";
  case Kind::boolean:
    return value.whole() ? "true" : "false";
  case Kind::integer:
    return std::to_string(value.whole());
  case Kind::real:
    if (std::isnan(value.real()))
      return "NaN";
    if (std::isinf(value.real()))
      return value.real() < 0 ? "-Infinity" : "Infinity";
    return textOf(value.real());
  case Kind::text:
    return quote(value.text(), style.isAscii);
  case Kind::list: {
    std::vector<std::string> parts;
    for (const Value &item : value.list().items) {
      auto part = jsonOf(item, style, depth + 1);
      if (!part)
        return std::nullopt;
      parts.push_back(std::move(*part));
    }
    return enclose(parts, '[', ']', style, depth);
  }
  case Kind::map: {
    auto entries = value.map().entries;
    if (value.map().isNamespace)
      return std::nullopt;
    if (style.sortsKeys)
      std::ranges::stable_sort(entries, [](const auto &x, const auto &y) {
        return compare(x.first, y.first).value_or(0) < 0;
      });
    std::vector<std::string> parts;
    for (const auto &[key, item] : entries) {
      auto name = keyOf(key, style.isAscii),
           part = jsonOf(item, style, depth + 1);
      if (!name || !part)
        return std::nullopt;
      parts.push_back(*name + style.after + *part);
    }
    return enclose(parts, '{', '}', style, depth);
  }
  default:
    return std::nullopt;
  }
}
