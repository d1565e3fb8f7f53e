//===- Value.h - Values of templates --------------------------------------===//
//
// As Python has them. Lists, maps and functions are held by the Memory of a
// rendering; values refer to them.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_TOOLS_TOKENIZER_JINJA_VALUE_H
#define FRIT_TOOLS_TOKENIZER_JINJA_VALUE_H

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace frit::jinja {

struct List;
struct Map;
struct Function;

enum class Kind : uint8_t {
  undefined,
  none,
  boolean,
  integer,
  real,
  text,
  list,
  map,
  function
};

/// An undefined value has the name that was looked for, for messages.
class Value {
public:
  Value() = default;
  static Value undefined(std::string name);
  static Value none() { return ofKind(Kind::none); }
  explicit Value(bool value) : number(value), type(Kind::boolean) {}
  explicit Value(int64_t value) : number(value), type(Kind::integer) {}
  explicit Value(double value) : fraction(value), type(Kind::real) {}
  explicit Value(std::string value)
      : characters(std::make_shared<const std::string>(std::move(value))),
        type(Kind::text) {}
  explicit Value(std::string_view value) : Value(std::string(value)) {}
  Value(const char *) = delete;
  explicit Value(List *value) : items(value), type(Kind::list) {}
  explicit Value(Map *value) : members(value), type(Kind::map) {}
  explicit Value(Function *value) : callee(value), type(Kind::function) {}

  Kind kind() const { return type; }
  bool is(Kind kind) const { return type == kind; }
  /// Python's bool is an int.
  bool isWhole() const { return is(Kind::integer) || is(Kind::boolean); }
  bool isNumber() const { return isWhole() || is(Kind::real); }

  /// Each is for values of that kind.
  const std::string &text() const { return *characters; }
  int64_t whole() const { return number; }
  double real() const { return is(Kind::real) ? fraction : double(number); }
  List &list() const { return *items; }
  Map &map() const { return *members; }
  Function &function() const { return *callee; }

  /// The name of an undefined value; may be empty.
  std::string name() const { return characters ? *characters : ""; }
  /// What Python calls the type.
  const char *typeName() const;

private:
  static Value ofKind(Kind kind) {
    Value value;
    value.type = kind;
    return value;
  }

  union {
    int64_t number = 0;
    double fraction;
    List *items;
    Map *members;
    Function *callee;
  };
  std::shared_ptr<const std::string> characters;
  Kind type = Kind::undefined;
};

struct List {
  std::vector<Value> items;
  bool isTuple = false;
};

/// Keys keep their order.
struct Map {
  std::vector<std::pair<Value, Value>> entries;
  bool isNamespace = false; ///< one that templates change

  const Value *find(const Value &key) const;
  const Value *find(std::string_view key) const;
  void set(const Value &key, Value value);
};

struct Arguments {
  std::vector<Value> list;
  std::vector<std::pair<std::string, Value>> named;

  /// Returns the argument at a place, or of a name; null if there is none.
  const Value *find(size_t index, std::string_view name) const;
};

class Interpreter;
struct Macro;
struct Scope;

/// A macro, or something of this program, perhaps of an object.
struct Function {
  using Native = Value (*)(Interpreter &, const Value &self, const Arguments &);
  Native native = nullptr;
  Value self;
  const Macro *macro = nullptr;
  Scope *scope = nullptr; ///< where the macro was defined
};

/// Python's truth.
bool isTrue(const Value &value);
/// Python's ==, of values nested up to a depth; false beyond it.
bool areEqual(const Value &x, const Value &y, int depth = 64);
/// Python's order of numbers, texts and lists; none if it has none.
std::optional<int> compare(const Value &x, const Value &y, int depth = 64);

/// Python's str(), and repr().
std::string textOf(const Value &value);
std::string reprOf(const Value &value, int depth = 64);
std::string textOf(double value);

/// How json.dumps writes.
struct JsonStyle {
  std::optional<int64_t> indent;
  std::string between = ", ", after = ": ";
  bool isAscii = false, sortsKeys = false;
};
/// Returns JSON; none for what JSON does not have, or what is too deep.
std::optional<std::string> jsonOf(const Value &value, const JsonStyle &style,
                                  int depth = 0);

} // namespace frit::jinja

#endif // FRIT_TOOLS_TOKENIZER_JINJA_VALUE_H
