//===- ExprParser.h - Parse expressions of templates ----------------------===//

#ifndef FRIT_TOOLS_TOKENIZER_JINJA_EXPRPARSER_H
#define FRIT_TOOLS_TOKENIZER_JINJA_EXPRPARSER_H

#include "tools/tokenizer/jinja/Lexer.h"
#include "tools/tokenizer/jinja/Syntax.h"

namespace frit::jinja {

/// Reads tokens, the last of which is an end. After the first fault all
/// functions return at once, and results mean nothing.
class ExprParser {
protected:
  explicit ExprParser(const std::vector<Token> &tokens) : tokens(tokens) {}

  const Token &now() const { return tokens[at]; }
  void next() { at += at + 1 < tokens.size(); }
  bool isName() const { return now().kind == TokenKind::name; }
  bool isWord(std::string_view word) const {
    return isName() && now().text == word;
  }
  bool isSign(std::string_view sign) const {
    return now().kind == TokenKind::sign && now().text == sign;
  }
  bool accept(std::string_view sign);
  bool acceptWord(std::string_view word);
  void expect(TokenKind kind, std::string_view text);
  std::string expectName();
  void fail(const std::string &message);
  /// Goes one level deeper; false after a fault, or if it is too deep.
  bool enter();
  void leave() { --depth; }
  /// Counts the operators of a chain; false after a fault, or of too many.
  bool link(int &count);

  ExprPtr makeExpr(ExprKind kind) const;
  /// Parses an expression, or several as a tuple.
  ExprPtr parseTuple(bool hasChoices = true);
  ExprPtr parseExpr();
  /// Parses a filter's name and arguments, and filters after it.
  ExprPtr parseFilters(ExprPtr operand);

  tools::Fault fault;

private:
  ExprPtr parseOr();
  ExprPtr parseAnd();
  ExprPtr parseNot();
  ExprPtr parseCompare();
  ExprPtr parseBinary(int level);
  ExprPtr parseUnary(bool hasFilters = true);
  ExprPtr parsePrimary();
  ExprPtr parsePostfix(ExprPtr operand);
  ExprPtr parseItem(ExprPtr operand);
  ExprPtr parseTest(ExprPtr operand);
  void parseArguments(CallArguments &arguments);
  void parseItems(Expr &list, std::string_view end);
  ExprPtr combine(ExprKind kind, std::string text, ExprPtr x, ExprPtr y) const;

  const std::vector<Token> &tokens;
  size_t at = 0;
  int depth = 0;
};

} // namespace frit::jinja

#endif // FRIT_TOOLS_TOKENIZER_JINJA_EXPRPARSER_H
