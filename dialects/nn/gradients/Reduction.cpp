//===- Reduction.cpp - Gradients of reductions ----------------------------===//

#include "dialects/nn/NN.h"

using namespace mlir;
using namespace frit::nn;

/// Elements that are equal to the maximum or minimum share its gradient.
SmallVector<Value> ReduceOp::buildVjp(NNBuilder &b, Value gradient) {
  TensorExpr x(b, getX()), y(b, getY()), dy(b, gradient);
  switch (getKind()) {
  case Combiner::sum:
    return {ExpandOp::create(b, dy, shapeOf(x))};
  case Combiner::prod:
    return {dy * y / x};
  case Combiner::max:
  case Combiner::min: {
    TensorExpr one = x.number(1);
    TensorExpr hits = where(equal(x, y), one, 0.0);
    TensorExpr count(b, b.reduce(hits, Combiner::sum, getAxes()));
    return {hits * (dy / count)};
  }
  }
  llvm_unreachable("no such combiner");
}
