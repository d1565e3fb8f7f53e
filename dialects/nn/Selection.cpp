//===- Selection.cpp - Scattering, sorting and counting -------------------===//

#include "dialects/nn/Loops.h"
#include "dialects/nn/Lowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace frit::nn;

#define GET_OP_CLASSES
#include "dialects/nn/Selection.cpp.inc"

/// A tensor that is never read, but gives a loop its number of steps.
static Value loopOf(ImplicitLocOpBuilder &b, int64_t steps) {
  return tensor::EmptyOp::create(b, ArrayRef<int64_t>{steps}, b.getI8Type());
}

/// The maps of a nest of `rank` loops over a result and one more inside: of the
/// tensor that gives that one its steps, and of the result.
static std::pair<AffineMap, AffineMap> nestMaps(ImplicitLocOpBuilder &b,
                                                unsigned rank) {
  return {
      AffineMap::get(rank + 1, 0, {b.getAffineDimExpr(rank)}, b.getContext()),
      AffineMap::get(rank + 1, 0, b.getMultiDimIdentityMap(rank).getResults(),
                     b.getContext())};
}

//===----------------------------------------------------------------------===//
// scatter_elements
//===----------------------------------------------------------------------===//

FailureOr<RankedTensorType>
ScatterElementsOp::infer(Adaptor op, std::optional<Location> loc) {
  auto type = tensorType(op.getX());
  auto updates = tensorType(op.getUpdates());
  ArrayRef<int64_t> picked = shapeOf(op.getIndices());
  auto axis = normalizeAxis(loc, op.getAxis(), type.getRank());
  if (!axis || failed(checkElementTypes(loc, {op.getX(), op.getUpdates()})))
    return failure();
  bool fits = updates.getRank() == type.getRank() &&
              picked.size() == updates.getShape().size();
  for (int64_t dim = 0; fits && dim < type.getRank(); ++dim) {
    int64_t size = type.getDimSize(dim), count = updates.getDimSize(dim);
    fits = mayEqual(picked[dim], count) &&
           (dim == *axis || ShapedType::isDynamic(size) ||
            ShapedType::isDynamic(count) || count <= size);
  }
  if (!fits)
    return emitOptionalError(
        loc, "indices of shape ", shapeText(picked), " and updates of shape ",
        shapeText(updates.getShape()), " do not fit x of shape ",
        shapeText(type.getShape()));
  Type element = type.getElementType();
  if (op.getReduction() != "none" && (isSmall(element) || element.isInteger(1)))
    return emitOptionalError(loc, "elements of type ", element,
                             " cannot be combined");
  return type;
}

/// The combination of an element and an update.
static Scalar combineUpdate(ScalarBuilder &s, StringRef reduction, Scalar x,
                            Scalar update) {
  if (reduction == "add")
    return x + update;
  if (reduction == "mul")
    return x * update;
  if (reduction == "max")
    return s.max(x, update);
  return reduction == "min" ? s.min(x, update) : update;
}

Value ScatterElementsOp::buildLinalg(ImplicitLocOpBuilder &b, ValueRange x) {
  auto type = loweredType(getY());
  unsigned rank = type.getRank();
  unsigned axis = getAxis() < 0 ? getAxis() + rank : getAxis();
  ArrayRef<int64_t> shape = type.getShape(), count = shapeOf(getUpdates());
  if (llvm::is_contained(count, 0))
    return x[0];
  Type storage = tensorType(getX()).getElementType();
  // What only moves keeps its form; what is combined is f32 in between.
  bool combines = getReduction() != "none";
  AffineMap identity = b.getMultiDimIdentityMap(rank);
  Value start =
      buildMap(b, combines ? accumulatorType(getY()) : type, x[0], identity,
               [&](ImplicitLocOpBuilder &body, ValueRange e) {
                 return combines ? ScalarBuilder(body).load(e[0]) : e[0];
               });
  auto [loop, result] = nestMaps(b, rank);
  Value y = buildAccumulation(
      b, start, loopOf(b, count[axis]), {loop, result},
      [&](ImplicitLocOpBuilder &body, ValueRange e) -> Value {
        using P = arith::CmpIPredicate;
        ScalarBuilder s(body);
        SmallVector<Value> at;
        Value place = indexOf(body, axis), hit;
        for (unsigned dim = 0; dim < rank; ++dim) {
          at.push_back(indexOf(body, dim == axis ? rank : dim));
          if (dim == axis || count[dim] == shape[dim])
            continue;
          Value isIn = indexIsIn(body, at[dim], 0, count[dim]);
          hit = hit ? arith::AndIOp::create(body, hit, isIn) : isIn;
          at[dim] = clampIndex(body, at[dim], 0, count[dim] - 1);
        }
        Value index = arith::IndexCastOp::create(
            body, body.getIndexType(),
            tensor::ExtractOp::create(body, x[1], at));
        Value below =
            arith::CmpIOp::create(body, P::slt, index, indexConstant(body, 0));
        index = arith::SelectOp::create(
            body, below, scaleIndex(body, index, 1, shape[axis]), index);
        Value same = arith::CmpIOp::create(body, P::eq, index, place);
        hit = hit ? arith::AndIOp::create(body, hit, same) : same;
        Value update = tensor::ExtractOp::create(body, x[2], at);
        if (combines)
          update = combineUpdate(s, getReduction(), s.wrap(e[1], storage),
                                 s.wrap(s.load(update), storage))
                       .value;
        return arith::SelectOp::create(body, hit, update, e[1]);
      });
  return buildRounding(b, y, type.getElementType());
}

