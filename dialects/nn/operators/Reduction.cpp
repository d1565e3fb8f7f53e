//===- Reduction.cpp - Reductions -----------------------------------------===//

#include "dialects/nn/lowering/Loops.h"
#include "dialects/nn/lowering/Lowering.h"
#include "dialects/nn/operators/Places.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace frit::nn;

#define GET_OP_CLASSES
#include "dialects/nn/Reduction.cpp.inc"

/// Returns the type of `x` with size 1 at `axes`, which are ascending.
static FailureOr<RankedTensorType>
inferReduced(std::optional<Location> loc, Value x, ArrayRef<int64_t> axes) {
  auto type = tensorType(x);
  SmallVector<int64_t> shape(type.getShape());
  int64_t last = -1;
  for (int64_t axis : axes) {
    if (axis < 0 || axis >= type.getRank())
      return emitOptionalError(loc, "axis ", axis,
                               " is out of range for a tensor of rank ",
                               type.getRank());
    if (axis <= last)
      return emitOptionalError(loc, "axis ", axis, " comes after axis ", last);
    last = axis;
    shape[axis] = 1;
  }
  return makeType(loc, shape, type.getElementType());
}

FailureOr<RankedTensorType> ReduceOp::infer(Adaptor op,
                                            std::optional<Location> loc) {
  return inferReduced(loc, op.getX(), op.getAxes());
}

OpFoldResult ReduceOp::fold(FoldAdaptor) {
  // Reducing single elements changes nothing.
  ArrayRef<int64_t> shape = shapeOf(getX());
  return getX().getType() == getY().getType() &&
                 llvm::all_of(getAxes(),
                              [&](int64_t axis) { return shape[axis] == 1; })
             ? OpFoldResult(getX())
             : OpFoldResult();
}

Value ReduceOp::buildLinalg(ImplicitLocOpBuilder &b, ValueRange x) {
  auto full = accumulatorType(getY());
  Type storage = tensorType(getX()).getElementType();
  int64_t rank = full.getRank();

  // The accumulators omit the reduced dimensions, as linalg's transformations
  // expect; the sizes of 1 are added at the end.
  SmallVector<AffineExpr> kept;
  SmallVector<int64_t> keptShape;
  for (int64_t dim = 0; dim < rank; ++dim)
    if (!llvm::is_contained(getAxes(), dim)) {
      kept.push_back(b.getAffineDimExpr(dim));
      keptShape.push_back(full.getDimSize(dim));
    }
  auto type = full.clone(keptShape);
  Value sums = buildReduction(
      b, type,
      identity(getKind(), type.getElementType(), storage.isUnsignedInteger()),
      x,
      {b.getMultiDimIdentityMap(rank),
       AffineMap::get(rank, 0, kept, getContext())},
      [&](ImplicitLocOpBuilder &body, ValueRange elements) {
        ScalarBuilder s(body);
        return combine(s, getKind(), s.wrap(elements[1], storage),
                       s.wrap(s.load(elements[0]), storage))
            .value;
      });
  Value y = buildRounding(b, sums, signlessType(storage));
  return buildReshape(b, y, loweredType(getY()).getShape());
}

FailureOr<RankedTensorType> ReduceMeanOp::infer(Adaptor op,
                                                std::optional<Location> loc) {
  return inferReduced(loc, op.getX(), op.getAxes());
}

SmallVector<Value> ReduceMeanOp::decompose(NNBuilder &b) {
  Value x = getX();
  int64_t count = 1;
  for (int64_t axis : getAxes())
    count *= shapeOf(x)[axis];
  Type element = tensorType(x).getElementType();
  // A half-precision sum may overflow where the mean does not.
  Value wide = b.cast(x, workType(element));
  Value sum = b.reduce(wide, Combiner::sum, getAxes());
  return {b.cast(b.div(sum, b.scalarLike(sum, count)), element)};
}

