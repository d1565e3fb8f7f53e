//===- ConstantFunctions.cpp - Elementwise operators on floats ------------===//

#include "dialects/nn/constants/ConstantFunctions.h"

#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;
using namespace frit;
using namespace frit::nn;

static ConstantFunction functionOf(CastOp cast) {
  Type to = cast.getTo();
  if (to.isInteger(1))
    return [](const float *x) { return float(x[0] != 0); };
  if (to.isF16())
    // The mask of an exporter that is too large for f16 becomes infinite.
    return [](const float *x) {
      APFloat number(x[0]);
      bool lossy;
      number.convert(APFloat::IEEEhalf(), APFloat::rmNearestTiesToEven, &lossy);
      number.convert(APFloat::IEEEsingle(), APFloat::rmNearestTiesToEven,
                     &lossy);
      return number.convertToFloat();
    };
  if (isa<FloatType>(to))
    return [](const float *x) { return x[0]; };
  return [](const float *x) { return std::trunc(x[0]); };
}

ConstantFunction frit::nn::constantFunctionOf(Operation *op) {
  const bool isInteger =
      isa<IntegerType>(tensorType(op->getResult(0)).getElementType());
  return TypeSwitch<Operation *, ConstantFunction>(op)
      .Case([](CastOp cast) { return functionOf(cast); })
      .Case([](AddOp) { return [](const float *x) { return x[0] + x[1]; }; })
      .Case([](SubOp) { return [](const float *x) { return x[0] - x[1]; }; })
      .Case([](MulOp) { return [](const float *x) { return x[0] * x[1]; }; })
      .Case([&](DivOp) -> ConstantFunction {
        if (isInteger)
          return [](const float *x) {
            return x[1] == 0 ? 0 : std::trunc(x[0] / x[1]);
          };
        return [](const float *x) { return x[0] / x[1]; };
      })
      .Case([](ModOp mod) -> ConstantFunction {
        if (mod.getFmod())
          return [](const float *x) { return std::fmod(x[0], x[1]); };
        return [](const float *x) {
          return x[1] == 0 ? 0 : x[0] - std::floor(x[0] / x[1]) * x[1];
        };
      })
      .Case([](NegOp) { return [](const float *x) { return -x[0]; }; })
      .Case([](AbsOp) { return [](const float *x) { return std::abs(x[0]); }; })
      .Case([](SignOp) {
        return [](const float *x) { return float((x[0] > 0) - (x[0] < 0)); };
      })
      .Case([](ReluOp) {
        return [](const float *x) { return std::max(x[0], 0.0f); };
      })
      .Case(
          [](SqrtOp) { return [](const float *x) { return std::sqrt(x[0]); }; })
      .Case(
          [](ReciprocalOp) { return [](const float *x) { return 1 / x[0]; }; })
      .Case([](PowOp) {
        return [](const float *x) { return std::pow(x[0], x[1]); };
      })
      .Case([](ExpOp) { return [](const float *x) { return std::exp(x[0]); }; })
      .Case([](LogOp) { return [](const float *x) { return std::log(x[0]); }; })
      .Case([](SinOp) { return [](const float *x) { return std::sin(x[0]); }; })
      .Case([](CosOp) { return [](const float *x) { return std::cos(x[0]); }; })
      .Case([](RoundOp) {
        return [](const float *x) { return std::nearbyint(x[0]); };
      })
      .Case([](FloorOp) {
        return [](const float *x) { return std::floor(x[0]); };
      })
      .Case(
          [](CeilOp) { return [](const float *x) { return std::ceil(x[0]); }; })
      .Case([](MaxOp) {
        return [](const float *x) { return std::max(x[0], x[1]); };
      })
      .Case([](MinOp) {
        return [](const float *x) { return std::min(x[0], x[1]); };
      })
      .Case([](LessOp) {
        return [](const float *x) { return float(x[0] < x[1]); };
      })
      .Case([](LessEqualOp) {
        return [](const float *x) { return float(x[0] <= x[1]); };
      })
      .Case([](GreaterOp) {
        return [](const float *x) { return float(x[0] > x[1]); };
      })
      .Case([](GreaterEqualOp) {
        return [](const float *x) { return float(x[0] >= x[1]); };
      })
      .Case([](EqualOp) {
        return [](const float *x) { return float(x[0] == x[1]); };
      })
      .Case([](AndOp) {
        return [](const float *x) { return float(x[0] && x[1]); };
      })
      .Case([](OrOp) {
        return [](const float *x) { return float(x[0] || x[1]); };
      })
      .Case([](XorOp) {
        return [](const float *x) { return float((x[0] != 0) != (x[1] != 0)); };
      })
      .Case([](NotOp) { return [](const float *x) { return float(!x[0]); }; })
      .Case([](IsNaNOp) {
        return [](const float *x) { return float(std::isnan(x[0])); };
      })
      .Case([](WhereOp) {
        return [](const float *x) { return x[0] ? x[1] : x[2]; };
      })
      .Default(ConstantFunction(nullptr));
}
