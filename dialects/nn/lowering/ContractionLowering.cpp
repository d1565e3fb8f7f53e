//===- ContractionLowering.cpp - Products and convolutions as loops -------===//

#include "dialects/nn/lowering/Lowering.h"
#include "dialects/nn/lowering/SlidingWindow.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace frit::nn;

/// Builds sum + x * w; x and w have type `storage`, sum has the accumulator's.
static Value multiplyAdd(ImplicitLocOpBuilder &b, Value x, Value w, Value sum,
                         Type storage) {
  ScalarBuilder s(b);
  Scalar product = s.wrap(s.load(x), storage) * s.wrap(s.load(w), storage);
  return (s.wrap(sum, storage) + product).value;
}

/// Builds the element of x at `places` in a channel; zero outside of x.
static Value elementUnder(ImplicitLocOpBuilder &b, Value x,
                          SlidingWindow::Places places, Value channel,
                          bool channelsLast) {
  SmallVector<Value> &at = places.indices;
  at.insert(channelsLast ? at.end() : at.begin(), channel);
  at.insert(at.begin(), indexOf(b, 0));
  Value element = tensor::ExtractOp::create(b, x, at);
  if (!places.inside)
    return element;
  return arith::SelectOp::create(b, places.inside, element,
                                 zeroOf(b, element.getType()));
}

Value MatmulOp::buildLinalg(ImplicitLocOpBuilder &b, ValueRange x) {
  ArrayRef<int64_t> a = shapeOf(getA()), other = shapeOf(getB());
  bool hasRows = a.size() > 1, hasColumns = other.size() > 1;
  auto sums = accumulatorType(getY());
  Type storage = tensorType(getY()).getElementType();

  // Loops: the result's dimensions, then the reduction.
  unsigned rank = sums.getRank(), batchRank = rank - hasRows - hasColumns;
  ArrayRef<int64_t> batch = sums.getShape().take_front(batchRank);
  AffineExpr row = b.getAffineDimExpr(batchRank),
             column = b.getAffineDimExpr(batchRank + hasRows),
             inner = b.getAffineDimExpr(rank);
  auto operandMap = [&](ArrayRef<int64_t> shape, AffineExpr first,
                        AffineExpr second, bool swap) {
    if (shape.size() == 1)
      return AffineMap::get(rank + 1, 0, inner);
    SmallVector<AffineExpr> dims(
        broadcastMap(shape.drop_back(2), batch, getContext()).getResults());
    dims.push_back(swap ? second : first);
    dims.push_back(swap ? first : second);
    return AffineMap::get(rank + 1, 0, dims, getContext());
  };
  AffineMap maps[] = {operandMap(a, row, inner, getTransposeA()),
                      operandMap(other, inner, column, getTransposeB()),
                      AffineMap::getMultiDimIdentityMap(rank + 1, getContext())
                          .dropResult(rank)};
  Value y = buildReduction(
      b, sums, identity(Combiner::sum, sums.getElementType(), false), x, maps,
      [&](ImplicitLocOpBuilder &body, ValueRange e) {
        return multiplyAdd(body, e[0], e[1], e[2], storage);
      });
  return buildRounding(b, y, signlessType(storage));
}

