//===- IndexCheck.cpp - Check indices that a model computes ---------------===//

#include "compiler/import/IndexCheck.h"

#include "dialects/nn/TensorExpr.h"

using namespace mlir;
using namespace frit;
using namespace frit::nn;

/// Builds a constant of one row.
static TensorExpr rowOf(NNBuilder &b, ArrayRef<int64_t> numbers) {
  auto type = RankedTensorType::get({int64_t(numbers.size())}, b.getI64Type());
  auto elements = DenseElementsAttr::get(type, numbers);
  return {b, ConstantOp::create(b, cast<ElementsAttr>(elements), StringAttr())};
}

Value frit::buildIndexCheck(NNBuilder &b, Value indices,
                            ArrayRef<IndexRange> ranges) {
  int64_t count = tensorType(indices).getNumElements();
  int64_t width = static_cast<int64_t>(ranges.size());
  const int64_t shape[] = {count / width, width};
  TensorExpr index(b, b.reshape(b.cast(indices, b.getI64Type()), shape));
  SmallVector<int64_t> leasts, mosts;
  for (const IndexRange &range : ranges) {
    leasts.push_back(range.least);
    mosts.push_back(range.most);
  }
  TensorExpr isInside =
      (index >= rowOf(b, leasts)) & (index <= rowOf(b, mosts));
  if (ranges[0].other)
    isInside = {b, OrOp::create(b, isInside,
                                equal(index, index.number(static_cast<double>(
                                                 *ranges[0].other))))};
  // The first one has the greatest number below 0.
  TensorExpr place(b, b.reshape(b.iota({count}, 0), shape));
  TensorExpr low(b, MaxOp::create(b, index, index.number(-0x1p31)));
  TensorExpr value(b, MinOp::create(b, low, low.number(0x1p31 - 1)));
  TensorExpr number = -1.0 - (place * 0x1p32 + (value + 0x1p31));
  TensorExpr each = where(isInside, -0x1p62, number);
  TensorExpr first(
      b, b.reshape(b.reduce(b.reshape(each, {count}), Combiner::max, {0}), {}));
  return where(equal(first, first.number(-0x1p62)), 0, first);
}
