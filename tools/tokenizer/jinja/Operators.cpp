//===- Operators.cpp - Operators of templates -----------------------------===//

#include "tools/tokenizer/jinja/Interpreter.h"

#include <cmath>

using namespace frit;
using namespace frit::jinja;

bool Interpreter::relate(const std::string &relation, const Value &x,
                         const Value &y) {
  if (relation == "==" || relation == "!=")
    return areEqual(x, y) == (relation == "==");
  if (relation == "in" || relation == "not in") {
    bool found = false;
    if (y.is(Kind::text)) {
      if (!x.is(Kind::text)) {
        fail(std::string("'in <string>' requires string as left operand, "
                         "not ") +
             x.typeName());
        return false;
      }
      size_t parts = 1 + x.text().size() / 256;
      if (!work(y.text().size() / 64 * parts))
        return false;
      found = y.text().find(x.text()) != std::string::npos;
    } else if (y.is(Kind::map)) {
      work(y.map().entries.size());
      found = y.map().find(x);
    } else {
      std::vector<Value> items;
      if (!iterate(y, items))
        return false;
      for (const Value &item : items)
        found |= areEqual(item, x);
    }
    return found == (relation == "in");
  }
  if (x.is(Kind::undefined) || y.is(Kind::undefined)) {
    fail("'" + (x.is(Kind::undefined) ? x : y).name() + "' is undefined");
    return false;
  }
  auto order = compare(x, y);
  if (!order) {
    fail("'" + relation + "' not supported between '" + x.typeName() +
         "' and '" + y.typeName() + "'");
    return false;
  }
  return relation == "<"    ? *order < 0
         : relation == ">"  ? *order > 0
         : relation == "<=" ? *order <= 0
                            : *order >= 0;
}

/// Python's % of a text: %s, %d, %i, %r, %f and %%.
static Value formatText(Interpreter &interpreter, const std::string &text,
                        const Value &value) {
  std::vector<Value> given{value};
  if (value.is(Kind::list) && value.list().isTuple)
    given = value.list().items;
  std::string result;
  size_t used = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      result += text[i];
      continue;
    }
    char kind = ++i < text.size() ? text[i] : 0;
    if (kind == '%') {
      result += '%';
      continue;
    }
    if (used == given.size())
      return interpreter.fail("not enough arguments for format string");
    const Value &one = given[used++];
    if (kind == 's')
      result += textOf(one);
    else if (kind == 'r')
      result += reprOf(one);
    else if ((kind == 'd' || kind == 'i') && one.isNumber())
      result +=
          std::to_string(one.isWhole() ? one.whole() : int64_t(one.real()));
    else if (kind == 'f' && one.isNumber())
      result += std::to_string(one.real());
    else
      return interpreter.fail("this format is not supported: '" + text + "'");
  }
  if (used < given.size())
    return interpreter.fail(
        "not all arguments converted during string formatting");
  return interpreter.makeText(std::move(result));
}

static Value computeWhole(Interpreter &interpreter, char sign, int64_t x,
                          int64_t y) {
  int64_t result = 0;
  bool overflows = false;
  switch (sign) {
  case '+':
    overflows = __builtin_add_overflow(x, y, &result);
    break;
  case '-':
    overflows = __builtin_sub_overflow(x, y, &result);
    break;
  case '*':
    overflows = __builtin_mul_overflow(x, y, &result);
    break;
  default:
    if (y == 0)
      return interpreter.fail("integer division or modulo by zero");
    if (y == -1) {
      overflows = sign == '/' && __builtin_sub_overflow(int64_t(0), x, &result);
      break;
    }
    // Towards minus infinity, as Python divides.
    int64_t rest = x % y;
    bool moves = rest && (rest < 0) != (y < 0);
    result = sign == '/' ? x / y - moves : rest + (moves ? y : 0);
    break;
  }
  if (overflows)
    return interpreter.fail("an integer has more than 64 bits");
  return Value(result);
}

static Value repeatItems(Interpreter &interpreter, const Value &value,
                         int64_t count) {
  size_t times = count < 0 ? 0 : size_t(count);
  if (value.is(Kind::text)) {
    std::string text;
    size_t size = value.text().size();
    if (size && times > (size_t(64) << 20) / size)
      return interpreter.fail("a repeated text is too long");
    for (size_t i = 0; i < times && size; ++i)
      text += value.text();
    return interpreter.makeText(std::move(text));
  }
  std::vector<Value> items;
  const auto &given = value.list().items;
  if (!given.empty() && times > 1'000'000 / given.size())
    return interpreter.fail("a repeated list is too long");
  for (size_t i = 0; i < times && !given.empty(); ++i)
    items.insert(items.end(), given.begin(), given.end());
  return interpreter.makeList(std::move(items), value.list().isTuple);
}

Value Interpreter::compute(const std::string &sign, const Value &x,
                           const Value &y) {
  if (fault)
    return {};
  if (sign == "~")
    return makeText(textOf(x) + textOf(y));
  for (const Value *value : {&x, &y})
    if (value->is(Kind::undefined))
      return fail("'" + value->name() + "' is undefined");
  if (x.isWhole() && y.isWhole() && sign != "/" && sign != "**")
    return computeWhole(*this, sign[0], x.whole(), y.whole());
  if (x.isNumber() && y.isNumber()) {
    double a = x.real(), b = y.real();
    if (sign == "+")
      return Value(a + b);
    if (sign == "-")
      return Value(a - b);
    if (sign == "*")
      return Value(a * b);
    if (sign == "**") {
      double power = std::pow(a, b);
      bool isWhole = x.isWhole() && y.isWhole() && b >= 0;
      if (isWhole && std::abs(power) > 0x1p53)
        return fail("an integer power is too large");
      return isWhole ? Value(int64_t(power)) : Value(power);
    }
    if (b == 0)
      return fail("division by zero");
    double rest = std::fmod(a, b);
    if (rest && (rest < 0) != (b < 0))
      rest += b;
    return Value(sign == "/" ? a / b : sign == "%" ? rest : std::floor(a / b));
  }
  if (sign == "+" && x.is(Kind::text) && y.is(Kind::text))
    return makeText(x.text() + y.text());
  if (sign == "+" && x.is(Kind::list) && y.is(Kind::list) &&
      x.list().isTuple == y.list().isTuple) {
    std::vector<Value> items = x.list().items;
    items.insert(items.end(), y.list().items.begin(), y.list().items.end());
    return makeList(std::move(items), x.list().isTuple);
  }
  if (sign == "%" && x.is(Kind::text))
    return formatText(*this, x.text(), y);
  auto repeats = [](const Value &value) {
    return value.is(Kind::text) || value.is(Kind::list);
  };
  if (sign == "*" && repeats(x) && y.isWhole())
    return repeatItems(*this, x, y.whole());
  if (sign == "*" && repeats(y) && x.isWhole())
    return repeatItems(*this, y, x.whole());
  return fail("unsupported operand types for " + sign + ": '" + x.typeName() +
              "' and '" + y.typeName() + "'");
}