Value ConvOp::buildLinalg(ImplicitLocOpBuilder &b, ValueRange x) {
  bool last = getChannelsLast();
  SlidingWindow sliding{spatialShape(getX(), last),
                        spatialShape(getY(), last),
                        spatialShape(getW(), last),
                        getStrides(),
                        getPads(),
                        getDilations()};
  auto sums = accumulatorType(getY());
  Type storage = tensorType(getY()).getElementType();
  unsigned spatial = sliding.rank(), rank = spatial + 2;
  int64_t group = getGroup();
  int64_t perGroup = last ? shapeOf(getW()).back() : shapeOf(getW())[1];
  int64_t filtersPerGroup = shapeOf(getW())[0] / group;

  // Loops: the result's dimensions, then w's channels and window in w's order,
  // so that the innermost loop reads contiguous memory.
  unsigned filterLoop = last ? rank - 1 : 1, outputLoop = last ? 1 : 2;
  unsigned channelLoop = last ? rank + spatial : rank;
  unsigned windowLoop = last ? rank : rank + 1;
  unsigned loops = rank + 1 + spatial;
  SmallVector<AffineExpr> weight = {b.getAffineDimExpr(filterLoop)};
  for (unsigned loop = rank; loop < loops; ++loop)
    weight.push_back(b.getAffineDimExpr(loop));
  AffineMap weightMap = AffineMap::get(loops, 0, weight, getContext());
  AffineMap resultMap = AffineMap::get(
      loops, 0, b.getMultiDimIdentityMap(rank).getResults(), getContext());
  TypedAttr zero = identity(Combiner::sum, sums.getElementType(), false);

  Value y;
  if (group == 1 && !sliding.leavesInput()) {
    SmallVector<AffineExpr> from =
        sliding.places(getContext(), outputLoop, windowLoop);
    from.insert(last ? from.end() : from.begin(),
                b.getAffineDimExpr(channelLoop));
    from.insert(from.begin(), b.getAffineDimExpr(0));
    AffineMap inputMap = AffineMap::get(loops, 0, from, getContext());
    y = buildReduction(b, sums, zero, x.take_front(2),
                       {inputMap, weightMap, resultMap},
                       [&](ImplicitLocOpBuilder &body, ValueRange e) {
                         return multiplyAdd(body, e[0], e[1], e[2], storage);
                       });
  } else {
    y = buildReduction(
        b, sums, zero, x[1], {weightMap, resultMap},
        [&](ImplicitLocOpBuilder &body, ValueRange e) {
          auto places = sliding.buildPlaces(body, outputLoop, windowLoop);
          Value channel = indexOf(body, channelLoop);
          if (group > 1) {
            Value which =
                arith::DivUIOp::create(body, indexOf(body, filterLoop),
                                       indexConstant(body, filtersPerGroup));
            channel = arith::AddIOp::create(
                body, scaleIndex(body, which, perGroup, 0), channel);
          }
          Value element = elementUnder(body, x[0], places, channel, last);
          return multiplyAdd(body, element, e[0], e[1], storage);
        });
  }
  if (!getBias())
    return buildRounding(b, y, storage);
  AffineMap perFilter = AffineMap::get(rank, 0, b.getAffineDimExpr(filterLoop));
  return buildMap(b, loweredType(getY()), {y, x[2]},
                  {b.getMultiDimIdentityMap(rank), perFilter},
                  [&](ImplicitLocOpBuilder &body, ValueRange e) {
                    ScalarBuilder s(body);
                    Scalar sum =
                        s.wrap(e[0], storage) + s.wrap(s.load(e[1]), storage);
                    return s.store(sum.value, storage);
                  });
}

Value DepthwiseConvOp::buildLinalg(ImplicitLocOpBuilder &b, ValueRange x) {
  SlidingWindow sliding{spatialShape(getX(), /*channelsLast=*/true),
                        spatialShape(getY(), /*channelsLast=*/true),
                        shapeOf(getW()).drop_back(),
                        getStrides(),
                        getPads(),
                        getDilations()};
  auto sums = accumulatorType(getY());
  Type storage = tensorType(getY()).getElementType();
  // Loops: the result's dimensions, then the window's.
  unsigned rank = sums.getRank(), loops = rank + sliding.rank();
  SmallVector<AffineExpr> weight;
  for (unsigned loop = rank; loop < loops; ++loop)
    weight.push_back(b.getAffineDimExpr(loop));
  weight.push_back(b.getAffineDimExpr(rank - 1));
  AffineMap weightMap = AffineMap::get(loops, 0, weight, getContext());
  AffineMap resultMap = AffineMap::get(
      loops, 0, b.getMultiDimIdentityMap(rank).getResults(), getContext());
  Value y = buildReduction(
      b, sums, identity(Combiner::sum, sums.getElementType(), false), x[1],
      {weightMap, resultMap}, [&](ImplicitLocOpBuilder &body, ValueRange e) {
        Value element =
            elementUnder(body, x[0], sliding.buildPlaces(body, 1, rank),
                         indexOf(body, rank - 1), /*channelsLast=*/true);
        return multiplyAdd(body, element, e[0], e[1], storage);
      });
  return buildRounding(b, y, storage);
}
