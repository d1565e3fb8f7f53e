//===- Interpreter.cpp - Run the statements of templates ------------------===//

#include "tools/tokenizer/jinja/Interpreter.h"

using namespace frit;
using namespace frit::jinja;
using tools::Fault;

/// Bounds of one rendering: steps, each of some 100 ns at most, and bytes of
/// one text.
static constexpr size_t kMostSteps = 20'000'000, kMostBytes = 32 << 20;

void Scope::set(const std::string &name, Value value) {
  for (auto &[known, old] : names)
    if (known == name) {
      old = std::move(value);
      return;
    }
  names.emplace_back(name, std::move(value));
}

Interpreter::Interpreter(Memory &memory) : memory(memory) {
  defineFunctions(*this);
}

void Interpreter::define(std::string name, Value value) {
  globals.set(name, std::move(value));
}

Value Interpreter::fail(const std::string &message) {
  if (!fault)
    fault = Fault("line " + std::to_string(line) + ": " + message);
  return {};
}

bool Interpreter::work(size_t amount) {
  steps += amount;
  if (steps > kMostSteps)
    fail("it takes too many steps");
  return !fault;
}

Value Interpreter::makeText(std::string text) {
  if (text.size() > kMostBytes)
    return fail("it makes a text of more than 32 MiB");
  work(1 + text.size() / 64);
  return Value(std::move(text));
}

Value Interpreter::makeList(std::vector<Value> items, bool isTuple) {
  work(1 + items.size());
  return Value(&memory.lists.emplace_back(List{std::move(items), isTuple}));
}

Value Interpreter::makeMap(std::vector<std::pair<Value, Value>> entries) {
  work(1 + entries.size());
  return Value(&memory.maps.emplace_back(Map{.entries = std::move(entries)}));
}

Value Interpreter::makeFunction(Function::Native native, Value self) {
  work();
  return Value(&memory.functions.emplace_back(
      Function{.native = native, .self = std::move(self)}));
}

Value Interpreter::makeMacro(const Macro &macro, Scope &scope) {
  work();
  return Value(&memory.functions.emplace_back(
      Function{.macro = &macro, .scope = &scope}));
}

//===----------------------------------------------------------------------===//
// Statements
//===----------------------------------------------------------------------===//

Fault Interpreter::run(const Block &block, std::string &output) {
  Scope &scope = memory.scopes.emplace_back(Scope{.parent = &globals});
  runBlock(block, scope, output);
  return fault;
}

void Interpreter::append(std::string &output, const std::string &text) {
  if (!work(1 + text.size() / 64))
    return;
  if (output.size() + text.size() > kMostBytes) {
    fail("it writes more than 32 MiB");
    return;
  }
  output += text;
}

Interpreter::Flow Interpreter::runBlock(const Block &block, Scope &scope,
                                        std::string &output) {
  if (++depth > kMostLevels)
    fail("it is nested too deep");
  Flow flow = Flow::on;
  for (const auto &statement : block) {
    line = statement->line;
    if (!work())
      break;
    flow = runStatement(*statement, scope, output);
    if (flow != Flow::on)
      break;
  }
  --depth;
  return flow;
}

std::string Interpreter::capture(const Block &block, Scope &scope) {
  std::string text;
  runBlock(block, scope, text);
  return text;
}

Interpreter::Flow Interpreter::runStatement(const Statement &statement,
                                            Scope &scope, std::string &output) {
  switch (statement.kind) {
  case StatementKind::text:
    append(output, statement.text);
    return Flow::on;
  case StatementKind::output: {
    Value value = evaluate(*statement.value, scope);
    if (!fault)
      append(output, textOf(value));
    return Flow::on;
  }
  case StatementKind::set:
  case StatementKind::setMember:
    runSet(statement, scope);
    return Flow::on;
  case StatementKind::choose: {
    bool holds = isTrue(evaluate(*statement.value, scope));
    if (fault)
      return Flow::on;
    return runBlock(holds ? statement.body : statement.otherwise, scope,
                    output);
  }
  case StatementKind::loop:
    return runLoop(statement, scope, output);
  case StatementKind::macro:
    scope.set(statement.macro.name, makeMacro(statement.macro, scope));
    return Flow::on;
  case StatementKind::with: {
    Scope &inner = memory.scopes.emplace_back(Scope{.parent = &scope});
    for (size_t i = 0; i < statement.targets.size(); ++i)
      inner.set(statement.targets[i], evaluate(*statement.values[i], scope));
    return runBlock(statement.body, inner, output);
  }
  case StatementKind::filterBlock: {
    Scope &inner = memory.scopes.emplace_back(Scope{.parent = &scope});
    inner.set("", makeText(capture(statement.body, inner)));
    append(output, textOf(evaluate(*statement.value, inner)));
    return Flow::on;
  }
  case StatementKind::callBlock: {
    const Expr &called = *statement.value;
    Value callee = evaluate(*called.parts[0], scope);
    Arguments arguments = evaluateArguments(called.arguments, scope);
    arguments.named.emplace_back("caller", makeMacro(statement.macro, scope));
    Value made = fault ? Value() : call(callee, arguments);
    if (!fault)
      append(output, textOf(made));
    return Flow::on;
  }
  case StatementKind::leave:
    return Flow::leave;
  case StatementKind::next:
    return Flow::next;
  }
  return Flow::on;
}

