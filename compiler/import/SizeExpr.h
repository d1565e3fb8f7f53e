//===- SizeExpr.h - Expressions over sizes --------------------------------===//
//
//   ceildiv(x.0 * x.1, 256)      sizes of the tensor x, from the first on
//   min(x.size, 4 * groups)      its elements, and an integer attribute
//
// Operators are + - * / % with C's precedence, parentheses, and the functions
// ceildiv, min and max. Numbers have 64 bits. Division rounds towards zero.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_COMPILER_IMPORT_SIZEEXPR_H
#define FRIT_COMPILER_IMPORT_SIZEEXPR_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace frit {

class SizeExpr {
public:
  /// The names that an expression may use.
  struct Names {
    std::vector<std::string> tensors, attributes;
  };
  /// Values of these names in a node, in the same order.
  struct Values {
    llvm::SmallVector<llvm::ArrayRef<int64_t>> shapes;
    llvm::SmallVector<int64_t> attributes;
  };

  /// Parses an expression. The error says what is wrong, and at which column.
  static llvm::Expected<SizeExpr> parse(llvm::StringRef text,
                                        const Names &names);
  static SizeExpr number(int64_t value);

  /// Evaluates the expression. Fails if it divides by zero, overflows, or names
  /// a dimension that a tensor does not have.
  llvm::Expected<int64_t> evaluate(const Values &values) const;

  const std::string &text() const { return source; }

private:
  friend class SizeExprParser;

  enum class Code {
    number,
    size,      ///< dimension `value` of tensor `index`
    count,     ///< elements of tensor `index`
    attribute, ///< attribute `index`
    negate,
    add,
    subtract,
    multiply,
    divide,
    modulo,
    ceildiv,
    minimum,
    maximum
  };
  struct Step {
    Code code;
    int64_t value = 0;
    size_t index = 0;
  };

  /// Operands come before their operator.
  std::vector<Step> steps;
  std::vector<std::string> tensors; ///< names, for errors
  std::string source;
};

} // namespace frit

#endif // FRIT_COMPILER_IMPORT_SIZEEXPR_H
