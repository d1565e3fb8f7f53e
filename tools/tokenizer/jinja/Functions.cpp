//===- Functions.cpp - What all templates can call ------------------------===//

#include "tools/tokenizer/Text.h"
#include "tools/tokenizer/jinja/Interpreter.h"

#include <ctime>

using namespace frit;
using namespace frit::jinja;

static Value range(Interpreter &interpreter, const Value &,
                   const Arguments &arguments) {
  // As many as Jinja's sandbox allows.
  constexpr int64_t most = 100'000;
  int64_t given[3] = {0, 0, 1};
  size_t count = arguments.list.size();
  if (count < 1 || count > 3)
    return interpreter.fail("range() takes 1 to 3 numbers");
  for (size_t i = 0; i < count; ++i) {
    const Value &one = arguments.list[i];
    if (!one.isWhole() || std::abs(double(one.whole())) > 0x1p53)
      return interpreter.fail("range() takes integers");
    given[count == 1 ? 1 : i] = one.whole();
  }
  auto [first, last, step] = given;
  if (!step)
    return interpreter.fail("range() arg 3 must not be zero");
  std::vector<Value> items;
  for (int64_t at = first; step > 0 ? at < last : at > last; at += step) {
    if (int64_t(items.size()) == most)
      return interpreter.fail("a range has more than 100000 numbers");
    items.push_back(Value(at));
  }
  return interpreter.makeList(std::move(items));
}

/// Makes a map of pairs or of another map, and of named arguments.
static Value dict(Interpreter &interpreter, const Value &,
                  const Arguments &arguments) {
  Value map = interpreter.makeMap();
  if (!arguments.list.empty()) {
    const Value &given = arguments.list[0];
    std::vector<Value> items, pair;
    if (given.is(Kind::map))
      map.map().entries = given.map().entries;
    else if (interpreter.iterate(given, items))
      for (const Value &item : items) {
        pair.clear();
        if (!interpreter.iterate(item, pair) || pair.size() != 2)
          return interpreter.fail("dict() needs pairs");
        map.map().set(pair[0], pair[1]);
      }
  }
  for (const auto &[name, value] : arguments.named)
    map.map().set(Value(name), value);
  return map;
}

static Value makeNamespace(Interpreter &interpreter, const Value &self,
                           const Arguments &arguments) {
  Value map = dict(interpreter, self, arguments);
  if (map.is(Kind::map))
    map.map().isNamespace = true;
  return map;
}

static Value raiseException(Interpreter &interpreter, const Value &,
                            const Arguments &arguments) {
  return interpreter.fail("the template refuses the conversation: " +
                          (arguments.list.empty()
                               ? std::string("without a reason")
                               : textOf(arguments.list[0])));
}

/// Writes the time of now as strftime does.
static Value strftimeNow(Interpreter &interpreter, const Value &,
                         const Arguments &arguments) {
  const Value *format = arguments.find(0, "format");
  constexpr size_t most = 4096;
  if (!format || !format->is(Kind::text) || format->text().size() > most / 8)
    return interpreter.fail("strftime_now() needs a short format");
  if (format->text().empty())
    return *format;
  std::time_t now = std::time(nullptr);
  std::tm local = {};
  localtime_r(&now, &local);
  char buffer[most];
  size_t size = std::strftime(buffer, most, format->text().c_str(), &local);
  return interpreter.makeText(
      tokenizer::replaceInvalid(std::string_view(buffer, size)));
}

/// An item of cycler() or joiner(): the text that comes before all but the
/// first.
static Value joinNext(Interpreter &, const Value &self, const Arguments &) {
  List &state = self.list();
  Value text = state.items[0];
  state.items[0] = state.items[1];
  return text;
}

static Value joiner(Interpreter &interpreter, const Value &,
                    const Arguments &arguments) {
  const Value *given = arguments.find(0, "sep");
  return interpreter.makeFunction(
      joinNext,
      interpreter.makeList(
          {Value(std::string()), given ? *given : Value(std::string(", "))}));
}

void jinja::defineFunctions(Interpreter &interpreter) {
  static constexpr std::pair<const char *, Function::Native> functions[] = {
      {"range", range},
      {"dict", dict},
      {"namespace", makeNamespace},
      {"joiner", joiner},
      {"raise_exception", raiseException},
      {"strftime_now", strftimeNow}};
  for (auto [name, native] : functions)
    interpreter.define(name, interpreter.makeFunction(native));
}
