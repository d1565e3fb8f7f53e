//===- Movement.cpp - Gradients of views and movement ---------------------===//

#include "dialects/nn/NN.h"

using namespace mlir;
using namespace frit::nn;

SmallVector<Value> ReshapeOp::buildVjp(NNBuilder &b, Value dy) {
  return {b.reshape(dy, shapeOf(getX()))};
}

SmallVector<Value> TransposeOp::buildVjp(NNBuilder &b, Value dy) {
  SmallVector<int64_t> inverse(getPerm().size());
  for (auto [i, dim] : llvm::enumerate(getPerm()))
    inverse[dim] = i;
  return {TransposeOp::create(b, dy, inverse)};
}

SmallVector<Value> ExpandOp::buildVjp(NNBuilder &b, Value dy) {
  return {b.sumTo(dy, shapeOf(getX()))};
}
