//===- PrimaryParser.cpp - Parse operands of templates --------------------===//

#include "tools/tokenizer/jinja/ExprParser.h"

#include <charconv>

using namespace frit;
using namespace frit::jinja;

void ExprParser::parseArguments(CallArguments &arguments) {
  expect(TokenKind::sign, "(");
  while (!fault && !isSign(")")) {
    if (accept("**")) {
      arguments.named.emplace_back("", parseExpr());
      if (!accept(","))
        break;
      continue;
    }
    bool spreads = accept("*");
    bool isNamed = isName() && tokens[at + 1].kind == TokenKind::sign &&
                   tokens[at + 1].text == "=";
    if (isNamed) {
      std::string name = expectName();
      next();
      arguments.named.emplace_back(std::move(name), parseExpr());
    } else {
      arguments.list.push_back(parseExpr());
      arguments.spreads.push_back(spreads);
    }
    if (!accept(","))
      break;
  }
  expect(TokenKind::sign, ")");
}

void ExprParser::parseItems(Expr &list, std::string_view end) {
  while (!fault && !isSign(end)) {
    list.parts.push_back(parseExpr());
    if (list.kind == ExprKind::map) {
      expect(TokenKind::sign, ":");
      list.parts.push_back(parseExpr());
    }
    if (!accept(","))
      break;
  }
  expect(TokenKind::sign, end);
}

ExprPtr ExprParser::parsePrimary() {
  ExprPtr expr = makeExpr(ExprKind::literal);
  const Token &token = now();
  if (fault)
    return expr;
  switch (token.kind) {
  case TokenKind::name: {
    next();
    const std::string &name = token.text;
    if (name == "true" || name == "True" || name == "false" || name == "False")
      expr->value = Value(name[0] == 't' || name[0] == 'T');
    else if (name == "none" || name == "None")
      expr->value = Value::none();
    else {
      expr->kind = ExprKind::name;
      expr->text = name;
    }
    return expr;
  }
  case TokenKind::text: {
    std::string text;
    while (now().kind == TokenKind::text) {
      text += now().text;
      next();
    }
    expr->value = Value(std::move(text));
    return expr;
  }
  case TokenKind::integer: {
    int64_t number = 0;
    const char *end = token.text.data() + token.text.size();
    if (std::from_chars(token.text.data(), end, number).ec != std::errc())
      fail("the number " + token.text + " is too large");
    expr->value = Value(number);
    next();
    return expr;
  }
  case TokenKind::real: {
    double number = 0;
    std::from_chars(token.text.data(), token.text.data() + token.text.size(),
                    number);
    expr->value = Value(number);
    next();
    return expr;
  }
  default:
    break;
  }
  if (accept("[")) {
    expr->kind = ExprKind::list;
    parseItems(*expr, "]");
  } else if (accept("{")) {
    expr->kind = ExprKind::map;
    parseItems(*expr, "}");
  } else if (accept("(")) {
    if (accept(")")) {
      expr->kind = ExprKind::tuple;
      return expr;
    }
    expr = parseTuple();
    expect(TokenKind::sign, ")");
  } else {
    fail("unexpected '" + token.text + "'");
  }
  return expr;
}

ExprPtr ExprParser::parseItem(ExprPtr operand) {
  ExprPtr expr = makeExpr(ExprKind::item);
  expr->parts.push_back(std::move(operand));
  bool isSlice = false;
  while (!fault && !isSign("]")) {
    if (accept(":")) {
      isSlice = true;
      // A part that was left out.
      if (expr->parts.size() < 2)
        expr->parts.push_back(nullptr);
      if (isSign(":") || isSign("]"))
        expr->parts.push_back(nullptr);
      continue;
    }
    expr->parts.push_back(parseExpr());
    if (!isSign(":") && !isSign("]"))
      fail("expected ']' instead of '" + now().text + "'");
  }
  expect(TokenKind::sign, "]");
  if (!isSlice && expr->parts.size() != 2)
    fail("expected what to look for in brackets");
  if (isSlice) {
    expr->kind = ExprKind::slice;
    if (expr->parts.size() > 4)
      fail("a slice has three parts at most");
    expr->parts.resize(4);
  }
  return expr;
}

ExprPtr ExprParser::parsePostfix(ExprPtr operand) {
  for (int count = 0; link(count);) {
    if (accept(".")) {
      ExprPtr expr = makeExpr(ExprKind::attribute);
      if (now().kind == TokenKind::integer) {
        expr->kind = ExprKind::item;
        expr->parts.push_back(std::move(operand));
        expr->parts.push_back(parsePrimary());
      } else {
        expr->text = expectName();
        expr->parts.push_back(std::move(operand));
      }
      operand = std::move(expr);
    } else if (accept("[")) {
      operand = parseItem(std::move(operand));
    } else if (isSign("(")) {
      ExprPtr expr = makeExpr(ExprKind::call);
      expr->parts.push_back(std::move(operand));
      parseArguments(expr->arguments);
      operand = std::move(expr);
    } else {
      break;
    }
  }
  return operand;
}
