//===- Tests.cpp - What follows "is" in templates -------------------------===//

#include "tools/tokenizer/jinja/Interpreter.h"
#include "tools/tokenizer/jinja/Letters.h"

using namespace frit;
using namespace frit::jinja;

namespace {
using Test = bool (*)(Interpreter &, const Value &, const Value &other);
}

/// Tests by a relation to the argument.
static constexpr std::pair<std::string_view, const char *> kRelations[] = {
    {"eq", "=="},         {"equalto", "=="}, {"==", "=="}, {"ne", "!="},
    {"!=", "!="},         {"lt", "<"},       {"<", "<"},   {"lessthan", "<"},
    {"gt", ">"},          {">", ">"},        {"le", "<="}, {"<=", "<="},
    {"greaterthan", ">"}, {"ge", ">="},      {">=", ">="}, {"in", "in"}};

template <Kind kind>
static bool is(Interpreter &, const Value &x, const Value &) {
  return x.is(kind);
}

/// Returns what is left of an integer; 0 after a fault.
static int64_t restOf(Interpreter &interpreter, const Value &x, int64_t by) {
  if (x.isWhole() && by && by != -1)
    return x.whole() % by;
  if (!x.isWhole() || !by)
    interpreter.fail("a test needs integers");
  return 0;
}

static constexpr std::pair<std::string_view, Test> kTests[] = {
    {"defined", [](Interpreter &, const Value &x,
                   const Value &) { return !x.is(Kind::undefined); }},
    {"undefined", is<Kind::undefined>},
    {"none", is<Kind::none>},
    {"boolean", is<Kind::boolean>},
    {"integer", is<Kind::integer>},
    {"float", is<Kind::real>},
    {"string", is<Kind::text>},
    // Python can call an undefined value, which fails then.
    {"callable",
     [](Interpreter &, const Value &x, const Value &) {
       return x.is(Kind::function) || x.is(Kind::undefined);
     }},
    {"number",
     [](Interpreter &, const Value &x, const Value &) { return x.isNumber(); }},
    {"true", [](Interpreter &, const Value &x,
                const Value &) { return x.is(Kind::boolean) && x.whole(); }},
    {"false", [](Interpreter &, const Value &x,
                 const Value &) { return x.is(Kind::boolean) && !x.whole(); }},
    {"mapping",
     [](Interpreter &, const Value &x, const Value &) {
       return x.is(Kind::map) && !x.map().isNamespace;
     }},
    {"iterable",
     [](Interpreter &, const Value &x, const Value &) {
       return x.is(Kind::undefined) || x.is(Kind::text) || x.is(Kind::list) ||
              (x.is(Kind::map) && !x.map().isNamespace);
     }},
    {"sequence",
     [](Interpreter &, const Value &x, const Value &) {
       return x.is(Kind::undefined) || x.is(Kind::text) || x.is(Kind::list) ||
              (x.is(Kind::map) && !x.map().isNamespace);
     }},
    {"odd", [](Interpreter &i, const Value &x,
               const Value &) { return restOf(i, x, 2) != 0; }},
    {"even", [](Interpreter &i, const Value &x,
                const Value &) { return restOf(i, x, 2) == 0; }},
    {"divisibleby",
     [](Interpreter &i, const Value &x, const Value &y) {
       return restOf(i, x, y.isWhole() ? y.whole() : 0) == 0;
     }},
    {"sameas",
     [](Interpreter &, const Value &x, const Value &y) {
       return x.kind() == y.kind() && areEqual(x, y);
     }},
    {"upper", [](Interpreter &, const Value &x,
                 const Value &) { return areUpper(textOf(x)); }},
    {"lower", [](Interpreter &, const Value &x,
                 const Value &) { return areLower(textOf(x)); }},
};

bool Interpreter::applyTest(const std::string &name, const Value &value,
                            const Arguments &arguments) {
  const Value *other = arguments.find(0, "other");
  for (auto [known, relation] : kRelations)
    if (known == name) {
      if (!other)
        fail("test '" + name + "' needs an argument");
      return other && relate(relation, value, *other);
    }
  for (auto [known, test] : kTests)
    if (known == name)
      return test(*this, value, other ? *other : Value());
  fail("there is no test '" + name + "'");
  return false;
}
