//===- Evaluate.cpp - Evaluate the expressions of templates ---------------===//

#include "tools/tokenizer/Text.h"
#include "tools/tokenizer/jinja/Interpreter.h"

using namespace frit;
using namespace frit::jinja;

std::vector<std::string_view> jinja::charactersOf(std::string_view text) {
  std::vector<std::string_view> characters;
  tokenizer::forEachCharacter(text, [&](int32_t, tokenizer::Span span) {
    characters.push_back(text.substr(span.begin, span.end - span.begin));
  });
  return characters;
}

size_t jinja::lengthOf(std::string_view text) {
  size_t count = 0;
  for (char c : text)
    count += (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  return count;
}

Value Interpreter::lookUp(const std::string &name, const Scope &scope) const {
  for (const Scope *at = &scope; at; at = at->parent)
    for (const auto &[known, value] : at->names)
      if (known == name)
        return value;
  return Value::undefined(name);
}

bool Interpreter::iterate(const Value &value, std::vector<Value> &items) {
  if (fault)
    return false;
  switch (value.kind()) {
  case Kind::undefined: // one that is printed as nothing
    return true;
  case Kind::list:
    items = value.list().items;
    break;
  case Kind::map:
    for (const auto &[key, item] : value.map().entries)
      items.push_back(key);
    break;
  case Kind::text:
    for (std::string_view character : charactersOf(value.text()))
      items.push_back(Value(character));
    break;
  default:
    fail(std::string("'") + value.typeName() + "' object is not iterable");
  }
  return work(items.size());
}

/// Returns the place of an index, which counts from the end if negative.
static std::optional<size_t> placeOf(int64_t index, size_t size) {
  if (index < 0)
    index += int64_t(size);
  return index >= 0 && index < int64_t(size) ? std::optional(size_t(index))
                                             : std::nullopt;
}

Value Interpreter::itemOf(const Value &value, const Value &key) {
  switch (value.kind()) {
  case Kind::undefined:
    return fail("'" + value.name() + "' is undefined");
  case Kind::list:
    if (key.isWhole()) {
      auto place = placeOf(key.whole(), value.list().items.size());
      return place ? value.list().items[*place] : Value::undefined("item");
    }
    break;
  case Kind::text:
    if (key.isWhole()) {
      work(value.text().size() / 16);
      auto characters = charactersOf(value.text());
      auto place = placeOf(key.whole(), characters.size());
      return place ? Value(characters[*place]) : Value::undefined("item");
    }
    break;
  case Kind::map:
    work(value.map().entries.size() / 4);
    if (const Value *item = value.map().find(key))
      return *item;
    break;
  default:
    break;
  }
  if (!key.is(Kind::text))
    return Value::undefined(textOf(key));
  Value method = methodOf(value, key.text());
  return method.is(Kind::undefined) ? Value::undefined(key.text()) : method;
}

Value Interpreter::attributeOf(const Value &value, const std::string &name) {
  if (value.is(Kind::undefined))
    return fail("'" + value.name() + "' is undefined");
  Value method = methodOf(value, name);
  if (fault || !method.is(Kind::undefined))
    return method;
  const Value *item =
      value.is(Kind::map) ? value.map().find(std::string_view(name)) : nullptr;
  return item ? *item : Value::undefined(name);
}

Arguments Interpreter::evaluateArguments(const CallArguments &arguments,
                                         Scope &scope) {
  Arguments values;
  for (size_t i = 0; i < arguments.list.size(); ++i) {
    Value value = evaluate(*arguments.list[i], scope);
    std::vector<Value> items{value};
    if (arguments.spreads[i] && !fault) {
      items.clear();
      iterate(value, items);
    }
    values.list.insert(values.list.end(), items.begin(), items.end());
  }
  for (const auto &[name, one] : arguments.named) {
    Value value = evaluate(*one, scope);
    if (!name.empty()) {
      values.named.emplace_back(name, value);
      continue;
    }
    if (!fault && !value.is(Kind::map))
      fail("named arguments need a dict");
    if (fault)
      break;
    for (const auto &[key, item] : value.map().entries)
      values.named.emplace_back(textOf(key), item);
  }
  return values;
}

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

Value Interpreter::evaluateBinary(const Expr &expr, Scope &scope) {
  Value x = evaluate(*expr.parts[0], scope);
  if (expr.text == "and" || expr.text == "or")
    return isTrue(x) == (expr.text == "or") ? x
                                            : evaluate(*expr.parts[1], scope);
  return compute(expr.text, x, evaluate(*expr.parts[1], scope));
}

Value Interpreter::evaluateCompare(const Expr &expr, Scope &scope) {
  Value x = evaluate(*expr.parts[0], scope);
  for (size_t i = 0; i < expr.names.size() && !fault; ++i) {
    Value y = evaluate(*expr.parts[i + 1], scope);
    if (fault || !relate(expr.names[i], x, y))
      return Value(false);
    x = std::move(y);
  }
  return Value(true);
}

Value Interpreter::evaluateSlice(const Expr &expr, Scope &scope) {
  Value value = evaluate(*expr.parts[0], scope);
  Value given[3];
  for (size_t i = 0; i < 3; ++i) {
    given[i] =
        expr.parts[i + 1] ? evaluate(*expr.parts[i + 1], scope) : Value::none();
    if (!fault && !given[i].is(Kind::none) && !given[i].isWhole())
      return fail("slice indices must be integers or None");
  }
  if (fault)
    return {};
  bool isText = value.is(Kind::text);
  if (value.is(Kind::undefined))
    return fail("'" + value.name() + "' is undefined");
  if (!isText && !value.is(Kind::list))
    return fail(std::string("'") + value.typeName() + "' has no slices");
  std::vector<Value> items;
  std::vector<std::string_view> characters;
  if (isText)
    characters = charactersOf(value.text());
  const auto size =
      int64_t(isText ? characters.size() : value.list().items.size());
  int64_t step = given[2].is(Kind::none) ? 1 : given[2].whole();
  if (!step)
    return fail("slice step cannot be zero");
  // As PySlice_AdjustIndices has it.
  auto place = [&](const Value &one, int64_t otherwise) {
    if (one.is(Kind::none))
      return otherwise;
    int64_t at = one.whole();
    if (at < 0)
      at = std::max<int64_t>(at + size, step < 0 ? -1 : 0);
    return std::min(at, step < 0 ? size - 1 : size);
  };
  int64_t first = place(given[0], step < 0 ? size - 1 : 0),
          last = place(given[1], step < 0 ? -1 : size);
  std::string text;
  work(size_t(size));
  for (int64_t at = first; step < 0 ? at > last : at < last;) {
    if (isText)
      text += characters[size_t(at)];
    else
      items.push_back(value.list().items[size_t(at)]);
    if (__builtin_add_overflow(at, step, &at))
      break;
  }
  return isText ? makeText(std::move(text))
                : makeList(std::move(items), value.list().isTuple);
}

Value Interpreter::evaluate(const Expr &expr, Scope &scope) {
  if (!work())
    return {};
  if (++depth > kMostLevels)
    fail("it is nested too deep");
  line = expr.line;
  Value value = fault ? Value() : evaluateParts(expr, scope);
  --depth;
  return fault ? Value() : value;
}

Value Interpreter::evaluateParts(const Expr &expr, Scope &scope) {
  auto part = [&](size_t i) { return evaluate(*expr.parts[i], scope); };
  switch (expr.kind) {
  case ExprKind::literal:
    return expr.value;
  case ExprKind::name:
    return lookUp(expr.text, scope);
  case ExprKind::list:
  case ExprKind::tuple: {
    std::vector<Value> items;
    for (size_t i = 0; i < expr.parts.size(); ++i)
      items.push_back(part(i));
    return makeList(std::move(items), expr.kind == ExprKind::tuple);
  }
  case ExprKind::map: {
    Value map = makeMap();
    for (size_t i = 0; i + 1 < expr.parts.size(); i += 2) {
      Value key = part(i);
      map.map().set(key, part(i + 1));
    }
    return map;
  }
  case ExprKind::attribute: {
    Value object = part(0);
    return fault ? Value() : attributeOf(object, expr.text);
  }
  case ExprKind::item: {
    Value object = part(0), key = part(1);
    return fault ? Value() : itemOf(object, key);
  }
  case ExprKind::slice:
    return evaluateSlice(expr, scope);
  case ExprKind::call: {
    Value callee = part(0);
    Arguments arguments = evaluateArguments(expr.arguments, scope);
    return fault ? Value() : call(callee, arguments);
  }
  case ExprKind::filter: {
    Value value = part(0);
    Arguments arguments = evaluateArguments(expr.arguments, scope);
    return fault ? Value() : applyFilter(expr.text, value, arguments);
  }
  case ExprKind::test: {
    Value value = part(0);
    Arguments arguments = evaluateArguments(expr.arguments, scope);
    return fault ? Value() : Value(applyTest(expr.text, value, arguments));
  }
  case ExprKind::unary: {
    Value x = part(0);
    if (expr.text == "not")
      return Value(!isTrue(x));
    if (fault)
      return {};
    if (x.is(Kind::undefined))
      return fail("'" + x.name() + "' is undefined");
    if (!x.isNumber())
      return fail("unary " + expr.text + " of a '" + x.typeName() + "'");
    return expr.text == "-" ? compute("-", Value(int64_t(0)), x)
                            : compute("+", Value(int64_t(0)), x);
  }
  case ExprKind::binary:
    return evaluateBinary(expr, scope);
  case ExprKind::compare:
    return evaluateCompare(expr, scope);
  case ExprKind::choice: {
    bool holds = isTrue(part(1));
    if (fault)
      return {};
    if (holds)
      return part(0);
    return expr.parts[2] ? part(2) : Value::undefined("");
  }
  }
  return {};
}
