//===- ListFilters.cpp - Filters of lists and maps ------------------------===//

#include "tools/tokenizer/jinja/Filtered.h"
#include "tools/tokenizer/jinja/Letters.h"

#include <algorithm>
#include <charconv>

using namespace frit;
using namespace frit::jinja;

Value Filtered::memberOf(const Value &item, const Value &path) const {
  if (path.isWhole())
    return interpreter.itemOf(item, path);
  Value value = item;
  std::string text = textOf(path);
  for (size_t at = 0; at <= text.size() && !interpreter.hasFailed();) {
    size_t end = std::min(text.find('.', at), text.size());
    std::string part = text.substr(at, end - at);
    int64_t number = 0;
    bool isNumber =
        areDigits(part) &&
        std::from_chars(part.data(), part.data() + part.size(), number).ec ==
            std::errc();
    value = interpreter.itemOf(value, isNumber ? Value(number) : Value(part));
    at = end + 1;
  }
  return value;
}

static Value lengthOfValue(const Filtered &f) {
  switch (f.value.kind()) {
  case Kind::undefined:
    return Value(int64_t(0));
  case Kind::text:
    return Value(int64_t(lengthOf(f.value.text())));
  case Kind::list:
    return Value(int64_t(f.value.list().items.size()));
  case Kind::map:
    return Value(int64_t(f.value.map().entries.size()));
  default:
    return f.interpreter.fail(std::string("object of type '") +
                              f.value.typeName() + "' has no len()");
  }
}

static Value firstOf(const Filtered &f) {
  auto items = f.items();
  return items.empty() ? Value::undefined("first") : items.front();
}

static Value lastOf(const Filtered &f) {
  auto items = f.items();
  return items.empty() ? Value::undefined("last") : items.back();
}

static Value joinItems(const Filtered &f) {
  std::string text, mark = f.textAt(0, "d", "");
  const Value *path = f.argument(1, "attribute");
  bool isFirst = true;
  for (const Value &item : f.items()) {
    text +=
        (isFirst ? "" : mark) + textOf(path ? f.memberOf(item, *path) : item);
    if (!f.interpreter.work(1 + (mark.size() + text.size()) / 4096))
      break;
    isFirst = false;
  }
  return f.make(std::move(text));
}

static Value mapItems(const Filtered &f) {
  const Value *path = f.argument(SIZE_MAX, "attribute");
  const Value *otherwise = f.argument(SIZE_MAX, "default");
  std::vector<Value> result;
  Arguments rest;
  if (!path) {
    if (f.arguments.list.empty())
      return f.interpreter.fail("map needs a filter or an attribute");
    rest.list.assign(f.arguments.list.begin() + 1, f.arguments.list.end());
    rest.named = f.arguments.named;
  }
  for (const Value &item : f.items()) {
    Value made = path ? f.memberOf(item, *path)
                      : f.interpreter.applyFilter(textOf(f.arguments.list[0]),
                                                  item, rest);
    if (otherwise && made.is(Kind::undefined))
      made = *otherwise;
    result.push_back(made);
  }
  return f.interpreter.makeList(std::move(result));
}

/// Keeps items by a test, of a member if `hasMember`.
static Value keep(const Filtered &f, bool hasMember, bool wanted) {
  const auto &given = f.arguments.list;
  size_t first = hasMember ? 1 : 0;
  if (given.size() < first)
    return f.interpreter.fail("a filter needs an attribute");
  Arguments rest;
  if (given.size() > first + 1)
    rest.list.assign(given.begin() + long(first) + 1, given.end());
  std::vector<Value> result;
  for (const Value &item : f.items()) {
    Value tested = hasMember ? f.memberOf(item, given[0]) : item;
    bool holds =
        given.size() > first
            ? f.interpreter.applyTest(textOf(given[first]), tested, rest)
            : isTrue(tested);
    if (f.interpreter.hasFailed())
      return {};
    if (holds == wanted)
      result.push_back(item);
  }
  return f.interpreter.makeList(std::move(result));
}

static Value sortItems(const Filtered &f) {
  auto items = f.items();
  const Value *path = f.argument(2, "attribute");
  bool isSensitive = f.has(1, "case_sensitive");
  auto keyOf = [&](const Value &item) {
    Value key = path ? f.memberOf(item, *path) : item;
    return !isSensitive && key.is(Kind::text) ? Value(toLower(key.text()))
                                              : key;
  };
  std::vector<std::pair<Value, Value>> keyed;
  for (const Value &item : items)
    keyed.emplace_back(keyOf(item), item);
  for (size_t i = 1; i < keyed.size(); ++i)
    if (!compare(keyed[0].first, keyed[i].first))
      return f.interpreter.fail("a list of several types cannot be sorted");
  bool isReverse = f.has(0, "reverse");
  std::ranges::stable_sort(keyed, [&](const auto &x, const auto &y) {
    int order = compare(x.first, y.first).value_or(0);
    return isReverse ? order > 0 : order < 0;
  });
  f.interpreter.work(16 * items.size());
  for (size_t i = 0; i < items.size(); ++i)
    items[i] = keyed[i].second;
  return f.interpreter.makeList(std::move(items));
}

