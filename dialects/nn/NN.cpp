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

Value NNBuilder::scalarLike(Value like, double value) {
  Type element = tensorType(like).getElementType();
  auto type = RankedTensorType::get({}, element);
  Attribute attr = isa<FloatType>(element)
                       ? Attribute(getFloatAttr(element, value))
                       : getIntegerAttr(element, static_cast<int64_t>(value));
  return ConstantOp::create(*this, DenseElementsAttr::get(type, attr),
                            StringAttr());
}
