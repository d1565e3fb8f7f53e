//===- Reduction.cpp - Gradients of reductions ----------------------------===//

#include "dialects/nn/gradients/Parts.h"

using namespace mlir;
using namespace frit::nn;

/// Returns for each element the product of all others along `axes`: that of the
/// elements before it times that of those after it. y / x would fail at 0.
static TensorExpr productOfOthers(NNBuilder &b, Value x,
                                  ArrayRef<int64_t> axes) {
  // All axes as one, the last.
  SmallVector<int64_t> perm;
  for (int64_t dim = 0; dim < tensorType(x).getRank(); ++dim)
    if (!llvm::is_contained(axes, dim))
      perm.push_back(dim);
  size_t kept = perm.size();
  llvm::append_range(perm, axes);
  Value moved = TransposeOp::create(b, x, perm);
  SmallVector<int64_t> rows(shapeOf(moved).take_front(kept));
  int64_t count = 1;
  for (int64_t axis : axes)
    count *= shapeOf(x)[axis];
  rows.push_back(count);
  Value line = b.reshape(moved, rows);
  int64_t last = rows.size() - 1;
  auto cumulate = [&](bool reverse) -> Value {
    return CumProdOp::create(b, line, last, /*exclusive=*/true, reverse);
  };
  Value others =
      b.reshape(b.mul(cumulate(false), cumulate(true)), shapeOf(moved));
  SmallVector<int64_t> inverse(perm.size());
  for (auto [i, dim] : llvm::enumerate(perm))
    inverse[dim] = i;
  return {b, TransposeOp::create(b, others, inverse)};
}

/// Elements that are equal to the maximum or minimum share its gradient.
SmallVector<Value> ReduceOp::buildVjp(NNBuilder &b, Value gradient) {
  TensorExpr x = widened(b, getX()), y = widened(b, getY());
  TensorExpr dy = widened(b, gradient);
  switch (getKind()) {
  case Combiner::sum:
    return {ExpandOp::create(b, dy, shapeOf(x))};
  case Combiner::prod:
    return {dy * productOfOthers(b, x, getAxes())};
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

/// With p[i] = x[0] ⋯ x[i], the gradient of x[k] is x[0] ⋯ x[k-1] · s[k], where
/// s[k] = dp[k] + x[k+1] · s[k+1]. This recurrence is a scan of the maps
/// s -> dp[k] + x[k+1] · s, which doubles their reach at each step (Blelloch,
/// "Prefix sums and their applications", 1990, section 1.4). Nothing is divided
/// by x, which may be 0.
SmallVector<Value> CumProdOp::buildVjp(NNBuilder &b, Value gradient) {
  TensorExpr x = widened(b, getX()), sums = widened(b, gradient);
  int64_t axis = axisOf(getX(), getAxis()), size = shapeOf(x)[axis];
  int64_t next = getReverse() ? -1 : 1;
  TensorExpr before(
      b, CumProdOp::create(b, x, axis, /*exclusive=*/true, getReverse()));
  if (getExclusive())
    sums = {b, shift(b, sums, axis, next)};
  TensorExpr factors(b, shift(b, x, axis, next));
  for (int64_t reach = 1; reach < size; reach *= 2) {
    TensorExpr later(b, shift(b, sums, axis, next * reach));
    sums = sums + factors * later;
    factors = factors * TensorExpr(b, shift(b, factors, axis, next * reach));
  }
  return {before * sums};
}
