//===- MaxPool.cpp - Gradient of max pools --------------------------------===//

#include "dialects/nn/training/Gradient.h"

#include <limits>
#include <map>

using namespace mlir;
using namespace frit::nn;

/// Largest window of which kernels read all elements per result.
static constexpr int64_t kSmallWindow = 25;

namespace {
/// The gradient of a max pool as elementwise operators. Of each window it keeps
/// the offset of the first maximum in 8 bits. With stride s, element s · q + r
/// of a dimension is under window q + a at offset w if
///
///   r + pad - w · dilation = s · a
///
/// so that in the shape (q, r) the gradient is the sum over the shifts a of
/// `where(offsets[q + a] == w(r), dy[q + a], 0)`.
class SmallMaxPoolGradient {
public:
  SmallMaxPoolGradient(MaxPoolOp op)
      : op(op), rank(tensorType(op.getX()).getRank()),
        first(op.getChannelsLast() ? 1 : 2), dims(op.getWindow().size()) {}

  /// Returns whether the window is small and the strides divide the shape.
  bool applies();
  /// Returns the gradient of x. The offsets are computed after the pool, so
  /// that x need not be kept.
  Value build(NNBuilder &b, Value dy);

private:
  /// The offsets by remainder, for each shift of a dimension.
  using Shifts = std::map<int64_t, SmallVector<std::optional<int64_t>>>;

  int64_t count() { return llvm::product_of(op.getWindow()); }
  int64_t stride(size_t d) { return op.getStrides()[d]; }
  Value elementsAt(NNBuilder &b, ArrayRef<int64_t> offset);
  Value offsets(NNBuilder &b);
  Shifts shifts(size_t dim);
  Value shifted(NNBuilder &b, Value x, ArrayRef<int64_t> by, double outside);

  MaxPoolOp op;
  int64_t rank, first;
  size_t dims;
};
} // namespace

bool SmallMaxPoolGradient::applies() {
  for (size_t d = 0; d < dims; ++d)
    if (shapeOf(op.getX())[first + d] % stride(d) != 0)
      return false;
  return count() <= kSmallWindow;
}

/// Returns for each window the element at `offset`, or -∞ outside x; null if
/// that is outside for all.
Value SmallMaxPoolGradient::elementsAt(NNBuilder &b, ArrayRef<int64_t> offset) {
  SmallVector<int64_t> starts(rank, 0), sizes(shapeOf(op.getX()));
  SmallVector<int64_t> steps(rank, 1), low(rank, 0), high(rank, 0);
  for (size_t d = 0; d < dims; ++d) {
    int64_t dim = first + d, s = stride(d);
    int64_t windows = shapeOf(op.getY())[dim];
    int64_t start = offset[d] * op.getDilations()[d] - op.getPads()[d];
    low[dim] = start < 0 ? (-start + s - 1) / s : 0;
    int64_t room = sizes[dim] - start - 1;
    int64_t end = room < 0 ? 0 : std::min(windows, room / s + 1);
    if (end <= low[dim])
      return {};
    starts[dim] = start + low[dim] * s;
    sizes[dim] = end - low[dim];
    steps[dim] = s;
    high[dim] = windows - end;
  }
  Value part = SliceOp::create(b, op.getX(), starts, sizes, steps);
  Value outside = b.scalarLike(part, -std::numeric_limits<double>::infinity());
  return PadOp::create(b, part, outside, low, high);
}

Value SmallMaxPoolGradient::offsets(NNBuilder &b) {
  TensorExpr y(b, op.getY());
  std::optional<TensorExpr> place;
  for (int64_t flat = count() - 1; flat >= 0; --flat) {
    SmallVector<int64_t> offset(dims);
    for (int64_t d = dims - 1, rest = flat; d >= 0; --d) {
      offset[d] = rest % op.getWindow()[d];
      rest /= op.getWindow()[d];
    }
    Value x = elementsAt(b, offset);
    if (!x)
      continue;
    // The last one needs no comparison.
    place = place ? where(equal(TensorExpr(b, x), y), y.number(flat), *place)
                  : where(equal(y, y), y.number(flat), y.number(flat));
  }
  return *place;
}

