//===- Window.cpp - Gradients of pooling ----------------------------------===//

#include "dialects/nn/lowering/SlidingWindow.h"
#include "dialects/nn/operators/Gradient.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <limits>
#include <map>

using namespace mlir;
using namespace frit::nn;

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

FailureOr<RankedTensorType> MaxPoolGradOp::infer(Adaptor op,
                                                 std::optional<Location> loc) {
  auto x = tensorType(op.getX()), y = tensorType(op.getY());
  bool last = op.getChannelsLast();
  if (failed(checkElementTypes(loc, {op.getX(), op.getY(), op.getDy()})))
    return failure();
  bool fits = x.getRank() >= 3 && y.getRank() == x.getRank() &&
              mayBeSame(op.getDy().getType(), y);
  for (int64_t dim = 0; fits && dim < x.getRank(); ++dim) {
    bool isSpatial = last ? dim > 0 && dim < x.getRank() - 1 : dim > 1;
    fits = isSpatial ? x.getDimSize(dim) != 0 && y.getDimSize(dim) != 0
                     : mayEqual(x.getDimSize(dim), y.getDimSize(dim));
  }
  if (!fits)
    return emitOptionalError(loc, "dy of ", shapeText(shapeOf(op.getDy())),
                             " and y of ", shapeText(y.getShape()),
                             " are no pool of ", shapeText(x.getShape()));
  SlidingWindow sliding{spatialShape(op.getX(), last),
                        spatialShape(op.getY(), last),
                        op.getWindow(),
                        op.getStrides(),
                        op.getPads(),
                        op.getDilations()};
  if (failed(sliding.check(loc, x.getRank() - 2)))
    return failure();
  return x;
}

/// Infers the result of adding up windows: `x` with the spatial shape `shape`.
template <typename Adaptor>
static FailureOr<RankedTensorType>
inferWindowSums(Adaptor op, Value x, bool last, std::optional<Location> loc) {
  SmallVector<int64_t> shape(shapeOf(x));
  size_t rank = op.getShape().size();
  if (shape.size() < 3 || rank != shape.size() - 2 ||
      llvm::is_contained(spatialShape(x, last), 0))
    return emitOptionalError(loc, "windows of shape ", shapeText(shape),
                             " do not lie over a shape of ",
                             shapeText(op.getShape()));
  SlidingWindow sliding{op.getShape(),  spatialShape(x, last),
                        op.getWindow(), op.getStrides(),
                        op.getPads(),   op.getDilations()};
  if (failed(sliding.check(loc, rank)))
    return failure();
  llvm::copy(op.getShape(), shape.begin() + (last ? 1 : 2));
  return makeType(loc, shape, tensorType(x).getElementType());
}

FailureOr<RankedTensorType> AvgPoolGradOp::infer(Adaptor op,
                                                 std::optional<Location> loc) {
  return inferWindowSums(op, op.getDy(), op.getChannelsLast(), loc);
}

FailureOr<RankedTensorType>
SumOverWindowsOp::infer(Adaptor op, std::optional<Location> loc) {
  if (Value places = op.getPlaces();
      places && shapeOf(places) != shapeOf(op.getX()))
    return emitOptionalError(loc, "places have shape ",
                             shapeText(shapeOf(places)), " for windows of ",
                             shapeText(shapeOf(op.getX())));
  return inferWindowSums(op, op.getX(), /*last=*/false, loc);
}

//===----------------------------------------------------------------------===//
// sum_over_windows
//===----------------------------------------------------------------------===//

Value SumOverWindowsOp::buildLinalg(ImplicitLocOpBuilder &b, ValueRange x) {
  auto type = accumulatorType(getY());
  unsigned rank = type.getRank(), loops = rank + getWindow().size();
  SmallVector<AffineExpr> under;
  for (unsigned loop = rank; loop < loops; ++loop)
    under.push_back(b.getAffineDimExpr(loop));
  // This tensor only gives the loops the window's shape; it is never read.
  Value window = tensor::EmptyOp::create(b, getWindow(), b.getI8Type());
  AffineMap maps[] = {
      AffineMap::get(loops, 0, under, getContext()),
      AffineMap::get(loops, 0, b.getMultiDimIdentityMap(rank).getResults(),
                     getContext())};
  Value sums = buildReduction(
      b, type, cast<TypedAttr>(b.getZeroAttr(type.getElementType())), window,
      maps, [&](ImplicitLocOpBuilder &body, ValueRange e) -> Value {
        using P = arith::CmpIPredicate;
        SmallVector<Value> at = {indexOf(body, 0), indexOf(body, 1)};
        Value counts, own;
        auto require = [&](Value holds) {
          counts = counts ? arith::AndIOp::create(body, counts, holds) : holds;
        };
        for (size_t d = 0; d < getWindow().size(); ++d) {
          // Element i is under offset w of window o if
          // i = o · stride + w · dilation - pad.
          Value i = indexOf(body, 2 + d), w = indexOf(body, rank + d);
          own = own ? arith::AddIOp::create(
                          body, scaleIndex(body, own, getShape()[d], 0), i)
                    : i;
          Value start =
              arith::SubIOp::create(body, scaleIndex(body, i, 1, getPads()[d]),
                                    scaleIndex(body, w, getDilations()[d], 0));
          int64_t count = shapeOf(getX())[2 + d];
          Value o = arith::DivUIOp::create(
              body, arith::MaxSIOp::create(body, start, indexConstant(body, 0)),
              indexConstant(body, getStrides()[d]));
          require(arith::CmpIOp::create(
              body, P::eq, scaleIndex(body, o, getStrides()[d], 0), start));
          require(arith::CmpIOp::create(body, P::slt, o,
                                        indexConstant(body, count)));
          at.push_back(clampIndex(body, o, 0, count - 1));
        }
        if (getPlaces()) {
          Value place = tensor::ExtractOp::create(body, x[1], at);
          Value mine = arith::IndexCastOp::create(body, body.getI64Type(), own);
          require(arith::CmpIOp::create(body, P::eq, place, mine));
        }
        ScalarBuilder s(body);
        Value element = s.load(tensor::ExtractOp::create(body, x[0], at));
        element = arith::SelectOp::create(body, counts, element,
                                          zeroOf(body, element.getType()));
        return arith::AddFOp::create(body, e[1], element);
      });
  return buildRounding(b, sums, loweredType(getY()).getElementType());
}

