//===- Syntax.h - Templates as trees --------------------------------------===//

#ifndef FRIT_TOOLS_TOKENIZER_JINJA_SYNTAX_H
#define FRIT_TOOLS_TOKENIZER_JINJA_SYNTAX_H

#include "tools/tokenizer/jinja/Value.h"

namespace frit::jinja {

struct Expr;
using ExprPtr = std::unique_ptr<Expr>;

/// Arguments of a call, a filter or a test. `spreads[i]` says that `list[i]` is
/// `*list`, whose items are arguments; an entry of `named` without a name is
/// `**map`, whose entries are named arguments.
struct CallArguments {
  std::vector<ExprPtr> list;
  std::vector<bool> spreads;
  std::vector<std::pair<std::string, ExprPtr>> named;
};

enum class ExprKind : uint8_t {
  literal,   ///< value
  name,      ///< text
  list,      ///< parts
  tuple,     ///< parts
  map,       ///< parts: key, value, …
  attribute, ///< parts[0].text
  item,      ///< parts[0][parts[1]]
  slice,     ///< parts[0][parts[1]:parts[2]:parts[3]], each may be null
  call,      ///< parts[0](arguments)
  filter,    ///< parts[0] | text(arguments)
  test,      ///< parts[0] is text(arguments)
  unary,     ///< text parts[0]: "not", "-", "+"
  binary,    ///< parts[0] text parts[1]: arithmetic, "and", "or", "~"
  compare,   ///< parts[0] names[0] parts[1] names[1] parts[2] …
  choice     ///< parts[0] if parts[1] else parts[2], which may be null
};

struct Expr {
  ExprKind kind;
  int line;
  std::string text;
  Value value;
  std::vector<ExprPtr> parts;
  std::vector<std::string> names;
  CallArguments arguments;
};

struct Statement;
using Block = std::vector<std::unique_ptr<Statement>>;

struct Macro {
  std::string name;
  std::vector<std::pair<std::string, ExprPtr>> parameters; ///< with defaults
  Block body;
};

enum class StatementKind : uint8_t {
  text,        ///< text
  output,      ///< value
  set,         ///< targets = value, or the output of body if value is null
  setMember,   ///< targets[0].text = value
  choose,      ///< value: body, else otherwise
  loop,        ///< for targets in value if condition: body, else otherwise
  macro,       ///< macro
  with,        ///< a scope in which targets are parts of value: body
  filterBlock, ///< value is a filter of the output of body
  callBlock,   ///< value is a call of a macro, which may call `macro`
  leave,       ///< break
  next         ///< continue
};

struct Statement {
  StatementKind kind;
  int line;
  std::string text;
  std::vector<std::string> targets;
  ExprPtr value, condition;
  std::vector<ExprPtr> values;
  Block body, otherwise;
  Macro macro;
};

} // namespace frit::jinja

#endif // FRIT_TOOLS_TOKENIZER_JINJA_SYNTAX_H
