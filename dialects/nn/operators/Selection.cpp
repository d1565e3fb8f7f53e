//===- Selection.cpp - Scatter, sort, merge and search --------------------===//

#include "dialects/nn/lowering/Loops.h"
#include "dialects/nn/lowering/Lowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include "llvm/ADT/bit.h"

using namespace mlir;
using namespace frit::nn;

#define GET_OP_CLASSES
#include "dialects/nn/Selection.cpp.inc"

/// Creates a tensor that is never read; it only gives a loop its trip count.
static Value loopOf(ImplicitLocOpBuilder &b, int64_t steps) {
  return tensor::EmptyOp::create(b, ArrayRef<int64_t>{steps}, b.getI8Type());
}

/// Returns the maps of `rank` loops over a result with one loop inside: for the
/// tensor of `loopOf`, and for the result.
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

/// Combines an element and an update.
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
  unsigned axis = axisOf(getX(), getAxis());
  ArrayRef<int64_t> shape = type.getShape(), count = shapeOf(getUpdates());
  if (llvm::is_contained(count, 0))
    return x[0];
  Type storage = tensorType(getX()).getElementType();
  // Without a reduction elements keep their type; with one they are f32 in
  // between.
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

/// Builds the place of each element: the number of elements that come before
/// it, which are smaller, or equal with a smaller index. NaN is the largest and
/// equal to itself, so that the places are a permutation.
Value SortPlacesOp::buildLinalg(ImplicitLocOpBuilder &b, ValueRange x) {
  auto type = loweredType(getPlaces());
  Type storage = tensorType(getX()).getElementType();
  unsigned rank = type.getRank();
  unsigned axis = axisOf(getX(), getAxis());
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
// merge_places, search_sorted
//===----------------------------------------------------------------------===//

/// Returns whether x is before or equal to y. NaN is the largest.
static Value isInOrder(Scalar x, Scalar y, bool isDescending = false) {
  ScalarBuilder &s = *x.builder;
  if (isDescending)
    std::swap(x, y);
  Scalar result = s.compare(ScalarBuilder::Compare::le, x, y);
  return (y.isFloat() ? s.bitOr(result, s.isNaN(y)) : result).value;
}

/// Finds the largest number up to `most` for which `holds`, or 0, by binary
/// search. `holds` must be monotonic.
static Value findLargest(ImplicitLocOpBuilder &b, int64_t most,
                         llvm::function_ref<Value(Value)> holds) {
  Value found = indexConstant(b, 0), last = indexConstant(b, most);
  for (auto step = llvm::bit_floor(static_cast<uint64_t>(most)); step;
       step /= 2) {
    Value next = scaleIndex(b, found, 1, step);
    Value isIn =
        arith::CmpIOp::create(b, arith::CmpIPredicate::sle, next, last);
    Value passes = arith::AndIOp::create(
        b, isIn, holds(arith::MinSIOp::create(b, next, last)));
    found = arith::SelectOp::create(b, passes, next, found);
  }
  return found;
}

/// Reads the element of x (of type `storage`) at the loops' indices, with
/// `place` as the last.
static Scalar elementAt(ScalarBuilder &s, ImplicitLocOpBuilder &b, Value x,
                        Type storage, Value place) {
  SmallVector<Value> at;
  for (int64_t dim = 0; dim < tensorType(x).getRank() - 1; ++dim)
    at.push_back(indexOf(b, dim));
  at.push_back(place);
  return s.wrap(s.load(tensor::ExtractOp::create(b, x, at)), storage);
}

FailureOr<RankedTensorType> MergePlacesOp::infer(Adaptor op,
                                                 std::optional<Location> loc) {
  auto type = tensorType(op.getX());
  SmallVector<int64_t> shape(type.getShape());
  if (shape.empty() || ShapedType::isDynamic(shape.back()) ||
      shape.back() % 2 || op.getCount() > uint64_t(shape.back()))
    return emitOptionalError(loc, "cannot merge ", op.getCount(),
                             " elements of ", shapeText(shape));
  shape.back() = op.getCount();
  return makeType(loc, shape, IntegerType::get(type.getContext(), 64));
}

Value MergePlacesOp::buildLinalg(ImplicitLocOpBuilder &b, ValueRange x) {
  auto type = loweredType(getPlaces());
  Type storage = tensorType(getX()).getElementType();
  int64_t size = shapeOf(getX()).back() / 2;
  return buildMap(
      b, type, {}, {}, [&](ImplicitLocOpBuilder &body, ValueRange) -> Value {
        ScalarBuilder s(body);
        using P = arith::CmpIPredicate;
        Value none = indexConstant(body, 0), all = indexConstant(body, size);
        Value result = indexOf(body, type.getRank() - 1);
        auto compare = [&](P predicate, Value i, Value j) -> Value {
          return arith::CmpIOp::create(body, predicate, i, j);
        };
        // Whether element i of the first half comes before element j of the
        // second, if both exist.
        auto isBefore = [&](Value i, Value j) -> Value {
          Value inFirst = clampIndex(body, i, 0, size - 1);
          Value inSecond =
              scaleIndex(body, clampIndex(body, j, 0, size - 1), 1, size);
          return arith::OrIOp::create(
              body, compare(P::sge, j, all),
              isInOrder(elementAt(s, body, x[0], storage, inFirst),
                        elementAt(s, body, x[0], storage, inSecond),
                        getDescending()));
        };
        Value first = findLargest(body, size, [&](Value next) -> Value {
          Value others = arith::SubIOp::create(body, result, next);
          return arith::AndIOp::create(
              body, compare(P::sge, others, none),
              isBefore(scaleIndex(body, next, 1, -1), others));
        });
        Value second = arith::SubIOp::create(body, result, first);
        Value isFirst = arith::AndIOp::create(body, compare(P::slt, first, all),
                                              isBefore(first, second));
        return arith::IndexCastOp::create(
            body, body.getI64Type(),
            arith::SelectOp::create(body, isFirst, first,
                                    scaleIndex(body, second, 1, size)));
      });
}

FailureOr<RankedTensorType> SearchSortedOp::infer(Adaptor op,
                                                  std::optional<Location> loc) {
  auto rows = tensorType(op.getSorted()), type = tensorType(op.getValues());
  if (failed(checkElementTypes(loc, {op.getSorted(), op.getValues()})))
    return failure();
  bool fits = type.getRank() > 0 && rows.getRank() == type.getRank() &&
              !ShapedType::isDynamic(rows.getShape().back());
  for (int64_t dim = 0; fits && dim < type.getRank() - 1; ++dim)
    fits = mayEqual(rows.getDimSize(dim), type.getDimSize(dim));
  if (!fits)
    return emitOptionalError(loc, "rows of shape ", shapeText(rows.getShape()),
                             " and values of shape ",
                             shapeText(type.getShape()), " do not fit");
  return type.clone(IntegerType::get(type.getContext(), 64));
}

Value SearchSortedOp::buildLinalg(ImplicitLocOpBuilder &b, ValueRange x) {
  auto type = loweredType(getCounts());
  Type storage = tensorType(getValues()).getElementType();
  int64_t size = shapeOf(getSorted()).back();
  return buildMap(b, type, x[1], b.getMultiDimIdentityMap(type.getRank()),
                  [&](ImplicitLocOpBuilder &body, ValueRange e) -> Value {
                    ScalarBuilder s(body);
                    Scalar value = s.wrap(s.load(e[0]), storage);
                    Value count = findLargest(body, size, [&](Value next) {
                      return isInOrder(elementAt(s, body, x[0], storage,
                                                 scaleIndex(body, next, 1, -1)),
                                       value);
                    });
                    return arith::IndexCastOp::create(body, body.getI64Type(),
                                                      count);
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