//===----------------------------------------------------------------------===//
// arg_max, arg_min
//===----------------------------------------------------------------------===//

template <typename Adaptor>
static FailureOr<RankedTensorType> inferArgReduce(Adaptor op,
                                                  std::optional<Location> loc) {
  auto type = tensorType(op.getX());
  auto axis = normalizeAxis(loc, op.getAxis(), type.getRank());
  if (!axis)
    return failure();
  if (type.getDimSize(*axis) == 0)
    return emitOptionalError(loc, "dimension ", *axis,
                             " is empty, so there is nothing to pick");
  SmallVector<int64_t> shape(type.getShape());
  if (op.getKeepdims())
    shape[*axis] = 1;
  else
    shape.erase(shape.begin() + *axis);
  return makeType(loc, shape, IntegerType::get(type.getContext(), 64));
}

FailureOr<RankedTensorType> ArgMaxOp::infer(Adaptor op,
                                            std::optional<Location> loc) {
  return inferArgReduce(op, loc);
}

FailureOr<RankedTensorType> ArgMinOp::infer(Adaptor op,
                                            std::optional<Location> loc) {
  return inferArgReduce(op, loc);
}

/// Returns the parts into which a long line is divided, so that many threads
/// reduce it; 1 if it is short, is one of many, or has no suitable divisor.
static int64_t partsOf(RankedTensorType type, int64_t axis) {
  constexpr int64_t longLine = 8192, manyLines = 64, mostParts = 1024;
  constexpr int64_t longestLine = 1 << 24; // whole numbers that f32 holds
  int64_t size = type.getDimSize(axis);
  if (axis != type.getRank() - 1 || size < longLine || size > longestLine ||
      type.getNumElements() / size > manyLines)
    return 1;
  int64_t parts = 1;
  for (int64_t divisor = 2; divisor <= mostParts; ++divisor)
    if (size % divisor == 0 && size / divisor >= divisor)
      parts = divisor;
  return parts;
}

/// Builds the first (or last) of `places` along an axis whose element of `x` is
/// the best, by two reductions. A NaN is better than numbers, which is also
/// what reductions make of it; with `numbersOnly` nothing equals it, and the
/// place is `none`.
static std::pair<Value, Value> reduceToPlace(NNBuilder &b, Value x,
                                             Value places, Value none,
                                             Combiner kind, bool last,
                                             int64_t axis, bool numbersOnly) {
  Value best = b.reduce(x, kind, axis);
  Value wins = EqualOp::create(b, x, best);
  if (!numbersOnly && isa<FloatType>(tensorType(x).getElementType()))
    wins = OrOp::create(b, wins, IsNaNOp::create(b, x));
  return {best, b.reduce(WhereOp::create(b, wins, places, none),
                         last ? Combiner::max : Combiner::min, axis)};
}

/// Builds the first (or last) index whose element is the best. Of a long line,
/// each part has one kernel's row, and the best of parts another.
template <typename Op>
static SmallVector<Value> decomposeArgReduce(Op op, NNBuilder &b,
                                             Combiner kind) {
  Value x = op.getX();
  auto type = tensorType(x);
  int64_t axis = axisOf(x, op.getAxis()), size = type.getDimSize(axis);
  int64_t parts = partsOf(type, axis), each = size / parts;
  bool last = op.getSelectLastIndex(), numbersOnly = op->hasAttr(kNumbersOnly);
  auto numbers = [&](int64_t count, int64_t along) {
    SmallVector<int64_t> line(shapeOf(x).size(), 1);
    line[along] = count;
    return b.iota(line, along);
  };
  if (parts == 1) {
    Value none = b.integer(last ? -1 : size);
    Value y = reduceToPlace(b, x, numbers(size, axis), none, kind, last, axis,
                            numbersOnly)
                  .second;
    return {b.reshape(y, shapeOf(op.getY()))};
  }
  SmallVector<int64_t> shape(type.getShape().drop_back());
  shape.append({parts, each});
  x = b.reshape(x, shape);
  // Rows of f32 have fast kernels, and places are exact there.
  Type f32 = b.getF32Type();
  Value none = b.cast(b.integer(last ? -1 : size), f32);
  auto [bests, within] =
      reduceToPlace(b, x, b.cast(numbers(each, axis + 1), f32), none, kind,
                    last, axis + 1, numbersOnly);
  Value first = b.mul(numbers(parts, axis), b.integer(each));
  Value places = b.add(within, b.cast(first, f32));
  Value y = reduceToPlace(b, bests, places, none, kind, last, axis, numbersOnly)
                .second;
  return {b.reshape(b.cast(y, b.getI64Type()), shapeOf(op.getY()))};
}

