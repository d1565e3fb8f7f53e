//===- Window.cpp - Pooling -----------------------------------------------===//

#include "dialects/nn/lowering/Lowering.h"
#include "dialects/nn/lowering/SlidingWindow.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace frit::nn;

#define GET_OP_CLASSES
#include "dialects/nn/Window.cpp.inc"

/// Returns the window of a pool. Both kinds of pools have the same attributes.
template <typename Pool> static SlidingWindow windowOf(Pool op, Value x) {
  return {spatialShape(x, op.getChannelsLast()),
          op.getShape(),
          op.getWindow(),
          op.getStrides(),
          op.getPads(),
          op.getDilations()};
}

template <typename Adaptor>
static FailureOr<RankedTensorType> inferPool(Adaptor op,
                                             std::optional<Location> loc) {
  Value x = op.getX();
  ArrayRef<int64_t> from = shapeOf(x);
  if (from.size() < 3)
    return emitOptionalError(loc, "a tensor of shape ", shapeText(from),
                             " has no batch, channel and spatial dimensions");
  SlidingWindow sliding = windowOf(op, x);
  size_t rank = from.size() - 2;
  if (failed(sliding.check(loc, rank)))
    return failure();
  if (op.getShape().size() != rank)
    return emitOptionalError(loc, "shape has ", op.getShape().size(),
                             " entries for ", rank, " spatial dimensions");
  for (size_t dim = 0; dim < rank; ++dim) {
    int64_t size = sliding.input[dim], out = sliding.output[dim];
    if (ShapedType::isDynamic(size) || ShapedType::isDynamic(out))
      continue;
    // A window may start on a leading pad or in x. One that starts on a
    // trailing pad would be empty, as would any window over an empty input.
    uint64_t starts = size + sliding.pads[dim], stride = sliding.strides[dim];
    if (size < 1 || out < 1 ||
        static_cast<uint64_t>(out) > llvm::divideCeil(starts, stride))
      return emitOptionalError(loc, out, " windows do not fit into dimension ",
                               op.getChannelsLast() ? dim + 1 : dim + 2, " of ",
                               shapeText(from));
  }
  bool last = op.getChannelsLast();
  SmallVector<int64_t> shape = {from[0]};
  if (!last)
    shape.push_back(from[1]);
  llvm::append_range(shape, op.getShape());
  if (last)
    shape.push_back(from.back());
  return makeType(loc, shape, tensorType(x).getElementType());
}

FailureOr<RankedTensorType> MaxPoolOp::infer(Adaptor op,
                                             std::optional<Location> loc) {
  return inferPool(op, loc);
}

FailureOr<RankedTensorType> AvgPoolOp::infer(Adaptor op,
                                             std::optional<Location> loc) {
  return inferPool(op, loc);
}

