//===- Interpreter.h - Run templates --------------------------------------===//

#ifndef FRIT_TOOLS_TOKENIZER_JINJA_INTERPRETER_H
#define FRIT_TOOLS_TOKENIZER_JINJA_INTERPRETER_H

#include "tools/support/Fault.h"
#include "tools/tokenizer/jinja/Syntax.h"

namespace frit::jinja {

/// Names that statements set; of a loop, a macro or the whole template.
struct Scope {
  Scope *parent = nullptr;
  std::vector<std::pair<std::string, Value>> names;

  void set(const std::string &name, Value value);
};

/// Holds what values refer to.
struct Memory {
  std::deque<List> lists;
  std::deque<Map> maps;
  std::deque<Function> functions;
  std::deque<Scope> scopes;
};

/// Most levels of statements, expressions and calls in one another.
inline constexpr int kMostLevels = 400;

/// Runs a template once. After the first fault everything returns at once.
/// Steps, depth and what is made are limited, since templates come with models.
class Interpreter {
public:
  explicit Interpreter(Memory &memory);

  /// Defines a global name.
  void define(std::string name, Value value);
  tools::Fault run(const Block &block, std::string &output);

  Value makeText(std::string text);
  Value makeList(std::vector<Value> items, bool isTuple = false);
  Value makeMap(std::vector<std::pair<Value, Value>> entries = {});
  Value makeFunction(Function::Native native, Value self = {});

  /// Reports the first fault, with the line of what runs; returns no value.
  Value fail(const std::string &message);
  bool hasFailed() const { return bool(fault); }
  /// Counts work; false after a fault, or if it was too much.
  bool work(size_t amount = 1);

  Value call(const Value &callee, const Arguments &arguments);
  /// Sets `items` to what a loop over the value has. False after a fault.
  bool iterate(const Value &value, std::vector<Value> &items);
  /// Returns an item, an attribute, or an undefined value.
  Value itemOf(const Value &value, const Value &key);
  Value attributeOf(const Value &value, const std::string &name);
  /// Returns a method; undefined if values of that kind have none of that name.
  Value methodOf(const Value &value, const std::string &name);
  Value applyFilter(const std::string &name, const Value &value,
                    const Arguments &arguments);
  bool applyTest(const std::string &name, const Value &value,
                 const Arguments &arguments);
  Value compute(const std::string &sign, const Value &x, const Value &y);
  bool relate(const std::string &relation, const Value &x, const Value &y);

private:
  enum class Flow { on, leave, next };

  Flow runBlock(const Block &block, Scope &scope, std::string &output);
  Flow runStatement(const Statement &statement, Scope &scope,
                    std::string &output);
  Flow runLoop(const Statement &statement, Scope &scope, std::string &output);
  void runSet(const Statement &statement, Scope &scope);
  void assign(const std::vector<std::string> &targets, const Value &value,
              Scope &scope);
  Value makeMacro(const Macro &macro, Scope &scope);
  Value callMacro(const Function &function, const Arguments &arguments);
  std::string capture(const Block &block, Scope &scope);
  void append(std::string &output, const std::string &text);

  Value evaluate(const Expr &expr, Scope &scope);
  Value evaluateParts(const Expr &expr, Scope &scope);
  Value evaluateBinary(const Expr &expr, Scope &scope);
  Value evaluateCompare(const Expr &expr, Scope &scope);
  Value evaluateSlice(const Expr &expr, Scope &scope);
  Value lookUp(const std::string &name, const Scope &scope) const;
  Arguments evaluateArguments(const CallArguments &arguments, Scope &scope);

  Memory &memory;
  Scope globals;
  tools::Fault fault;
  int line = 0, depth = 0;
  size_t steps = 0;
};

/// Defines range, dict, namespace, raise_exception, strftime_now and others.
void defineFunctions(Interpreter &interpreter);

/// Returns a method of a text; undefined if it has none of that name.
Value textMethodOf(Interpreter &interpreter, const Value &value,
                   const std::string &name);

/// Python's characters of a text, and their number.
std::vector<std::string_view> charactersOf(std::string_view text);
size_t lengthOf(std::string_view text);
/// Removes characters from the ends: those of `which`, else white space.
std::string strip(std::string_view text, bool left, bool right,
                  const Value *which);
std::string replaceAll(const std::string &text, const std::string &from,
                       const std::string &to, int64_t most);

} // namespace frit::jinja

#endif // FRIT_TOOLS_TOKENIZER_JINJA_INTERPRETER_H
