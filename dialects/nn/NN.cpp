//===- NN.cpp - Building nn operators -------------------------------------===//

#include "dialects/nn/NN.h"

using namespace mlir;
using namespace frit::nn;

Value NNBuilder::add(Value x, Value y) { return AddOp::create(*this, x, y); }
Value NNBuilder::sub(Value x, Value y) { return SubOp::create(*this, x, y); }
Value NNBuilder::mul(Value x, Value y) { return MulOp::create(*this, x, y); }
Value NNBuilder::div(Value x, Value y) { return DivOp::create(*this, x, y); }

Value NNBuilder::reshape(Value x, ArrayRef<int64_t> shape) {
  if (shapeOf(x) == shape)
    return x;
  return ReshapeOp::create(*this, x, shape);
}

Value NNBuilder::cast(Value x, Type element) {
  if (tensorType(x).getElementType() == element)
    return x;
  auto cast = CastOp::create(*this, x, element);
  cast.setStorage(cast.roundsTo16Bits());
  return cast;
}

Value NNBuilder::reduce(Value x, Combiner kind, ArrayRef<int64_t> axes) {
  return ReduceOp::create(*this, x, kind, axes);
}

Value NNBuilder::sumTo(Value x, ArrayRef<int64_t> shape) {
  SmallVector<int64_t> from(shapeOf(x));
  if (from == shape)
    return x;
  SmallVector<int64_t> axes;
  size_t added = from.size() - shape.size();
  for (auto [dim, size] : llvm::enumerate(from))
    if (size != 1 && (dim < added || shape[dim - added] == 1))
      axes.push_back(dim);
  if (!axes.empty())
    x = reduce(x, Combiner::sum, axes);
  return reshape(x, shape);
}

Value NNBuilder::scalarLike(Value like, double value) {
  Type element = tensorType(like).getElementType();
  auto type = RankedTensorType::get({}, element);
  Attribute attr = isa<FloatType>(element)
                       ? Attribute(getFloatAttr(element, value))
                       : getIntegerAttr(element, static_cast<int64_t>(value));
  return ConstantOp::create(*this, DenseElementsAttr::get(type, attr),
                            StringAttr());
}

Value NNBuilder::integer(int64_t value) {
  auto type = RankedTensorType::get({}, getI64Type());
  return ConstantOp::create(*this, DenseElementsAttr::get(type, value),
                            StringAttr());
}

Value NNBuilder::iota(ArrayRef<int64_t> shape, int64_t axis) {
  return IotaOp::create(*this, integer(0), integer(1), shape, axis);
}

Value NNBuilder::zeros(RankedTensorType type) {
  Attribute zero = getZeroAttr(type.getElementType());
  return ConstantOp::create(*this, DenseElementsAttr::get(type, zero),
                            StringAttr());
}

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

TensorExpr TensorExpr::number(double value) const {
  return {*b, b->scalarLike(tensor, value)};
}

template <typename Op, typename... Operands>
static TensorExpr build(TensorExpr x, Operands... rest) {
  NNBuilder &b = x.builder();
  return {b, Op::create(b, x.value(), rest.value()...)};
}

namespace frit::nn {

TensorExpr operator+(TensorExpr x, TensorExpr y) { return build<AddOp>(x, y); }
TensorExpr operator-(TensorExpr x, TensorExpr y) { return build<SubOp>(x, y); }
TensorExpr operator*(TensorExpr x, TensorExpr y) { return build<MulOp>(x, y); }
TensorExpr operator/(TensorExpr x, TensorExpr y) { return build<DivOp>(x, y); }
TensorExpr operator-(TensorExpr x) { return build<NegOp>(x); }
TensorExpr operator<(TensorExpr x, TensorExpr y) { return build<LessOp>(x, y); }
TensorExpr operator<=(TensorExpr x, TensorExpr y) {
  return build<LessEqualOp>(x, y);
}
TensorExpr operator>(TensorExpr x, TensorExpr y) {
  return build<GreaterOp>(x, y);
}
TensorExpr operator>=(TensorExpr x, TensorExpr y) {
  return build<GreaterEqualOp>(x, y);
}
TensorExpr operator&(TensorExpr x, TensorExpr y) { return build<AndOp>(x, y); }

TensorExpr equal(TensorExpr x, TensorExpr y) { return build<EqualOp>(x, y); }
TensorExpr exp(TensorExpr x) { return build<ExpOp>(x); }
TensorExpr log(TensorExpr x) { return build<LogOp>(x); }
TensorExpr sqrt(TensorExpr x) { return build<SqrtOp>(x); }
TensorExpr rsqrt(TensorExpr x) { return build<RsqrtOp>(x); }
TensorExpr sin(TensorExpr x) { return build<SinOp>(x); }
TensorExpr cos(TensorExpr x) { return build<CosOp>(x); }
TensorExpr sinh(TensorExpr x) { return build<SinhOp>(x); }
TensorExpr cosh(TensorExpr x) { return build<CoshOp>(x); }
TensorExpr tanh(TensorExpr x) { return build<TanhOp>(x); }
TensorExpr erf(TensorExpr x) { return build<ErfOp>(x); }
TensorExpr sigmoid(TensorExpr x) { return build<SigmoidOp>(x); }
TensorExpr softplus(TensorExpr x) { return build<SoftplusOp>(x); }
TensorExpr abs(TensorExpr x) { return build<AbsOp>(x); }
TensorExpr sign(TensorExpr x) { return build<SignOp>(x); }
TensorExpr round(TensorExpr x) { return build<RoundOp>(x); }
TensorExpr pow(TensorExpr x, TensorExpr y) { return build<PowOp>(x, y); }
TensorExpr where(TensorExpr condition, TensorExpr x, TensorExpr y) {
  return build<WhereOp>(condition, x, y);
}

TensorExpr widened(NNBuilder &b, Value x) {
  return {b, b.cast(x, workType(tensorType(x).getElementType()))};
}

SmallVector<TensorExpr> widened(NNBuilder &b, ValueRange values) {
  return llvm::map_to_vector(values, [&](Value v) { return widened(b, v); });
}

} // namespace frit::nn
