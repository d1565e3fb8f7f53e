//===- Suppression.cpp - Non-maximum suppression --------------------------===//

#include "dialects/nn/operators/Suppression.h"

#include "dialects/nn/Infer.h"
#include "dialects/nn/lowering/Loops.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace frit::nn;

#define GET_OP_CLASSES
#include "dialects/nn/Suppression.cpp.inc"

FailureOr<RankedTensorType> KeepBitsOp::infer(Adaptor op,
                                              std::optional<Location> loc) {
  auto bits = tensorType(op.getBits()), others = tensorType(op.getTakesOut());
  constexpr int64_t mostBits = 64;
  bool fits = others.getRank() == bits.getRank() + 1 &&
              others.getShape().back() <= mostBits;
  for (int64_t dim = 0; fits && dim < bits.getRank(); ++dim)
    fits = mayEqual(bits.getDimSize(dim), others.getDimSize(dim));
  if (!fits)
    return emitOptionalError(loc, "bits of shape ", shapeText(bits.getShape()),
                             " and what they take out, ",
                             shapeText(others.getShape()), ", do not fit");
  return bits;
}

Value KeepBitsOp::buildLinalg(ImplicitLocOpBuilder &b, ValueRange x) {
  auto type = loweredType(getKept());
  int64_t count = shapeOf(getTakesOut()).back();
  return buildMap(
      b, type, x[0], b.getMultiDimIdentityMap(type.getRank()),
      [&](ImplicitLocOpBuilder &body, ValueRange e) -> Value {
        auto number = [&](uint64_t n) -> Value {
          return arith::ConstantOp::create(body,
                                           body.getI64IntegerAttr(int64_t(n)));
        };
        SmallVector<Value> at;
        for (int64_t dim = 0; dim < type.getRank(); ++dim)
          at.push_back(indexOf(body, dim));
        at.push_back({});
        Value left = e[0];
        for (int64_t i = 0; i < count; ++i) {
          at.back() = indexConstant(body, i);
          Value others = tensor::ExtractOp::create(body, x[1], at);
          Value mine =
              arith::AndIOp::create(body, left, number(uint64_t(1) << i));
          Value isKept = arith::CmpIOp::create(body, arith::CmpIPredicate::ne,
                                               mine, number(0));
          // A candidate does not suppress itself.
          Value rest =
              arith::XOrIOp::create(body, others, number(~uint64_t(0)));
          Value without = arith::AndIOp::create(body, left, rest);
          left = arith::SelectOp::create(body, isKept, without, left);
        }
        return left;
      });
}
