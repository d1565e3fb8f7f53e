//===- ErrorFunction.cpp - erf by polynomials and exp ---------------------===//
//
// erf x = x · p(x²) / q(x²), up to where it is 1. Upstream's approximation
// selects each coefficient of two polynomials of degree 9 from four intervals.
// Forms with exp (Norbert Juffa's, which ONNX Runtime has) are off by 1 unit in
// the last place instead of 6, but each operation waits for the one before it:
// GELU took longer with it than with upstream's. The coefficients are XLA's.
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/ErrorFunction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

/// From here on, the nearest f32 is 1.
static constexpr float kOne = 3.832506856900711f;

static constexpr float kP[] = {0.00022905065861350646f, 0.0034082910107109506f,
                               0.050955695062380861f, 0.18520832239976145f,
                               1.128379143519084f};
static constexpr float kQ[] = {-1.1791602954361697e-7f,
                               0.000023547966471313185f,
                               0.0010179625278914885f,
                               0.014070470171167667f,
                               0.11098505178285362f,
                               0.49746925110067538f,
                               1};

Value frit::cpu::buildErf(ImplicitLocOpBuilder &b, Value x) {
  Type type = x.getType();
  auto constant = [&](float value) -> Value {
    TypedAttr attribute = b.getF32FloatAttr(value);
    if (auto shaped = dyn_cast<ShapedType>(type))
      attribute = DenseElementsAttr::get(shaped, value);
    return arith::ConstantOp::create(b, attribute);
  };
  auto clamp = [&](Value value, float size) -> Value {
    value = arith::MinimumFOp::create(b, value, constant(size));
    return arith::MaximumFOp::create(b, value, constant(-size));
  };
  x = clamp(x, kOne);
  Value square = arith::MulFOp::create(b, x, x);
  auto polynomial = [&](ArrayRef<float> coefficients) {
    Value sum = constant(coefficients.front());
    for (float each : coefficients.drop_front())
      sum = math::FmaOp::create(b, sum, square, constant(each));
    return sum;
  };
  Value p = arith::MulFOp::create(b, x, polynomial(kP));
  // Rounding may lead past 1.
  return clamp(arith::DivFOp::create(b, p, polynomial(kQ)), 1);
}
