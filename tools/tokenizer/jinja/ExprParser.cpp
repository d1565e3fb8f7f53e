//===- ExprParser.cpp - Parse expressions of templates --------------------===//

#include "tools/tokenizer/jinja/ExprParser.h"

using namespace frit;
using namespace frit::jinja;
using tools::Fault;

/// How deep a template may be nested.
static constexpr int kDeepestSource = 60;
/// How many operators, filters or members may follow one another.
static constexpr int kLongest = 150;

void ExprParser::fail(const std::string &message) {
  if (!fault)
    fault = Fault("line " + std::to_string(now().line) + ": " + message);
}

bool ExprParser::accept(std::string_view sign) {
  if (fault || !isSign(sign))
    return false;
  next();
  return true;
}

bool ExprParser::acceptWord(std::string_view word) {
  if (fault || !isWord(word))
    return false;
  next();
  return true;
}

void ExprParser::expect(TokenKind kind, std::string_view text) {
  if (fault)
    return;
  if (now().kind != kind || now().text != text)
    return fail("expected '" + std::string(text) + "' instead of '" +
                now().text + "'");
  next();
}

std::string ExprParser::expectName() {
  if (fault || !isName()) {
    fail("expected a name instead of '" + now().text + "'");
    return "";
  }
  std::string name = now().text;
  next();
  return name;
}

bool ExprParser::enter() {
  if (++depth > kDeepestSource)
    fail("it is nested more than " + std::to_string(kDeepestSource) + " deep");
  return !fault;
}

bool ExprParser::link(int &count) {
  if (++count > kLongest)
    fail("an expression has more than " + std::to_string(kLongest) +
         " operators in a row");
  return !fault;
}

ExprPtr ExprParser::makeExpr(ExprKind kind) const {
  auto expr = std::make_unique<Expr>();
  expr->kind = kind;
  expr->line = now().line;
  return expr;
}

ExprPtr ExprParser::combine(ExprKind kind, std::string text, ExprPtr x,
                            ExprPtr y) const {
  ExprPtr expr = makeExpr(kind);
  expr->text = std::move(text);
  expr->parts.push_back(std::move(x));
  if (y)
    expr->parts.push_back(std::move(y));
  return expr;
}

ExprPtr ExprParser::parseTuple(bool hasChoices) {
  auto parse = [&] { return hasChoices ? parseExpr() : parseOr(); };
  ExprPtr first = parse();
  if (!isSign(",") || fault)
    return first;
  ExprPtr tuple = makeExpr(ExprKind::tuple);
  tuple->parts.push_back(std::move(first));
  while (accept(",")) {
    if (now().kind == TokenKind::close || isSign(")"))
      break;
    tuple->parts.push_back(parse());
  }
  return tuple;
}

ExprPtr ExprParser::parseExpr() {
  if (!enter())
    return makeExpr(ExprKind::literal);
  ExprPtr value = parseOr();
  int count = 0;
  while (acceptWord("if") && link(count)) {
    ExprPtr condition = parseOr();
    ExprPtr choice =
        combine(ExprKind::choice, "", std::move(value), std::move(condition));
    choice->parts.push_back(acceptWord("else") ? parseExpr() : nullptr);
    value = std::move(choice);
  }
  leave();
  return value;
}

ExprPtr ExprParser::parseOr() {
  ExprPtr x = parseAnd();
  int count = 0;
  while (acceptWord("or") && link(count))
    x = combine(ExprKind::binary, "or", std::move(x), parseAnd());
  return x;
}

ExprPtr ExprParser::parseAnd() {
  ExprPtr x = parseNot();
  int count = 0;
  while (acceptWord("and") && link(count))
    x = combine(ExprKind::binary, "and", std::move(x), parseNot());
  return x;
}

ExprPtr ExprParser::parseNot() {
  if (!acceptWord("not"))
    return parseCompare();
  if (!enter())
    return makeExpr(ExprKind::literal);
  ExprPtr expr = combine(ExprKind::unary, "not", parseNot(), nullptr);
  leave();
  return expr;
}