SmallVector<Value> ArgMaxOp::decompose(NNBuilder &b) {
  return decomposeArgReduce(*this, b, Combiner::max);
}

SmallVector<Value> ArgMinOp::decompose(NNBuilder &b) {
  return decomposeArgReduce(*this, b, Combiner::min);
}

//===----------------------------------------------------------------------===//
// cum_sum, cum_prod
//===----------------------------------------------------------------------===//

template <typename Adaptor>
static FailureOr<RankedTensorType>
inferCumulative(Adaptor op, std::optional<Location> loc) {
  auto type = tensorType(op.getX());
  if (!normalizeAxis(loc, op.getAxis(), type.getRank()))
    return failure();
  return type;
}

FailureOr<RankedTensorType> CumSumOp::infer(Adaptor op,
                                            std::optional<Location> loc) {
  return inferCumulative(op, loc);
}

FailureOr<RankedTensorType> CumProdOp::infer(Adaptor op,
                                             std::optional<Location> loc) {
  return inferCumulative(op, loc);
}

/// Builds the cumulative reduction. Elements outside of the range are replaced
/// by the neutral element.
template <typename Op>
static Value buildCumulative(Op op, ImplicitLocOpBuilder &b, ValueRange x,
                             Combiner kind) {
  auto sums = accumulatorType(op.getY());
  Type storage = tensorType(op.getY()).getElementType();
  unsigned rank = sums.getRank();
  unsigned axis = axisOf(op.getY(), op.getAxis());
  using P = arith::CmpIPredicate;
  P counts = op.getReverse() ? (op.getExclusive() ? P::sgt : P::sge)
                             : (op.getExclusive() ? P::slt : P::sle);
  SmallVector<AffineExpr> result, from;
  for (unsigned dim = 0; dim < rank; ++dim) {
    result.push_back(b.getAffineDimExpr(dim));
    from.push_back(b.getAffineDimExpr(dim == axis ? rank : dim));
  }
  auto map = [&](ArrayRef<AffineExpr> dims) {
    return AffineMap::get(rank + 1, 0, dims, b.getContext());
  };
  TypedAttr none = identity(kind, sums.getElementType(), false);
  Value y = buildReduction(
      b, sums, none, x, {map(from), map(result)},
      [&](ImplicitLocOpBuilder &body, ValueRange e) {
        ScalarBuilder s(body);
        Value other = indexOf(body, rank), place = indexOf(body, axis);
        Value isIn = arith::CmpIOp::create(body, counts, other, place);
        Value element = arith::SelectOp::create(
            body, isIn, s.load(e[0]), arith::ConstantOp::create(body, none));
        return combine(s, kind, s.wrap(e[1], storage), s.wrap(element, storage))
            .value;
      });
  return buildRounding(b, y, signlessType(storage));
}

Value CumSumOp::buildLinalg(ImplicitLocOpBuilder &b, ValueRange x) {
  return buildCumulative(*this, b, x, Combiner::sum);
}

Value CumProdOp::buildLinalg(ImplicitLocOpBuilder &b, ValueRange x) {
  return buildCumulative(*this, b, x, Combiner::prod);
}
