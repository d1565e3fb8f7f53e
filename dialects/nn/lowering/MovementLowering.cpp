//===- MovementLowering.cpp - Lower operators that move elements ----------===//

#include "dialects/nn/lowering/Loops.h"
#include "dialects/nn/lowering/Lowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace frit::nn;

static Value yieldFirst(ImplicitLocOpBuilder &, ValueRange elements) {
  return elements[0];
}

/// Returns the indices of the result's element.
static SmallVector<Value> loopIndices(ImplicitLocOpBuilder &b, int64_t rank) {
  SmallVector<Value> indices;
  for (int64_t dim = 0; dim < rank; ++dim)
    indices.push_back(indexOf(b, dim));
  return indices;
}

Value TransposeOp::buildLinalg(ImplicitLocOpBuilder &b, ValueRange x) {
  SmallVector<AffineExpr> from(getPerm().size());
  for (auto [i, dim] : llvm::enumerate(getPerm()))
    from[dim] = b.getAffineDimExpr(i);
  return buildMap(b, loweredType(getY()), x,
                  AffineMap::get(from.size(), 0, from, getContext()),
                  yieldFirst);
}

Value ExpandOp::buildLinalg(ImplicitLocOpBuilder &b, ValueRange x) {
  return buildMap(b, loweredType(getY()), x,
                  broadcastMap(shapeOf(getX()), shapeOf(getY()), getContext()),
                  yieldFirst);
}

Value SliceOp::buildLinalg(ImplicitLocOpBuilder &b, ValueRange x) {
  auto type = loweredType(getY());
  int64_t rank = type.getRank();
  SmallVector<AffineExpr> from;
  bool isMap = true;
  for (int64_t dim = 0; dim < rank; ++dim) {
    from.push_back(b.getAffineDimExpr(dim) * getSteps()[dim] +
                   getStarts()[dim]);
    // In a map, a loop index alone must span all of the operand's dimension.
    // And tiling does not handle negative steps.
    isMap &=
        getSteps()[dim] > 0 && (!isa<AffineDimExpr>(from.back()) ||
                                shapeOf(getX())[dim] == type.getDimSize(dim));
  }
  // An empty result has no first element, whose index the map would need.
  if (isMap && type.getNumElements() != 0)
    return buildMap(b, type, x, AffineMap::get(rank, 0, from, getContext()),
                    yieldFirst);
  return buildMap(b, type, {}, {}, [&](ImplicitLocOpBuilder &body, ValueRange) {
    SmallVector<Value> at = loopIndices(body, rank);
    for (int64_t dim = 0; dim < rank; ++dim)
      at[dim] = scaleIndex(body, at[dim], getSteps()[dim], getStarts()[dim]);
    return tensor::ExtractOp::create(body, x[0], at);
  });
}

Value ConcatOp::buildLinalg(ImplicitLocOpBuilder &b, ValueRange x) {
  auto type = loweredType(getY());
  int64_t axis = axisOf(getY(), getAxis());
  // Read every operand at a clamped index and select the right element. This
  // needs no branches.
  return buildMap(b, type, {}, {}, [&](ImplicitLocOpBuilder &body, ValueRange) {
    SmallVector<Value> at = loopIndices(body, type.getRank());
    Value place = at[axis], result;
    int64_t offset = 0;
    for (Value operand : x) {
      int64_t size = shapeOf(operand)[axis];
      if (size == 0)
        continue;
      at[axis] =
          clampIndex(body, scaleIndex(body, place, 1, -offset), 0, size - 1);
      Value element = tensor::ExtractOp::create(body, operand, at);
      if (result) {
        Value before =
            arith::CmpIOp::create(body, arith::CmpIPredicate::slt, place,
                                  indexConstant(body, offset));
        result = arith::SelectOp::create(body, before, result, element);
      } else {
        result = element;
      }
      offset += size;
    }
    return result ? result : zeroOf(body, type.getElementType());
  });
}

/// Builds the source index of element `i` of a padded dimension of `size`
/// elements.
static Value padSource(ImplicitLocOpBuilder &b, Value i, int64_t size,
                       StringRef mode) {
  if (mode == "wrap")
    return wrapIndex(b, i, size);
  if (mode == "reflect" && size > 1) {
    // A period goes there and back, without repeating the ends.
    int64_t period = 2 * (size - 1);
    Value there = wrapIndex(b, i, period);
    Value back = arith::SubIOp::create(b, indexConstant(b, period), there);
    return arith::MinSIOp::create(b, there, back);
  }
  return clampIndex(b, i, 0, size - 1);
}

Value PadOp::buildLinalg(ImplicitLocOpBuilder &b, ValueRange x) {
  auto type = loweredType(getY());
  ArrayRef<int64_t> from = shapeOf(getX());
  bool constant = getMode() == "constant";
  auto values = x.drop_front();
  auto body = [&](ImplicitLocOpBuilder &body, ValueRange elements) -> Value {
    Value value =
        getValue() ? elements[0] : zeroOf(body, type.getElementType());
    if (llvm::is_contained(from, 0))
      return value;
    SmallVector<Value> at = loopIndices(body, type.getRank());
    Value inside;
    for (auto [dim, index] : llvm::enumerate(at)) {
      if (getLow()[dim] == 0 && getHigh()[dim] == 0)
        continue;
      index = scaleIndex(body, index, 1, -getLow()[dim]);
      if (constant) {
        Value isIn = indexIsIn(body, index, 0, from[dim]);
        inside = inside ? arith::AndIOp::create(body, inside, isIn) : isIn;
      }
      index = padSource(body, index, from[dim], getMode());
    }
    Value element = tensor::ExtractOp::create(body, x[0], at);
    if (!inside)
      return element;
    return arith::SelectOp::create(body, inside, element, value);
  };
  SmallVector<AffineMap> maps(values.size(),
                              AffineMap::get(type.getRank(), 0, getContext()));
  return buildMap(b, type, values, maps, body);
}

