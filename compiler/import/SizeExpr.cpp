//===- SizeExpr.cpp - Expressions over sizes ------------------------------===//

#include "compiler/import/SizeExpr.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <limits>
#include <optional>

using namespace llvm;
using namespace frit;

namespace frit {

/// A recursive-descent parser that appends steps to an expression.
class SizeExprParser {
public:
  SizeExprParser(StringRef text, const SizeExpr::Names &names)
      : text(text), names(names) {}

  Expected<SizeExpr> run() {
    result.source = text.str();
    result.tensors = names.tensors;
    sum();
    skipSpaces();
    if (error.empty() && at < text.size())
      fail("'" + text.substr(at, 1) + "' is not expected");
    if (!error.empty())
      return createStringError("'" + text + "', column " + Twine(errorAt + 1) +
                               ": " + error);
    return std::move(result);
  }

private:
  using Code = SizeExpr::Code;
  /// Maximum depth of nested parentheses.
  static constexpr int kMostNested = 64;

  void fail(const Twine &why) {
    if (!error.empty())
      return;
    error = why.str();
    errorAt = at;
  }
  void skipSpaces() {
    while (at < text.size() && isSpace(text[at]))
      ++at;
  }
  bool take(char c) {
    skipSpaces();
    if (at >= text.size() || text[at] != c)
      return false;
    ++at;
    return true;
  }
  void expect(char c) {
    if (!take(c))
      fail(Twine("'") + Twine(c) + "' is expected");
  }
  void emit(Code code, int64_t value = 0, size_t index = 0) {
    result.steps.push_back({code, value, index});
  }

  void sum() {
    product();
    while (error.empty()) {
      if (take('+')) {
        product();
        emit(Code::add);
      } else if (take('-')) {
        product();
        emit(Code::subtract);
      } else {
        return;
      }
    }
  }

  void product() {
    factor();
    while (error.empty()) {
      Code code;
      if (take('*'))
        code = Code::multiply;
      else if (take('/'))
        code = Code::divide;
      else if (take('%'))
        code = Code::modulo;
      else
        return;
      factor();
      emit(code);
    }
  }

  void factor() {
    if (++depth > kMostNested)
      fail("is nested more than " + Twine(kMostNested) + " deep");
    skipSpaces();
    if (!error.empty())
      return;
    if (take('-')) {
      factor();
      emit(Code::negate);
    } else if (take('(')) {
      sum();
      expect(')');
    } else if (at < text.size() && isDigit(text[at])) {
      if (auto value = integer())
        emit(Code::number, *value);
    } else if (at < text.size() && (isAlpha(text[at]) || text[at] == '_')) {
      name();
    } else {
      fail("a number, a name or '(' is expected");
    }
    --depth;
  }

  std::optional<int64_t> integer() {
    StringRef digits = text.substr(at).take_while(isDigit);
    int64_t value;
    if (digits.getAsInteger(10, value)) {
      fail("'" + digits + "' is no number of 64 bits");
      return std::nullopt;
    }
    at += digits.size();
    return value;
  }

  StringRef word() {
    StringRef found = text.substr(at).take_while(
        [](char c) { return isAlnum(c) || c == '_'; });
    at += found.size();
    return found;
  }

  void name() {
    size_t start = at;
    StringRef found = word();
    static constexpr std::pair<StringLiteral, Code> functions[] = {
        {"ceildiv", Code::ceildiv},
        {"min", Code::minimum},
        {"max", Code::maximum}};
    for (auto [function, code] : functions)
      if (found == function && take('(')) {
        sum();
        expect(',');
        sum();
        expect(')');
        return emit(code);
      }
    if (auto it = find(names.tensors, found); it != names.tensors.end())
      return sizeOf(it - names.tensors.begin());
    auto it = find(names.attributes, found);
    if (it != names.attributes.end())
      return emit(Code::attribute, 0, it - names.attributes.begin());
    at = start;
    fail("'" + found + "' is neither a tensor nor an integer attribute");
  }

  void sizeOf(size_t tensor) {
    if (at >= text.size() || text[at] != '.')
      return fail("'.size' or a dimension such as '.0' is expected");
    ++at;
    if (at < text.size() && isDigit(text[at])) {
      if (auto dim = integer())
        emit(Code::size, *dim, tensor);
    } else if (word() == "size") {
      emit(Code::count, 0, tensor);
    } else {
      fail("'size' or the number of a dimension is expected after '.'");
    }
  }

  StringRef text;
  const SizeExpr::Names &names;
  SizeExpr result;
  size_t at = 0, errorAt = 0;
  int depth = 0;
  std::string error;
};

} // namespace frit

Expected<SizeExpr> SizeExpr::parse(StringRef text, const Names &names) {
  return SizeExprParser(text, names).run();
}

SizeExpr SizeExpr::number(int64_t value) {
  SizeExpr result;
  result.source = std::to_string(value);
  result.steps.push_back({Code::number, value});
  return result;
}

Expected<int64_t> SizeExpr::evaluate(const Values &values) const {
  auto fail = [&](const Twine &why) {
    return createStringError("'" + Twine(source) + "' " + why);
  };
  constexpr int64_t least = std::numeric_limits<int64_t>::min();
  SmallVector<int64_t> stack;
  for (const Step &step : steps) {
    switch (step.code) {
    case Code::number:
      stack.push_back(step.value);
      continue;
    case Code::size: {
      ArrayRef<int64_t> shape = values.shapes[step.index];
      if (step.value >= int64_t(shape.size()))
        return fail("asks for dimension " + Twine(step.value) + " of '" +
                    tensors[step.index] + "', which has " +
                    Twine(shape.size()));
      stack.push_back(shape[step.value]);
      continue;
    }
    case Code::count: {
      int64_t count = 1;
      for (int64_t size : values.shapes[step.index])
        if (__builtin_mul_overflow(count, size, &count))
          return fail("overflows");
      stack.push_back(count);
      continue;
    }
    case Code::attribute:
      stack.push_back(values.attributes[step.index]);
      continue;
    default:
      break;
    }
    int64_t y = stack.pop_back_val(), result = 0;
    bool overflows = false;
    if (step.code == Code::negate) {
      if (__builtin_sub_overflow(int64_t(0), y, &result))
        return fail("overflows");
      stack.push_back(result);
      continue;
    }
    int64_t x = stack.pop_back_val();
    bool divides = step.code == Code::divide || step.code == Code::modulo ||
                   step.code == Code::ceildiv;
    if (divides && y == 0)
      return fail("divides by zero");
    if (divides && x == least && y == -1)
      return fail("overflows");
    switch (step.code) {
    case Code::add:
      overflows = __builtin_add_overflow(x, y, &result);
      break;
    case Code::subtract:
      overflows = __builtin_sub_overflow(x, y, &result);
      break;
    case Code::multiply:
      overflows = __builtin_mul_overflow(x, y, &result);
      break;
    case Code::divide:
      result = x / y;
      break;
    case Code::modulo:
      result = x % y;
      break;
    case Code::ceildiv:
      result = x / y + (x % y != 0 && (x < 0) == (y < 0));
      break;
    case Code::minimum:
      result = std::min(x, y);
      break;
    default: // maximum
      result = std::max(x, y);
      break;
    }
    if (overflows)
      return fail("overflows");
    stack.push_back(result);
  }
  return stack.back();
}