void Interpreter::assign(const std::vector<std::string> &targets,
                         const Value &value, Scope &scope) {
  if (targets.size() == 1)
    return scope.set(targets[0], value);
  std::vector<Value> items;
  if (!iterate(value, items))
    return;
  if (items.size() != targets.size()) {
    fail("there are " + std::to_string(items.size()) + " values for " +
         std::to_string(targets.size()) + " names");
    return;
  }
  for (size_t i = 0; i < items.size(); ++i)
    scope.set(targets[i], items[i]);
}

void Interpreter::runSet(const Statement &statement, Scope &scope) {
  Value value;
  if (statement.value) {
    value = evaluate(*statement.value, scope);
  } else {
    Scope &inner = memory.scopes.emplace_back(Scope{.parent = &scope});
    value = makeText(capture(statement.body, inner));
  }
  if (fault)
    return;
  if (statement.kind == StatementKind::set)
    return assign(statement.targets, value, scope);
  Value object = lookUp(statement.targets[0], scope);
  if (!object.is(Kind::map) || !object.map().isNamespace) {
    fail("only attributes of a namespace can be set");
    return;
  }
  object.map().set(Value(statement.text), value);
}

/// Returns the n-th argument, over and over.
static Value cycle(Interpreter &interpreter, const Value &self,
                   const Arguments &arguments) {
  if (arguments.list.empty())
    return interpreter.fail("cycle() has no values");
  const Value *index = self.map().find(std::string_view("index0"));
  return arguments.list[size_t(index->whole()) % arguments.list.size()];
}

Interpreter::Flow Interpreter::runLoop(const Statement &statement, Scope &scope,
                                       std::string &output) {
  std::vector<Value> items;
  if (!iterate(evaluate(*statement.value, scope), items))
    return Flow::on;
  Scope &inner = memory.scopes.emplace_back(Scope{.parent = &scope});
  if (statement.condition) {
    std::vector<Value> kept;
    for (const Value &item : items) {
      assign(statement.targets, item, inner);
      if (isTrue(evaluate(*statement.condition, inner)))
        kept.push_back(item);
      if (!work())
        return Flow::on;
    }
    items = std::move(kept);
  }
  if (items.empty())
    return runBlock(statement.otherwise, scope, output);
  Value loop = makeMap();
  auto member = [&](const char *name, Value value) {
    loop.map().set(Value(std::string(name)), std::move(value));
  };
  const auto count = int64_t(items.size());
  member("length", Value(count));
  for (int64_t i = 0; i < count && !fault; ++i) {
    inner.names.clear();
    member("index0", Value(i));
    member("index", Value(i + 1));
    member("revindex0", Value(count - 1 - i));
    member("revindex", Value(count - i));
    member("first", Value(i == 0));
    member("last", Value(i + 1 == count));
    member("previtem", i ? items[size_t(i - 1)] : Value::undefined("previtem"));
    member("nextitem",
           i + 1 < count ? items[size_t(i + 1)] : Value::undefined("nextitem"));
    if (!i)
      member("cycle", makeFunction(cycle, loop));
    inner.set("loop", loop);
    assign(statement.targets, items[size_t(i)], inner);
    if (!work(12) || runBlock(statement.body, inner, output) == Flow::leave)
      break;
  }
  return Flow::on;
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

Value Interpreter::callMacro(const Function &function,
                             const Arguments &arguments) {
  const Macro &macro = *function.macro;
  Scope &scope = memory.scopes.emplace_back(Scope{.parent = function.scope});
  if (arguments.list.size() > macro.parameters.size())
    return fail("macro '" + macro.name + "' takes " +
                std::to_string(macro.parameters.size()) + " arguments, not " +
                std::to_string(arguments.list.size()));
  for (const auto &[name, value] : arguments.named) {
    bool isKnown = name == "caller";
    for (const auto &[parameter, otherwise] : macro.parameters)
      isKnown |= parameter == name;
    if (!isKnown)
      return fail("macro '" + macro.name + "' takes no argument '" + name +
                  "'");
  }
  for (size_t i = 0; i < macro.parameters.size(); ++i) {
    const auto &[name, otherwise] = macro.parameters[i];
    const Value *given = arguments.find(i, name);
    scope.set(name, given       ? *given
                    : otherwise ? evaluate(*otherwise, scope)
                                : Value::undefined(name));
  }
  if (const Value *caller = arguments.find(SIZE_MAX, "caller"))
    scope.set("caller", *caller);
  int from = line;
  std::string text = capture(macro.body, scope);
  if (!fault)
    line = from;
  return makeText(std::move(text));
}

Value Interpreter::call(const Value &callee, const Arguments &arguments) {
  if (!work())
    return {};
  if (callee.is(Kind::undefined))
    return fail("'" + callee.name() + "' is undefined");
  if (!callee.is(Kind::function))
    return fail(std::string("'") + callee.typeName() +
                "' object is not callable");
  const Function &function = callee.function();
  return function.macro ? callMacro(function, arguments)
                        : function.native(*this, function.self, arguments);
}
