//===- Parser.cpp - Parse statements of templates -------------------------===//

#include "tools/tokenizer/jinja/Parser.h"
#include "tools/tokenizer/jinja/ExprParser.h"

#include <algorithm>

using namespace frit;
using namespace frit::jinja;
using tools::Fault;

namespace {
class Parser : ExprParser {
public:
  explicit Parser(const std::vector<Token> &tokens) : ExprParser(tokens) {}

  Fault run(Block &block) {
    parseBlock(block, {});
    return fault;
  }

private:
  using Ends = std::vector<std::string_view>;

  void parseBlock(Block &block, const Ends &ends);
  void parseBody(Block &block, const Ends &ends);
  void parseStatement(Block &block);
  void parseSet(Statement &statement);
  void parseIf(Statement &statement);
  void parseFor(Statement &statement);
  void parseMacro(Statement &statement);
  void parseParameters(Macro &macro);
  void parseCall(Statement &statement);
  void parseWith(Statement &statement);
  void parseFilter(Statement &statement);
  void parseTargets(std::vector<std::string> &targets);
  bool isEnd(const Ends &ends) const {
    return isName() && std::ranges::count(ends, now().text);
  }
  /// Parses the word that ended a body, and the end of its tag.
  void endTag() {
    next();
    expect(TokenKind::close, "%}");
  }
  int loops = 0;
};
} // namespace

/// Parses up to a tag with one of the words `ends`, after its {%.
void Parser::parseBlock(Block &block, const Ends &ends) {
  if (!enter())
    return;
  while (!fault) {
    const Token &token = now();
    if (token.kind == TokenKind::end) {
      if (!ends.empty())
        fail("the template ends before '" + std::string(ends.back()) + "'");
      break;
    }
    auto add = [&](StatementKind kind) -> Statement & {
      return *block.emplace_back(
          new Statement{.kind = kind, .line = token.line});
    };
    if (token.kind == TokenKind::data) {
      add(StatementKind::text).text = token.text;
      next();
    } else if (token.text == "{{") {
      next();
      ExprPtr value = parseTuple();
      expect(TokenKind::close, "}}");
      add(StatementKind::output).value = std::move(value);
    } else {
      next();
      if (isEnd(ends))
        break;
      parseStatement(block);
    }
  }
  leave();
}

/// Parses the end of a tag, and what follows up to a tag with one of the words.
void Parser::parseBody(Block &block, const Ends &ends) {
  expect(TokenKind::close, "%}");
  if (!fault)
    parseBlock(block, ends);
}

void Parser::parseTargets(std::vector<std::string> &targets) {
  bool isEnclosed = accept("(");
  do {
    if (isSign(")") || isWord("in") || isSign("="))
      break;
    targets.push_back(expectName());
  } while (!fault && accept(","));
  if (isEnclosed)
    expect(TokenKind::sign, ")");
}

void Parser::parseSet(Statement &statement) {
  parseTargets(statement.targets);
  if (accept(".")) {
    statement.kind = StatementKind::setMember;
    statement.text = expectName();
  }
  if (accept("=")) {
    statement.value = parseTuple();
    expect(TokenKind::close, "%}");
    return;
  }
  if (statement.targets.size() != 1 ||
      statement.kind == StatementKind::setMember)
    return fail("expected '='");
  if (accept("|"))
    return fail("filters of a block that is set are not supported");
  parseBody(statement.body, {"endset"});
  endTag();
}

void Parser::parseIf(Statement &statement) {
  statement.value = parseExpr();
  parseBody(statement.body, {"elif", "else", "endif"});
  if (fault)
    return;
  if (isWord("elif")) {
    auto *inner =
        new Statement{.kind = StatementKind::choose, .line = now().line};
    statement.otherwise.emplace_back(inner);
    next();
    if (!enter())
      return;
    parseIf(*inner);
    leave();
    return;
  }
  if (isWord("else")) {
    next();
    parseBody(statement.otherwise, {"endif"});
  }
  endTag();
}

void Parser::parseFor(Statement &statement) {
  parseTargets(statement.targets);
  if (!acceptWord("in"))
    return fail("expected 'in'");
  statement.value = parseTuple(/*hasChoices=*/false);
  if (acceptWord("if"))
    statement.condition = parseExpr();
  if (isWord("recursive"))
    return fail("recursive loops are not supported");
  ++loops;
  parseBody(statement.body, {"else", "endfor"});
  --loops;
  if (!fault && isWord("else")) {
    next();
    parseBody(statement.otherwise, {"endfor"});
  }
  endTag();
}

void Parser::parseParameters(Macro &macro) {
  expect(TokenKind::sign, "(");
  while (!fault && !isSign(")")) {
    std::string name = expectName();
    macro.parameters.emplace_back(name, accept("=") ? parseExpr() : nullptr);
    if (!accept(","))
      break;
  }
  expect(TokenKind::sign, ")");
}

void Parser::parseMacro(Statement &statement) {
  statement.macro.name = expectName();
  parseParameters(statement.macro);
  int around = std::exchange(loops, 0);
  parseBody(statement.macro.body, {"endmacro"});
  loops = around;
  endTag();
}

void Parser::parseCall(Statement &statement) {
  statement.macro.name = "caller";
  if (isSign("("))
    parseParameters(statement.macro);
  statement.value = parseExpr();
  if (!fault && statement.value->kind != ExprKind::call)
    return fail("expected a call");
  int around = std::exchange(loops, 0);
  parseBody(statement.macro.body, {"endcall"});
  loops = around;
  endTag();
}

void Parser::parseWith(Statement &statement) {
  while (!fault && now().kind != TokenKind::close) {
    statement.targets.push_back(expectName());
    expect(TokenKind::sign, "=");
    statement.values.push_back(parseExpr());
    if (!accept(","))
      break;
  }
  parseBody(statement.body, {"endwith"});
  endTag();
}

void Parser::parseFilter(Statement &statement) {
  // The filters' innermost operand is the output of the body.
  statement.value = parseFilters(makeExpr(ExprKind::name));
  parseBody(statement.body, {"endfilter"});
  endTag();
}

void Parser::parseStatement(Block &block) {
  if (!isName())
    return fail("expected a statement");
  std::string word = now().text;
  auto *statement =
      new Statement{.kind = StatementKind::choose, .line = now().line};
  block.emplace_back(statement);
  next();
  auto as = [&](StatementKind kind) -> Statement & {
    statement->kind = kind;
    return *statement;
  };
  if (word == "set")
    return parseSet(as(StatementKind::set));
  if (word == "if")
    return parseIf(*statement);
  if (word == "for")
    return parseFor(as(StatementKind::loop));
  if (word == "macro")
    return parseMacro(as(StatementKind::macro));
  if (word == "call")
    return parseCall(as(StatementKind::callBlock));
  if (word == "with")
    return parseWith(as(StatementKind::with));
  if (word == "filter")
    return parseFilter(as(StatementKind::filterBlock));
  if (word == "break" || word == "continue") {
    if (!loops)
      return fail("'" + word + "' outside of a loop");
    as(word == "break" ? StatementKind::leave : StatementKind::next);
    expect(TokenKind::close, "%}");
    return;
  }
  if (word == "generation") { // marks what the assistant says
    parseBody(as(StatementKind::with).body, {"endgeneration"});
    return endTag();
  }
  fail("'" + word + "' is not supported here");
}

Fault jinja::parse(std::string_view source, Block &block) {
  std::vector<Token> tokens;
  if (Fault fault = cut(source, tokens))
    return fault;
  return Parser(tokens).run(block);
}
