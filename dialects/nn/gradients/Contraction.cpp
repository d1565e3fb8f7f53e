//===- Contraction.cpp - Gradients of matrix products ---------------------===//

#include "dialects/nn/NN.h"

using namespace mlir;
using namespace frit::nn;

/// Returns `x` as a matrix of all its rows.
static Value flattenRows(NNBuilder &b, Value x) {
  ArrayRef<int64_t> shape = shapeOf(x);
  int64_t rows = 1;
  for (int64_t size : shape.drop_back())
    rows *= size;
  return b.reshape(x, {rows, shape.back()});
}

/// With A and B the operands as multiplied: dA = dy · Bᵀ and dB = Aᵀ · dy,
/// transposed again if the operand is stored transposed.
SmallVector<Value> MatmulOp::buildVjp(NNBuilder &b, Value dy) {
  Value left = getA(), right = getB();
  bool swapLeft = getTransposeA(), swapRight = getTransposeB();
  auto multiply = [&](Value x, Value y, bool swapX, bool swapY) -> Value {
    return MatmulOp::create(b, x, y, swapX, swapY, getTf32());
  };
  // A vector is a row on the left and a column on the right.
  SmallVector<int64_t> product(shapeOf(dy));
  if (shapeOf(right).size() == 1) {
    product.push_back(1);
    right = b.reshape(right, {shapeOf(right)[0], 1});
    swapRight = false;
  }
  if (shapeOf(left).size() == 1) {
    product.insert(product.end() - 1, 1);
    left = b.reshape(left, {1, shapeOf(left)[0]});
    swapLeft = false;
  }
  dy = b.reshape(dy, product);

  Value dLeft = swapLeft ? multiply(right, dy, swapRight, true)
                         : multiply(dy, right, false, !swapRight);
  // Weights that many rows share: one product sums over all rows.
  Value rows = left, dRows = dy;
  if (shapeOf(right).size() == 2 && !swapLeft) {
    rows = flattenRows(b, left);
    dRows = flattenRows(b, dy);
  }
  Value dRight = swapRight ? multiply(dRows, rows, true, swapLeft)
                           : multiply(rows, dRows, !swapLeft, false);
  if (shapeOf(getA()).size() == 1)
    dLeft = b.reshape(b.sumTo(dLeft, shapeOf(left)), shapeOf(getA()));
  if (shapeOf(getB()).size() == 1)
    dRight = b.reshape(b.sumTo(dRight, shapeOf(right)), shapeOf(getB()));
  return {dLeft, dRight};
}