SmallMaxPoolGradient::Shifts SmallMaxPoolGradient::shifts(size_t d) {
  Shifts found;
  int64_t s = stride(d);
  for (int64_t w = 0; w < op.getWindow()[d]; ++w) {
    int64_t distance = op.getPads()[d] - w * op.getDilations()[d];
    int64_t remainder = ((-distance) % s + s) % s;
    auto &offsets = found[(remainder + distance) / s];
    offsets.resize(s);
    offsets[remainder] = w;
  }
  return found;
}

/// Returns x[q + by] for all q, with a dimension of size 1 after each q.
Value SmallMaxPoolGradient::shifted(NNBuilder &b, Value x, ArrayRef<int64_t> by,
                                    double outside) {
  SmallVector<int64_t> shape, low, high;
  for (int64_t dim = 0; dim < rank; ++dim) {
    int64_t size = shapeOf(x)[dim], d = dim - first;
    bool spatial = d >= 0 && d < int64_t(dims);
    shape.push_back(size);
    low.push_back(spatial ? -by[d] : 0);
    high.push_back(spatial ? shapeOf(op.getX())[dim] / stride(d) + by[d] - size
                           : 0);
    if (spatial) {
      shape.push_back(1);
      low.push_back(0);
      high.push_back(0);
    }
  }
  Value number = b.scalarLike(x, outside);
  return PadOp::create(b, b.reshape(x, shape), number, low, high);
}

Value SmallMaxPoolGradient::build(NNBuilder &b, Value dy) {
  NNBuilder forward(op.getLoc(), op);
  forward.setInsertionPointAfter(op);
  Type element = b.getI8Type();
  Value places = forward.cast(offsets(forward), element);

  // All combinations of the dimensions' shifts.
  SmallVector<SmallVector<int64_t>> all = {{}};
  SmallVector<Shifts> byDim;
  for (size_t d = 0; d < dims; ++d) {
    byDim.push_back(shifts(d));
    SmallVector<SmallVector<int64_t>> longer;
    for (const SmallVector<int64_t> &begun : all)
      for (auto &[shift, offsets] : byDim[d]) {
        longer.push_back(begun);
        longer.back().push_back(shift);
      }
    all = std::move(longer);
  }
  std::optional<TensorExpr> sum;
  for (ArrayRef<int64_t> by : all) {
    // The offset, by r, that element r of a stride has; -2 if it has none.
    SmallVector<int64_t> shape(rank + dims, 1);
    SmallVector<int64_t> flat = {0};
    for (size_t d = 0; d < dims; ++d) {
      shape[first + 2 * d + 1] = stride(d);
      SmallVector<int64_t> longer;
      for (int64_t begun : flat)
        for (std::optional<int64_t> w : byDim[d][by[d]])
          longer.push_back(begun < 0 || !w ? -2
                                           : begun * op.getWindow()[d] + *w);
      flat = std::move(longer);
    }
    auto numbers = llvm::map_to_vector(flat, [&](int64_t number) {
      return Attribute(b.getIntegerAttr(element, number));
    });
    TensorExpr own(b, ConstantOp::create(
                          b,
                          DenseElementsAttr::get(
                              RankedTensorType::get(shape, element), numbers),
                          StringAttr()));
    TensorExpr at(b, shifted(b, places, by, -1));
    TensorExpr gradient(b, shifted(b, dy, by, 0));
    TensorExpr term = widened(b, where(equal(at, own), gradient, 0.0));
    sum = sum ? *sum + term : term;
  }
  return b.reshape(b.cast(*sum, tensorType(op.getX()).getElementType()),
                   shapeOf(op.getX()));
}

SmallVector<Value> MaxPoolOp::buildVjp(NNBuilder &b, Value dy) {
  if (SmallMaxPoolGradient gradient(*this); gradient.applies())
    return {gradient.build(b, dy)};
  return {MaxPoolGradOp::create(b, getX(), getY(), dy, getWindow(),
                                getStrides(), getPads(), getDilations(),
                                getChannelsLast())};
}