//===----------------------------------------------------------------------===//
// Pools
//===----------------------------------------------------------------------===//

/// Moves the channels of an image to dimension 1, or back to the end.
static Value moveChannels(NNBuilder &b, Value x, bool toFirst) {
  int64_t rank = tensorType(x).getRank();
  SmallVector<int64_t> perm = {0};
  if (toFirst)
    perm.push_back(rank - 1);
  for (int64_t dim = toFirst ? 1 : 2; dim < rank - toFirst; ++dim)
    perm.push_back(dim);
  if (!toFirst)
    perm.push_back(1);
  return TransposeOp::create(b, x, perm);
}

SmallVector<Value> MaxPoolGradOp::decompose(NNBuilder &b) {
  bool last = getChannelsLast();
  auto first = [&](Value v) { return last ? moveChannels(b, v, true) : v; };
  Value x = first(getX()), y = first(getY()), dy = first(getDy());
  Value places = MaxPoolPlacesOp::create(b, x, y, getWindow(), getStrides(),
                                         getPads(), getDilations());
  Value dx = SumOverWindowsOp::create(b, dy, places, getWindow(), getStrides(),
                                      getPads(), getDilations(),
                                      spatialShape(x, false));
  return {last ? moveChannels(b, dx, false) : dx};
}

/// Returns how many elements of a dimension each window averages.
static SmallVector<double> countElements(AvgPoolGradOp op, size_t dim) {
  int64_t rank = op.getShape().size(), pad = op.getPads()[dim];
  int64_t low = 0, high = op.getShape()[dim];
  if (op.getIncludePad()) {
    low = -pad;
    high += op.getPads()[rank + dim];
  }
  SmallVector<double> counts;
  int64_t windows = spatialShape(op.getDy(), op.getChannelsLast())[dim];
  for (int64_t window = 0; window < windows; ++window) {
    int64_t start = window * op.getStrides()[dim] - pad;
    // The first elements inside and past the bounds.
    auto firstFrom = [&](int64_t bound) {
      int64_t distance = std::max<int64_t>(bound - start, 0);
      int64_t step = op.getDilations()[dim];
      return std::min((distance + step - 1) / step, op.getWindow()[dim]);
    };
    counts.push_back(firstFrom(high) - firstFrom(low));
  }
  return counts;
}

SmallVector<Value> AvgPoolGradOp::decompose(NNBuilder &b) {
  bool last = getChannelsLast();
  TensorExpr dy = widened(b, last ? moveChannels(b, getDy(), true) : getDy());
  Type work = tensorType(dy).getElementType();
  // Dimensions whose windows all have as many elements divide by one number.
  double same = 1;
  for (size_t dim = 0; dim < getShape().size(); ++dim) {
    SmallVector<double> counts = countElements(*this, dim);
    if (llvm::all_equal(counts)) {
      same *= counts.front();
      continue;
    }
    SmallVector<int64_t> line(getShape().size(), 1);
    line[dim] = counts.size();
    auto numbers = llvm::map_to_vector(counts, [&](double count) {
      return Attribute(b.getFloatAttr(work, count));
    });
    auto type = RankedTensorType::get(line, work);
    dy = dy / TensorExpr(b, ConstantOp::create(
                                b, DenseElementsAttr::get(type, numbers),
                                StringAttr()));
  }
  Value dx = SumOverWindowsOp::create(
      b, b.cast(dy / same, tensorType(getDx()).getElementType()), Value(),
      getWindow(), getStrides(), getPads(), getDilations(), getShape());
  return {last ? moveChannels(b, dx, false) : dx};
}

//===----------------------------------------------------------------------===//
// Max pools of small windows
//===----------------------------------------------------------------------===//

/// Largest window of which kernels read all elements for each result.
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
  /// What dimension `dim` has for shift `shift`: the offset by remainder.
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
    // The offset that element r of a stride has, by r; -2 if it has none.
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

SmallVector<Value> AvgPoolOp::buildVjp(NNBuilder &b, Value dy) {
  return {AvgPoolGradOp::create(b, dy, getWindow(), getStrides(), getPads(),
                                getDilations(),
                                spatialShape(getX(), getChannelsLast()),
                                getIncludePad(), getChannelsLast())};
}
