//===- Logarithms.cpp - Logarithms near 0 and near 1 ----------------------===//

#include "codegen/cpu/Logarithms.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinTypes.h"

#include <limits>

using namespace mlir;

/// Builds a number, in each element if `type` is a vector.
static Value numberOf(ImplicitLocOpBuilder &b, Type type, double x) {
  TypedAttr value = b.getFloatAttr(getElementTypeOrSelf(type), x);
  if (auto vector = dyn_cast<VectorType>(type))
    value = DenseElementsAttr::get(vector, value);
  return arith::ConstantOp::create(b, value);
}

Value frit::cpu::buildLog(ImplicitLocOpBuilder &b, Value x) {
  // log(x) = log(2^23 x) - 23 log(2)
  constexpr double leastNormal = 0x1p-126, scale = 0x1p23,
                   logOfScale = 15.942385152878742;
  auto number = [&](double value) { return numberOf(b, x.getType(), value); };
  Value isTiny = arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, x,
                                       number(leastNormal));
  Value scaled = arith::MulFOp::create(b, x, number(scale));
  Value shift =
      arith::SelectOp::create(b, isTiny, number(logOfScale), number(0));
  scaled = arith::SelectOp::create(b, isTiny, scaled, x);
  return arith::SubFOp::create(b, math::LogOp::create(b, scaled), shift);
}

/// The error of 1 + x is that of log's divisor, too (Kahan; Higham, "Accuracy
/// and Stability of Numerical Algorithms", 1.14.1).
Value frit::cpu::buildLog1p(ImplicitLocOpBuilder &b, Value x) {
  using P = arith::CmpFPredicate;
  auto number = [&](double value) { return numberOf(b, x.getType(), value); };
  Value one = number(1), sum = arith::AddFOp::create(b, one, x);
  Value rest = arith::SubFOp::create(b, sum, one);
  Value y = arith::MulFOp::create(
      b, x, arith::DivFOp::create(b, math::LogOp::create(b, sum), rest));
  Value infinity = number(std::numeric_limits<double>::infinity());
  Value isOne = arith::CmpFOp::create(b, P::OEQ, sum, one);
  Value isInfinite = arith::CmpFOp::create(b, P::OEQ, sum, infinity);
  return arith::SelectOp::create(b, arith::OrIOp::create(b, isOne, isInfinite),
                                 x, y);
}