ExprPtr ExprParser::parseCompare() {
  ExprPtr x = parseBinary(0);
  ExprPtr compare;
  while (!fault) {
    std::string relation;
    for (std::string_view sign : {"==", "!=", "<=", ">=", "<", ">"})
      if (accept(sign)) {
        relation = sign;
        break;
      }
    if (relation.empty() && acceptWord("in"))
      relation = "in";
    else if (relation.empty() && isWord("not")) {
      // As in "x not in y"; nothing else has it here.
      next();
      if (!acceptWord("in"))
        fail("expected 'in' after 'not'");
      relation = "not in";
    }
    if (relation.empty())
      break;
    if (!compare) {
      compare = makeExpr(ExprKind::compare);
      compare->parts.push_back(std::move(x));
    }
    compare->names.push_back(relation);
    compare->parts.push_back(parseBinary(0));
  }
  return compare ? std::move(compare) : std::move(x);
}

/// Parses + and -, then ~, then * / // %, then **.
ExprPtr ExprParser::parseBinary(int level) {
  static const std::vector<std::string_view> signs[] = {
      {"+", "-"}, {"~"}, {"*", "//", "/", "%"}, {"**"}};
  if (level == std::ssize(signs))
    return parseUnary();
  ExprPtr x = parseBinary(level + 1);
  for (int count = 0; !fault;) {
    std::string_view found;
    for (std::string_view sign : signs[level])
      if (accept(sign)) {
        found = sign;
        break;
      }
    if (found.empty() || !link(count))
      break;
    x = combine(ExprKind::binary, std::string(found), std::move(x),
                parseBinary(level + 1));
  }
  return x;
}

ExprPtr ExprParser::parseUnary(bool hasFilters) {
  if (!enter())
    return makeExpr(ExprKind::literal);
  ExprPtr expr;
  if (accept("-"))
    expr = combine(ExprKind::unary, "-", parseUnary(false), nullptr);
  else if (accept("+"))
    expr = combine(ExprKind::unary, "+", parseUnary(false), nullptr);
  else
    expr = parsePrimary();
  expr = parsePostfix(std::move(expr));
  for (int count = 0; hasFilters && link(count);) {
    if (accept("|"))
      expr = parseFilters(std::move(expr));
    else if (acceptWord("is"))
      expr = parseTest(std::move(expr));
    else if (isSign("("))
      expr = parsePostfix(std::move(expr));
    else
      break;
  }
  leave();
  return expr;
}

ExprPtr ExprParser::parseFilters(ExprPtr operand) {
  int count = 0;
  do {
    ExprPtr filter = makeExpr(ExprKind::filter);
    filter->text = expectName();
    filter->parts.push_back(std::move(operand));
    if (isSign("("))
      parseArguments(filter->arguments);
    operand = std::move(filter);
  } while (accept("|") && link(count));
  return operand;
}

ExprPtr ExprParser::parseTest(ExprPtr operand) {
  bool isNegated = acceptWord("not");
  ExprPtr test = makeExpr(ExprKind::test);
  test->text = expectName();
  test->parts.push_back(std::move(operand));
  bool isWordAfter = isWord("else") || isWord("or") || isWord("and") ||
                     isWord("if") || isWord("in") || isWord("not") ||
                     isWord("is");
  bool hasOperand = now().kind == TokenKind::text ||
                    now().kind == TokenKind::integer ||
                    now().kind == TokenKind::real ||
                    (isName() && !isWordAfter) || isSign("[") || isSign("{");
  if (fault)
    return test;
  if (isSign("("))
    parseArguments(test->arguments);
  else if (hasOperand) {
    test->arguments.list.push_back(parsePostfix(parsePrimary()));
    test->arguments.spreads.push_back(false);
  }
  return isNegated ? combine(ExprKind::unary, "not", std::move(test), nullptr)
                   : std::move(test);
}