/// Reduces the elements under every window; elements outside of x are the
/// neutral element.
template <typename Pool>
static Value combineWindows(ImplicitLocOpBuilder &b, Pool op, Value x,
                            Combiner kind) {
  bool last = op.getChannelsLast();
  SlidingWindow sliding = windowOf(op, op.getX());
  auto type = accumulatorType(op.getY());
  Type storage = tensorType(op.getX()).getElementType();
  MLIRContext *context = b.getContext();
  unsigned rank = type.getRank(), loops = rank + sliding.rank();
  unsigned outputLoop = last ? 1 : 2, channelLoop = last ? rank - 1 : 1;

  SmallVector<AffineExpr> under;
  for (unsigned loop = rank; loop < loops; ++loop)
    under.push_back(b.getAffineDimExpr(loop));
  // This tensor only gives the loops the window's shape; it is never read.
  Value window = tensor::EmptyOp::create(b, op.getWindow(),
                                         tensorType(x).getElementType());
  AffineMap windowMap = AffineMap::get(loops, 0, under, context);
  AffineMap resultMap = AffineMap::get(
      loops, 0, b.getMultiDimIdentityMap(rank).getResults(), context);
  TypedAttr init =
      identity(kind, type.getElementType(), storage.isUnsignedInteger());
  auto accumulate = [&](ImplicitLocOpBuilder &body, Value element, Value sum) {
    ScalarBuilder s(body);
    return combine(s, kind, s.wrap(sum, storage), s.wrap(element, storage))
        .value;
  };

  if (!sliding.leavesInput()) {
    SmallVector<AffineExpr> from = sliding.places(context, outputLoop, rank);
    from.insert(last ? from.end() : from.begin(),
                b.getAffineDimExpr(channelLoop));
    from.insert(from.begin(), b.getAffineDimExpr(0));
    return buildReduction(
        b, type, init, {x, window},
        {AffineMap::get(loops, 0, from, context), windowMap, resultMap},
        [&](ImplicitLocOpBuilder &body, ValueRange e) {
          return accumulate(body, ScalarBuilder(body).load(e[0]), e[2]);
        });
  }
  return buildReduction(
      b, type, init, window, {windowMap, resultMap},
      [&](ImplicitLocOpBuilder &body, ValueRange e) {
        auto [at, inside] = sliding.buildPlaces(body, outputLoop, rank);
        at.insert(last ? at.end() : at.begin(), indexOf(body, channelLoop));
        at.insert(at.begin(), indexOf(body, 0));
        Value element =
            ScalarBuilder(body).load(tensor::ExtractOp::create(body, x, at));
        if (inside && !(kind == Combiner::max && sliding.clampsIntoWindow()))
          element = arith::SelectOp::create(
              body, inside, element, arith::ConstantOp::create(body, init));
        return accumulate(body, element, e[1]);
      });
}

Value MaxPoolOp::buildLinalg(ImplicitLocOpBuilder &b, ValueRange x) {
  Value y = combineWindows(b, *this, x[0], Combiner::max);
  return buildRounding(b, y, loweredType(getY()).getElementType());
}

/// Returns, as an index, the number of elements in [low, high) of the window
/// that starts at `start`.
static Value countPlaces(ImplicitLocOpBuilder &b, Value start, int64_t window,
                         int64_t dilation, int64_t low, int64_t high) {
  // Element i is at start + i * dilation. The first i inside and the first past
  // it are quotients rounded up.
  auto first = [&](int64_t bound) {
    Value past =
        arith::SubIOp::create(b, indexConstant(b, bound + dilation - 1), start);
    past = clampIndex(b, past, 0, window * dilation);
    return arith::DivUIOp::create(b, past, indexConstant(b, dilation));
  };
  Value past = clampIndex(b, first(high), 0, window);
  Value before = clampIndex(b, first(low), 0, window);
  return arith::SubIOp::create(b, past, before);
}

Value AvgPoolOp::buildLinalg(ImplicitLocOpBuilder &b, ValueRange x) {
  SlidingWindow sliding = windowOf(*this, getX());
  Value sums = combineWindows(b, *this, x[0], Combiner::sum);
  auto type = loweredType(getY());
  unsigned outputLoop = getChannelsLast() ? 1 : 2;
  Type element = tensorType(sums).getElementType();
  return buildMap(
      b, type, sums, b.getMultiDimIdentityMap(type.getRank()),
      [&](ImplicitLocOpBuilder &body, ValueRange e) {
        // Dimensions whose windows all have the same number of elements
        // multiply to a constant.
        int64_t same = 1;
        Value varying;
        for (size_t dim = 0; dim < sliding.rank(); ++dim) {
          int64_t size = sliding.input[dim], low = 0, high = size;
          if (getIncludePad()) {
            low = -sliding.pads[dim];
            high = size + sliding.pads[sliding.rank() + dim];
          }
          int64_t last = (sliding.output[dim] - 1) * sliding.strides[dim] -
                         sliding.pads[dim] + sliding.reach(dim);
          if (-sliding.pads[dim] >= low && last < high) {
            same *= sliding.window[dim];
            continue;
          }
          Value start = scaleIndex(body, indexOf(body, outputLoop + dim),
                                   sliding.strides[dim], -sliding.pads[dim]);
          Value count = countPlaces(body, start, sliding.window[dim],
                                    sliding.dilations[dim], low, high);
          varying =
              varying ? arith::MulIOp::create(body, varying, count) : count;
        }
        Value count;
        if (varying) {
          varying = scaleIndex(body, varying, same, 0);
          Value whole =
              arith::IndexCastOp::create(body, body.getI32Type(), varying);
          count = arith::SIToFPOp::create(body, element, whole);
        } else {
          count = arith::ConstantOp::create(
              body, body.getFloatAttr(element, static_cast<double>(same)));
        }
        Value mean = arith::DivFOp::create(body, e[0], count);
        return ScalarBuilder(body).store(mean, type.getElementType());
      });
}

