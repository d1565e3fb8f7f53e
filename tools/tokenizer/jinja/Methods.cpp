//===- Methods.cpp - Methods of Python's dict and list --------------------===//
//
// Those that templates have a use for and that change nothing.
//
//===----------------------------------------------------------------------===//

#include "tools/tokenizer/jinja/Interpreter.h"

#include <algorithm>

using namespace frit;
using namespace frit::jinja;

static Value pairs(Interpreter &interpreter, const Value &self,
                   const Arguments &) {
  std::vector<Value> items;
  for (const auto &[key, value] : self.map().entries)
    items.push_back(interpreter.makeList({key, value}, /*isTuple=*/true));
  return interpreter.makeList(std::move(items));
}

static Value keys(Interpreter &interpreter, const Value &self,
                  const Arguments &) {
  std::vector<Value> items;
  for (const auto &[key, value] : self.map().entries)
    items.push_back(key);
  return interpreter.makeList(std::move(items));
}

static Value values(Interpreter &interpreter, const Value &self,
                    const Arguments &) {
  std::vector<Value> items;
  for (const auto &[key, value] : self.map().entries)
    items.push_back(value);
  return interpreter.makeList(std::move(items));
}

static Value get(Interpreter &interpreter, const Value &self,
                 const Arguments &arguments) {
  const Value *key = arguments.find(0, "key");
  if (!key)
    return interpreter.fail("get() needs a key");
  const Value *item = self.map().find(*key);
  const Value *otherwise = arguments.find(1, "default");
  return item ? *item : otherwise ? *otherwise : Value::none();
}

static Value copy(Interpreter &interpreter, const Value &self,
                  const Arguments &) {
  return self.is(Kind::map) ? interpreter.makeMap(self.map().entries)
                            : interpreter.makeList(self.list().items);
}

static Value indexOf(Interpreter &interpreter, const Value &self,
                     const Arguments &arguments) {
  const auto &items = self.list().items;
  for (size_t i = 0; i < items.size() && !arguments.list.empty(); ++i)
    if (areEqual(items[i], arguments.list[0]))
      return Value(int64_t(i));
  return interpreter.fail("a list has no such item");
}

static Value countIn(Interpreter &, const Value &self,
                     const Arguments &arguments) {
  return Value(
      int64_t(std::ranges::count_if(self.list().items, [&](const Value &item) {
        return !arguments.list.empty() && areEqual(item, arguments.list[0]);
      })));
}

Value Interpreter::methodOf(const Value &value, const std::string &name) {
  if (value.is(Kind::text))
    return textMethodOf(*this, value, name);
  static constexpr std::pair<std::string_view, Function::Native> ofMaps[] = {
      {"items", pairs},
      {"keys", keys},
      {"values", values},
      {"get", get},
      {"copy", copy}};
  static constexpr std::pair<std::string_view, Function::Native> ofLists[] = {
      {"index", indexOf}, {"count", countIn}, {"copy", copy}};
  if (value.is(Kind::map) && !value.map().isNamespace)
    for (auto [known, method] : ofMaps)
      if (known == name)
        return makeFunction(method, value);
  if (value.is(Kind::list))
    for (auto [known, method] : ofLists)
      if (known == name)
        return makeFunction(method, value);
  // Python has them, and a sandbox forbids to call them.
  for (std::string_view changes : {"append", "extend", "insert", "pop",
                                   "update", "remove", "clear", "setdefault"})
    if (name == changes && (value.is(Kind::list) || value.is(Kind::map)) &&
        !(value.is(Kind::map) && value.map().find(std::string_view(name))))
      return fail(std::string("'") + value.typeName() + "." + name +
                  "' would change the conversation, which templates must not");
  return {};
}