static Value reverseItems(const Filtered &f) {
  auto items = f.items();
  std::ranges::reverse(items);
  if (!f.value.is(Kind::text))
    return f.interpreter.makeList(std::move(items));
  std::string text;
  for (const Value &item : items)
    text += item.text();
  return f.make(std::move(text));
}

static Value uniqueItems(const Filtered &f) {
  std::vector<Value> result;
  for (const Value &item : f.items()) {
    auto lower = [](const Value &value) {
      return value.is(Kind::text) ? Value(toLower(value.text())) : value;
    };
    bool isKnown = std::ranges::any_of(result, [&](const Value &known) {
      return areEqual(lower(known), lower(item));
    });
    if (!f.interpreter.work(result.size()))
      return {};
    if (!isKnown)
      result.push_back(item);
  }
  return f.interpreter.makeList(std::move(result));
}

/// The least item, or the greatest.
static Value extreme(const Filtered &f, bool isLeast) {
  auto items = f.items();
  if (items.empty())
    return Value::undefined("item");
  Value best = items[0];
  for (const Value &item : items) {
    auto order = compare(item, best);
    if (!order)
      return f.interpreter.fail("items of several types have no order");
    if (isLeast ? *order < 0 : *order > 0)
      best = item;
  }
  return best;
}

static Value sumItems(const Filtered &f) {
  const Value *path = f.argument(0, "attribute");
  const Value *start = f.argument(1, "start");
  Value total = start ? *start : Value(int64_t(0));
  for (const Value &item : f.items())
    total = f.interpreter.compute("+", total,
                                  path ? f.memberOf(item, *path) : item);
  return total;
}

static Value sortMap(const Filtered &f) {
  if (!f.value.is(Kind::map))
    return f.interpreter.fail("dictsort is of a dict");
  auto entries = f.value.map().entries;
  bool byValue = f.textAt(1, "by", "key") == "value";
  bool isSensitive = f.has(0, "case_sensitive"),
       isReverse = f.has(2, "reverse");
  auto keyOf = [&](const auto &entry) {
    const Value &key = byValue ? entry.second : entry.first;
    return !isSensitive && key.is(Kind::text) ? Value(toLower(key.text()))
                                              : key;
  };
  std::ranges::stable_sort(entries, [&](const auto &x, const auto &y) {
    int order = compare(keyOf(x), keyOf(y)).value_or(0);
    return isReverse ? order > 0 : order < 0;
  });
  std::vector<Value> items;
  for (const auto &[key, value] : entries)
    items.push_back(f.interpreter.makeList({key, value}, /*isTuple=*/true));
  return f.interpreter.makeList(std::move(items));
}

static Value pairsOf(const Filtered &f) {
  if (f.value.is(Kind::undefined))
    return f.interpreter.makeList({});
  if (!f.value.is(Kind::map))
    return f.interpreter.fail("items is of a mapping");
  return f.interpreter.call(f.interpreter.methodOf(f.value, "items"), {});
}

std::span<const NamedFilter> jinja::listFilters() {
  static constexpr NamedFilter filters[] = {
      {"length", lengthOfValue},
      {"count", lengthOfValue},
      {"first", firstOf},
      {"last", lastOf},
      {"join", joinItems},
      {"map", mapItems},
      {"select", [](const Filtered &f) { return keep(f, false, true); }},
      {"reject", [](const Filtered &f) { return keep(f, false, false); }},
      {"selectattr", [](const Filtered &f) { return keep(f, true, true); }},
      {"rejectattr", [](const Filtered &f) { return keep(f, true, false); }},
      {"list",
       [](const Filtered &f) { return f.interpreter.makeList(f.items()); }},
      {"sort", sortItems},
      {"reverse", reverseItems},
      {"unique", uniqueItems},
      {"min", [](const Filtered &f) { return extreme(f, true); }},
      {"max", [](const Filtered &f) { return extreme(f, false); }},
      {"sum", sumItems},
      {"dictsort", sortMap},
      {"items", pairsOf},
  };
  return filters;
}
