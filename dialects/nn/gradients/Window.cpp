//===- Window.cpp - Gradients of pooling ----------------------------------===//

#include "dialects/nn/lowering/SlidingWindow.h"
#include "dialects/nn/training/Gradient.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

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

/// The gradient of a window is dy at its place, or else the sum of dy over all
/// of the window.
SmallVector<Value> SumOverWindowsOp::buildVjp(NNBuilder &b, Value dy) {
  SmallVector<int64_t> shape(shapeOf(getX()));
  if (Value places = getPlaces()) {
    auto flat = [&](Value v) {
      return b.reshape(v, {shape[0], shape[1],
                           llvm::product_of(spatialShape(v, /*last=*/false))});
    };
    Value picked = GatherElementsOp::create(b, flat(dy), flat(places), 2);
    return {b.reshape(picked, shape), Value()};
  }
  // Zeros around dy, so that every window lies over as many elements.
  size_t dims = getShape().size();
  SmallVector<int64_t> low(2, 0), high(2, 0);
  for (size_t d = 0; d < dims; ++d) {
    int64_t last = (shape[2 + d] - 1) * getStrides()[d] +
                   (getWindow()[d] - 1) * getDilations()[d] - getPads()[d];
    low.push_back(getPads()[d]);
    high.push_back(std::max<int64_t>(last + 1 - getShape()[d], 0));
  }
  Value padded = PadOp::create(b, dy, b.scalarLike(dy, 0), low, high);
  SmallVector<int64_t> none(2 * dims, 0);
  TensorExpr mean(b, AvgPoolOp::create(b, padded, getWindow(), getStrides(),
                                       none, getDilations(),
                                       ArrayRef(shape).drop_front(2),
                                       /*include_pad=*/false,
                                       /*channels_last=*/false));
  return {mean * double(llvm::product_of(getWindow()))};
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

SmallVector<Value> AvgPoolOp::buildVjp(NNBuilder &b, Value dy) {
  return {AvgPoolGradOp::create(b, dy, getWindow(), getStrides(), getPads(),
                                getDilations(),
                                spatialShape(getX(), getChannelsLast()),
                                getIncludePad(), getChannelsLast())};
}
