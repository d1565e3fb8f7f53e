//===- Movement.cpp - Gradients of views and movement ---------------------===//

#include "dialects/nn/gradients/Parts.h"
#include "dialects/nn/training/Gradient.h"

using namespace mlir;
using namespace frit::nn;

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

Value frit::nn::padZeros(NNBuilder &b, Value x, ArrayRef<int64_t> low,
                         ArrayRef<int64_t> high) {
  SmallVector<int64_t> before(low), after(high);
  for (auto [dim, size] : llvm::enumerate(shapeOf(x))) {
    // If no element is kept, all of them are replaced.
    if (before[dim] >= -size && after[dim] >= -size)
      continue;
    after[dim] += size + before[dim];
    before[dim] = -size;
  }
  auto isZero = [](int64_t n) { return n == 0; };
  if (llvm::all_of(before, isZero) && llvm::all_of(after, isZero))
    return x;
  return PadOp::create(b, x, Value(), before, after, "constant");
}

Value frit::nn::shift(NNBuilder &b, Value x, int64_t axis, int64_t count) {
  SmallVector<int64_t> low(shapeOf(x).size(), 0), high = low;
  low[axis] = -count;
  high[axis] = count;
  return padZeros(b, x, low, high);
}

Value frit::nn::spreadOut(NNBuilder &b, Value x, ArrayRef<int64_t> steps) {
  SmallVector<int64_t> apart, joined, low, high, crop;
  for (auto [size, step] : llvm::zip_equal(shapeOf(x), steps)) {
    int64_t zeros = size > 1 ? step - 1 : 0;
    apart.append({size, 1});
    low.append({0, 0});
    high.append({0, zeros});
    joined.push_back(size * (zeros + 1));
    crop.push_back(-zeros);
  }
  if (llvm::all_of(crop, [](int64_t n) { return n == 0; }))
    return x;
  Value spread = padZeros(b, b.reshape(x, apart), low, high);
  return padZeros(b, b.reshape(spread, joined),
                  SmallVector<int64_t>(steps.size(), 0), crop);
}

Value frit::nn::reverse(NNBuilder &b, Value x, ArrayRef<int64_t> axes) {
  SmallVector<int64_t> sizes(shapeOf(x)), starts(sizes.size(), 0);
  SmallVector<int64_t> steps(sizes.size(), 1);
  for (int64_t axis : axes) {
    if (sizes[axis] < 2)
      continue;
    starts[axis] = sizes[axis] - 1;
    steps[axis] = -1;
  }
  if (!llvm::is_contained(steps, -1))
    return x;
  return SliceOp::create(b, x, starts, sizes, steps);
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

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

//===----------------------------------------------------------------------===//
// Parts of tensors
//===----------------------------------------------------------------------===//

SmallVector<Value> SliceOp::buildVjp(NNBuilder &b, Value dy) {
  ArrayRef<int64_t> from = shapeOf(getX()), sizes = getSizes();
  if (llvm::is_contained(sizes, 0))
    return {b.zeros(tensorType(getX()))};
  SmallVector<int64_t> backwards, steps, low, high;
  for (size_t dim = 0; dim < from.size(); ++dim) {
    int64_t step = getSteps()[dim], reach = (sizes[dim] - 1) * step;
    if (step < 0)
      backwards.push_back(dim);
    steps.push_back(std::abs(step));
    low.push_back(getStarts()[dim] + std::min<int64_t>(reach, 0));
    high.push_back(from[dim] - low.back() - std::abs(reach) - 1);
  }
  dy = spreadOut(b, reverse(b, dy, backwards), steps);
  return {padZeros(b, dy, low, high)};
}

SmallVector<Value> ConcatOp::buildVjp(NNBuilder &b, Value dy) {
  int64_t axis = axisOf(dy, getAxis());
  SmallVector<int64_t> starts(shapeOf(dy).size(), 0);
  SmallVector<int64_t> steps(starts.size(), 1);
  SmallVector<Value> gradients;
  for (Value x : getXs()) {
    gradients.push_back(SliceOp::create(b, dy, starts, shapeOf(x), steps));
    starts[axis] += shapeOf(x)[axis];
  }
  return gradients;
}

/// Returns the index of the element that element `i` - `low` of a dimension of
/// `size` elements repeats.
static int64_t paddedFrom(int64_t i, int64_t size, StringRef mode) {
  auto wrap = [&](int64_t period) { return ((i % period) + period) % period; };
  if (mode == "wrap")
    return wrap(size);
  if (mode == "edge" || size == 1)
    return std::clamp<int64_t>(i, 0, size - 1);
  int64_t period = 2 * (size - 1);
  return std::min(wrap(period), period - wrap(period));
}

SmallVector<Value> PadOp::buildVjp(NNBuilder &b, Value dy) {
  auto negate = [](ArrayRef<int64_t> list) {
    return llvm::map_to_vector(list, [](int64_t n) { return -n; });
  };
  SmallVector<Value> gradients;
  if (getMode() == "constant") {
    gradients.push_back(padZeros(b, dy, negate(getLow()), negate(getHigh())));
  } else {
    // A padded dimension is a gather.
    for (auto [dim, size] : llvm::enumerate(shapeOf(getX()))) {
      if (getLow()[dim] == 0 && getHigh()[dim] == 0)
        continue;
      SmallVector<int64_t> from;
      for (int64_t i = 0; i < shapeOf(getY())[dim]; ++i)
        from.push_back(paddedFrom(i - getLow()[dim], size, getMode()));
      auto type = RankedTensorType::get(from.size(), b.getI64Type());
      Value indices = ConstantOp::create(
          b, DenseElementsAttr::get(type, ArrayRef<int64_t>(from)),
          StringAttr());
      dy = GatherGradOp::create(b, dy, indices, size, dim);
    }
    gradients.push_back(dy);
  }
  if (!getValue())
    return gradients;
  if (getMode() != "constant") {
    gradients.push_back(Value());
    return gradients;
  }
  // The fill value's gradient is that of all padding elements.
  TensorExpr zero(b, b.zeros(tensorType(getX())));
  TensorExpr isPad(b, PadOp::create(b, zero, zero.number(1), getLow(),
                                    getHigh(), getMode()));
  gradients.push_back(TensorExpr(b, dy) * isPad);
  return gradients;
}

/// The step's gradient is that of i · step.
SmallVector<Value> IotaOp::buildVjp(NNBuilder &b, Value gradient) {
  TensorExpr dy = widened(b, gradient);
  TensorExpr place(b, b.cast(b.iota(getShape(), getAxis()),
                             tensorType(dy).getElementType()));
  return {dy, dy * place};
}