/// Builds the index into a dimension of `size` elements from an element of
/// `indices`: negative ones count from the end, and it is clamped.
static Value buildPlace(ImplicitLocOpBuilder &b, Value element, int64_t size) {
  Value index = arith::IndexCastOp::create(b, b.getIndexType(), element);
  Value below = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, index,
                                      indexConstant(b, 0));
  Value fromEnd = scaleIndex(b, index, 1, size);
  index = arith::SelectOp::create(b, below, fromEnd, index);
  return clampIndex(b, index, 0, size - 1);
}

Value GatherOp::buildLinalg(ImplicitLocOpBuilder &b, ValueRange x) {
  auto type = loweredType(getY());
  ArrayRef<int64_t> from = shapeOf(getX());
  int64_t axis = axisOf(getX(), getAxis());
  int64_t picked = shapeOf(getIndices()).size(), size = from[axis];
  SmallVector<AffineExpr> dims;
  for (int64_t i = 0; i < picked; ++i)
    dims.push_back(b.getAffineDimExpr(axis + i));
  AffineMap map = AffineMap::get(type.getRank(), 0, dims, getContext());
  return buildMap(
      b, type, x[1], map,
      [&](ImplicitLocOpBuilder &body, ValueRange elements) -> Value {
        if (size == 0)
          return zeroOf(body, type.getElementType());
        SmallVector<Value> at = loopIndices(body, type.getRank());
        SmallVector<Value> source(at.begin(), at.begin() + axis);
        source.push_back(buildPlace(body, elements[0], size));
        source.append(at.begin() + axis + picked, at.end());
        return tensor::ExtractOp::create(body, x[0], source);
      });
}

Value GatherElementsOp::buildLinalg(ImplicitLocOpBuilder &b, ValueRange x) {
  auto type = loweredType(getY());
  int64_t axis = axisOf(getY(), getAxis());
  return buildMap(
      b, type, x[1], b.getMultiDimIdentityMap(type.getRank()),
      [&](ImplicitLocOpBuilder &body, ValueRange elements) -> Value {
        if (type.getNumElements() == 0)
          return zeroOf(body, type.getElementType());
        SmallVector<Value> at = loopIndices(body, type.getRank());
        at[axis] = buildPlace(body, elements[0], shapeOf(getX())[axis]);
        return tensor::ExtractOp::create(body, x[0], at);
      });
}

Value IotaOp::buildLinalg(ImplicitLocOpBuilder &b, ValueRange x) {
  auto type = loweredType(getY());
  Type storage = tensorType(getY()).getElementType();
  AffineMap scalar = AffineMap::get(type.getRank(), 0, getContext());
  return buildMap(b, type, x, {scalar, scalar},
                  [&](ImplicitLocOpBuilder &body, ValueRange elements) {
                    ScalarBuilder s(body);
                    Scalar start = s.wrap(s.load(elements[0]), storage);
                    Scalar step = s.wrap(s.load(elements[1]), storage);
                    Scalar place = s.wrap(
                        arith::IndexCastOp::create(body, body.getI64Type(),
                                                   indexOf(body, getAxis())),
                        body.getI64Type());
                    Scalar y = start + s.cast(place, storage) * step;
                    return s.store(y.value, type.getElementType());
                  });
}

Value TriluOp::buildLinalg(ImplicitLocOpBuilder &b, ValueRange x) {
  auto type = loweredType(getY());
  int64_t rank = type.getRank();
  return buildMap(
      b, type, x, b.getMultiDimIdentityMap(rank),
      [&](ImplicitLocOpBuilder &body, ValueRange elements) {
        Value column = indexOf(body, rank - 1), row = indexOf(body, rank - 2);
        Value diagonal = arith::SubIOp::create(body, column, row);
        Value kept = arith::CmpIOp::create(
            body,
            getUpper() ? arith::CmpIPredicate::sge : arith::CmpIPredicate::sle,
            diagonal, indexConstant(body, static_cast<int64_t>(getK())));
        return arith::SelectOp::create(body, kept, elements[0],
                                       zeroOf(body, type.getElementType()));
      });
}

Value frit::nn::lowerUpdate(UpdateOp update, ImplicitLocOpBuilder &b,
                            ValueRange x) {
  auto type = loweredType(update.getY());
  unsigned rank = type.getRank(), axis = update.getAxis();
  int64_t rows = shapeOf(update.getValue())[axis];
  bool isShared = shapeOf(update.getOffset()).empty();
  return buildMap(b, type, {}, {}, [&](ImplicitLocOpBuilder &body, ValueRange) {
    SmallVector<Value> at = loopIndices(body, rank);
    Value old = tensor::ExtractOp::create(body, x[0], at);
    Value first = arith::IndexCastOp::create(
        body, body.getIndexType(),
        tensor::ExtractOp::create(body, x[2], isShared ? ValueRange() : at[0]));
    Value row = arith::SubIOp::create(body, at[axis], first);
    Value isNew = indexIsIn(body, row, 0, rows);
    at[axis] = clampIndex(body, row, 0, rows - 1);
    return arith::SelectOp::create(
        body, isNew, tensor::ExtractOp::create(body, x[1], at), old);
  });
}