//===----------------------------------------------------------------------===//
// max_pool_places
//===----------------------------------------------------------------------===//

FailureOr<RankedTensorType>
MaxPoolPlacesOp::infer(Adaptor op, std::optional<Location> loc) {
  auto from = tensorType(op.getX()), to = tensorType(op.getY());
  if (from.getRank() < 3 || to.getRank() != from.getRank() ||
      failed(checkElementTypes(loc, {op.getX(), op.getY()})))
    return emitOptionalError(loc, "a tensor of shape ",
                             shapeText(to.getShape()), " is no pool of ",
                             shapeText(from.getShape()));
  SlidingWindow sliding{from.getShape().drop_front(2),
                        to.getShape().drop_front(2),
                        op.getWindow(),
                        op.getStrides(),
                        op.getPads(),
                        op.getDilations()};
  if (failed(sliding.check(loc, from.getRank() - 2)))
    return failure();
  return to.clone(IntegerType::get(to.getContext(), 64));
}

Value MaxPoolPlacesOp::buildLinalg(ImplicitLocOpBuilder &b, ValueRange x) {
  auto type = loweredType(getPlaces());
  SlidingWindow sliding{shapeOf(getX()).drop_front(2),
                        type.getShape().drop_front(2),
                        getWindow(),
                        getStrides(),
                        getPads(),
                        getDilations()};
  Type storage = tensorType(getX()).getElementType();
  unsigned rank = type.getRank(), loops = rank + sliding.rank();
  SmallVector<AffineExpr> under;
  for (unsigned loop = rank; loop < loops; ++loop)
    under.push_back(b.getAffineDimExpr(loop));
  Value window = tensor::EmptyOp::create(b, getWindow(), b.getI8Type());
  AffineMap windowMap = AffineMap::get(loops, 0, under, getContext());
  AffineMap resultMap = AffineMap::get(
      loops, 0, b.getMultiDimIdentityMap(rank).getResults(), getContext());
  return buildReduction(
      b, type, identity(Combiner::min, b.getI64Type(), false), {x[1], window},
      {resultMap, windowMap, resultMap},
      [&](ImplicitLocOpBuilder &body, ValueRange e) -> Value {
        ScalarBuilder s(body);
        auto [at, inside] = sliding.buildPlaces(body, 2, rank);
        Value flat = at[0];
        for (size_t dim = 1; dim < at.size(); ++dim)
          flat = arith::AddIOp::create(
              body, scaleIndex(body, flat, sliding.input[dim], 0), at[dim]);
        at.insert(at.begin(), {indexOf(body, 0), indexOf(body, 1)});
        Value element = tensor::ExtractOp::create(body, x[0], at);
        Scalar largest = s.wrap(s.load(e[0]), storage);
        Scalar hit = s.compare(ScalarBuilder::Compare::eq,
                               s.wrap(s.load(element), storage), largest);
        if (inside)
          hit = s.bitAnd(hit, {inside, false, &s});
        Value place = arith::IndexCastOp::create(body, body.getI64Type(), flat);
        Value best = arith::MinSIOp::create(body, place, e[2]);
        return arith::SelectOp::create(body, hit.value, best, e[2]);
      });
}
