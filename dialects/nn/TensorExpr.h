//===- TensorExpr.h - Expressions of nn operators -------------------------===//
//
// The gradients of elementwise operators are short formulas. A TensorExpr lets
// a definition spell them as such:  `dy * (1.0 - y * y)`.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_DIALECTS_NN_TENSOREXPR_H
#define FRIT_DIALECTS_NN_TENSOREXPR_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"

namespace frit::nn {

class NNBuilder;

/// A tensor, and the builder that operators on it are built with. Operators
/// broadcast; numbers take the element type of the other operand.
class TensorExpr {
public:
  TensorExpr(NNBuilder &b, mlir::Value value) : b(&b), tensor(value) {}

  operator mlir::Value() const { return tensor; }
  mlir::Value value() const { return tensor; }
  NNBuilder &builder() const { return *b; }
  /// Builds a rank 0 constant of the same element type.
  TensorExpr number(double value) const;

private:
  NNBuilder *b;
  mlir::Value tensor;
};

TensorExpr operator+(TensorExpr x, TensorExpr y);
TensorExpr operator-(TensorExpr x, TensorExpr y);
TensorExpr operator*(TensorExpr x, TensorExpr y);
TensorExpr operator/(TensorExpr x, TensorExpr y);
TensorExpr operator-(TensorExpr x);
/// Compare to tensors of i1.
TensorExpr operator<(TensorExpr x, TensorExpr y);
TensorExpr operator<=(TensorExpr x, TensorExpr y);
TensorExpr operator>(TensorExpr x, TensorExpr y);
TensorExpr operator>=(TensorExpr x, TensorExpr y);
TensorExpr operator&(TensorExpr x, TensorExpr y);

#define FRIT_WITH_NUMBER(op)                                                   \
  inline TensorExpr operator op(TensorExpr x, double y) {                      \
    return x op x.number(y);                                                   \
  }                                                                            \
  inline TensorExpr operator op(double x, TensorExpr y) {                      \
    return y.number(x) op y;                                                   \
  }
FRIT_WITH_NUMBER(+)
FRIT_WITH_NUMBER(-)
FRIT_WITH_NUMBER(*)
FRIT_WITH_NUMBER(/)
FRIT_WITH_NUMBER(<)
FRIT_WITH_NUMBER(<=)
FRIT_WITH_NUMBER(>)
FRIT_WITH_NUMBER(>=)
#undef FRIT_WITH_NUMBER

TensorExpr equal(TensorExpr x, TensorExpr y);
TensorExpr exp(TensorExpr x);
TensorExpr log(TensorExpr x);
TensorExpr sqrt(TensorExpr x);
TensorExpr rsqrt(TensorExpr x);
TensorExpr sin(TensorExpr x);
TensorExpr cos(TensorExpr x);
TensorExpr sinh(TensorExpr x);
TensorExpr cosh(TensorExpr x);
TensorExpr tanh(TensorExpr x);
TensorExpr erf(TensorExpr x);
TensorExpr sigmoid(TensorExpr x);
TensorExpr softplus(TensorExpr x);
TensorExpr abs(TensorExpr x);
TensorExpr sign(TensorExpr x);
/// Rounds to the nearest integer, halves to even.
TensorExpr round(TensorExpr x);
TensorExpr pow(TensorExpr x, TensorExpr y);
/// Selects `x` where `condition` holds, else `y`.
TensorExpr where(TensorExpr condition, TensorExpr x, TensorExpr y);
inline TensorExpr where(TensorExpr condition, TensorExpr x, double y) {
  return where(condition, x, x.number(y));
}
inline TensorExpr where(TensorExpr condition, double x, TensorExpr y) {
  return where(condition, y.number(x), y);
}

/// Return tensors in the type that gradients are computed in: f32 for narrower
/// floats, otherwise the same.
TensorExpr widened(NNBuilder &b, mlir::Value value);
llvm::SmallVector<TensorExpr> widened(NNBuilder &b, mlir::ValueRange values);

} // namespace frit::nn

#endif // FRIT_DIALECTS_NN_TENSOREXPR_H
