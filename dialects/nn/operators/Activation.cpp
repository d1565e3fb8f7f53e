//===- Activation.cpp - Activation functions ------------------------------===//

#include "dialects/nn/NN.h"

using namespace mlir;
using namespace frit::nn;

/// Builds the derivative of gelu at `x`.
static Scalar geluSlope(ScalarBuilder &s, Scalar x, bool isTanh) {
  if (!isTanh)
    return 0.5 * (1.0 + s.erf(x * 0.7071067811865476)) +
           0.3989422804014327 * x * s.exp(-0.5 * x * x);
  // Use the logistic function of 2u instead of tanh(u): GPUs need fewer
  // instructions for it. Above the bound the slope is 0 or 1, and products may
  // not overflow.
  constexpr double bound = 1e4, linear = 1.5957691216057308,
                   cubic = 0.044715 * linear;
  Scalar square = s.min(x * x, s.constant(bound, x));
  Scalar gate = s.sigmoid(x * (linear + cubic * square));
  return gate + gate * (1.0 - gate) * x * (linear + 3 * cubic * square);
}

//===----------------------------------------------------------------------===//
// Gates
//===----------------------------------------------------------------------===//

FailureOr<RankedTensorType> GateColumnsOp::infer(Adaptor op,
                                                 std::optional<Location> loc) {
  auto type = tensorType(op.getX());
  if (type.getRank() == 0 || type.isDynamicDim(type.getRank() - 1) ||
      type.getShape().back() % kGatedColumns != 0)
    return emitOptionalError(loc, "rows of ", shapeText(type.getShape()),
                             " are no multiple of ", kGatedColumns, " columns");
  SmallVector<int64_t> shape(type.getShape());
  shape.back() /= 2;
  return type.clone(shape);
}

SmallVector<Value> GateColumnsOp::decompose(NNBuilder &b) {
  // [..., group of 16, parity, pair, value or gate]
  SmallVector<int64_t> shape(shapeOf(getX()));
  shape.back() /= kGatedColumns;
  llvm::append_values(shape, 2, kGatedColumns / 4, 2);
  Value all = b.reshape(getX(), shape);
  SmallVector<int64_t> sizes(shape), starts(shape.size(), 0),
      steps(shape.size(), 1);
  sizes.back() = 1;
  Value value = SliceOp::create(b, all, starts, sizes, steps);
  starts.back() = 1;
  Value gate = SliceOp::create(b, all, starts, sizes, steps);
  if (getActivation() == "silu")
    gate = SiluOp::create(b, gate);
  else
    gate = GeluOp::create(b, gate,
                          getActivation() == "gelu_tanh" ? "tanh" : "none");
  SmallVector<int64_t> order =
      llvm::to_vector(llvm::seq<int64_t>(0, shape.size()));
  std::swap(order.end()[-2], order.end()[-3]);
  return {b.reshape(TransposeOp::create(b, b.mul(value, gate), order),
                    shapeOf(getY()))};
}

#define GET_OP_CLASSES
#include "dialects/nn/Activation.cpp.inc"