//===----------------------------------------------------------------------===//
// sort_places
//===----------------------------------------------------------------------===//

FailureOr<RankedTensorType> SortPlacesOp::infer(Adaptor op,
                                                std::optional<Location> loc) {
  auto type = tensorType(op.getX());
  if (!normalizeAxis(loc, op.getAxis(), type.getRank()))
    return failure();
  return type.clone(IntegerType::get(type.getContext(), 64));
}

/// The number of elements that come before: smaller ones, and equal ones with
/// smaller places. NaN is the largest and equal to itself, so that every place
/// is there once.
Value SortPlacesOp::buildLinalg(ImplicitLocOpBuilder &b, ValueRange x) {
  auto type = loweredType(getPlaces());
  Type storage = tensorType(getX()).getElementType();
  unsigned rank = type.getRank();
  unsigned axis = getAxis() < 0 ? getAxis() + rank : getAxis();
  SmallVector<AffineExpr> result, from;
  for (unsigned dim = 0; dim < rank; ++dim) {
    result.push_back(b.getAffineDimExpr(dim));
    from.push_back(b.getAffineDimExpr(dim == axis ? rank : dim));
  }
  auto map = [&](ArrayRef<AffineExpr> dims) {
    return AffineMap::get(rank + 1, 0, dims, getContext());
  };
  return buildReduction(
      b, type, b.getI64IntegerAttr(0), {x[0], x[0]},
      {map(result), map(from), map(result)},
      [&](ImplicitLocOpBuilder &body, ValueRange e) -> Value {
        ScalarBuilder s(body);
        Scalar mine = s.wrap(s.load(e[0]), storage);
        Scalar other = s.wrap(s.load(e[1]), storage);
        if (getDescending())
          std::swap(mine, other);
        Value isFirst =
            arith::CmpIOp::create(body, arith::CmpIPredicate::slt,
                                  indexOf(body, rank), indexOf(body, axis));
        Scalar less = other < mine;
        Scalar equal = s.compare(ScalarBuilder::Compare::eq, other, mine);
        if (isa<FloatType>(storage)) {
          Scalar mineIsNaN = s.isNaN(mine), otherIsNaN = s.isNaN(other);
          less = s.bitOr(less, s.bitAnd(mineIsNaN, s.bitNot(otherIsNaN)));
          equal = s.bitOr(equal, s.bitAnd(mineIsNaN, otherIsNaN));
        }
        Scalar before = s.bitOr(less, s.bitAnd(equal, {isFirst, false, &s}));
        Value one =
            arith::ExtUIOp::create(body, body.getI64Type(), before.value);
        return arith::AddIOp::create(body, e[2], one);
      });
}

//===----------------------------------------------------------------------===//
// counted
//===----------------------------------------------------------------------===//

FailureOr<RankedTensorType> CountedOp::infer(Adaptor op,
                                             std::optional<Location> loc) {
  auto type = tensorType(op.getX());
  auto axis = normalizeAxis(loc, op.getAxis(), type.getRank());
  if (!axis)
    return failure();
  int64_t size = op.getSize(), most = type.getDimSize(*axis);
  if (size < 0 || (!ShapedType::isDynamic(most) && size > most))
    return emitOptionalError(loc, "takes ", size, " of ", most, " entries");
  SmallVector<int64_t> shape(type.getShape());
  shape[*axis] = size;
  return makeType(loc, shape, type.getElementType());
}
