//===- Movement.cpp - Operators that move elements: shapes and folds ------===//

#include "dialects/nn/NN.h"

#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;
using namespace frit::nn;

#define GET_OP_CLASSES
#include "dialects/nn/Movement.cpp.inc"

static FailureOr<RankedTensorType> typeLike(std::optional<Location> loc,
                                            Value x, ArrayRef<int64_t> shape) {
  return makeType(loc, shape, tensorType(x).getElementType());
}

/// Reports an error unless a list attribute has an entry per dimension of `x`.
static LogicalResult checkLength(std::optional<Location> loc, StringRef name,
                                 ArrayRef<int64_t> list, Value x) {
  int64_t rank = tensorType(x).getRank();
  if (static_cast<int64_t>(list.size()) == rank)
    return success();
  return emitOptionalError(loc, name, " has ", list.size(),
                           " entries for a tensor of rank ", rank);
}

static bool isIdentity(ArrayRef<int64_t> perm) {
  return llvm::all_of(llvm::enumerate(perm), [](auto entry) {
    return static_cast<int64_t>(entry.index()) == entry.value();
  });
}

//===----------------------------------------------------------------------===//
// transpose
//===----------------------------------------------------------------------===//

FailureOr<RankedTensorType> TransposeOp::infer(Adaptor op,
                                               std::optional<Location> loc) {
  ArrayRef<int64_t> perm = op.getPerm();
  if (failed(checkLength(loc, "perm", perm, op.getX())))
    return failure();
  ArrayRef<int64_t> from = shapeOf(op.getX());
  SmallVector<bool> seen(from.size(), false);
  SmallVector<int64_t> shape;
  for (int64_t dim : perm) {
    if (dim < 0 || dim >= static_cast<int64_t>(from.size()) || seen[dim])
      return emitOptionalError(loc, "perm is not a permutation of 0 to ",
                               static_cast<int64_t>(from.size()) - 1);
    seen[dim] = true;
    shape.push_back(from[dim]);
  }
  return typeLike(loc, op.getX(), shape);
}

OpFoldResult TransposeOp::fold(FoldAdaptor) {
  if (isIdentity(getPerm()) && getX().getType() == getY().getType())
    return getX();
  return {};
}

/// transpose(transpose(x, p), q) is transpose(x, p[q]). A transpose that moves
/// only dimensions of size 1 is a reshape, which is free.
LogicalResult TransposeOp::canonicalize(TransposeOp op,
                                        PatternRewriter &rewriter) {
  if (auto inner = op.getX().getDefiningOp<TransposeOp>()) {
    auto perm = llvm::map_to_vector(
        op.getPerm(), [&](int64_t dim) { return inner.getPerm()[dim]; });
    rewriter.replaceOpWithNewOp<TransposeOp>(op, inner.getX(), perm);
    return success();
  }
  auto from = tensorType(op.getX()), to = tensorType(op.getY());
  if (!to.hasStaticShape())
    return rewriter.notifyMatchFailure(op, "its shape is dynamic");
  SmallVector<int64_t> moved;
  for (int64_t dim : op.getPerm())
    if (from.getDimSize(dim) != 1)
      moved.push_back(dim);
  if (!llvm::is_sorted(moved))
    return rewriter.notifyMatchFailure(op, "it moves elements");
  rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getX(), to.getShape());
  return success();
}

//===----------------------------------------------------------------------===//
// expand
//===----------------------------------------------------------------------===//

FailureOr<RankedTensorType> ExpandOp::infer(Adaptor op,
                                            std::optional<Location> loc) {
  auto shape = broadcastShapes({shapeOf(op.getX()), op.getShape()});
  if (!shape)
    return emitOptionalError(loc, "a tensor of shape ",
                             shapeText(shapeOf(op.getX())),
                             " does not expand to ", shapeText(op.getShape()));
  return typeLike(loc, op.getX(), *shape);
}

OpFoldResult ExpandOp::fold(FoldAdaptor) {
  if (getX().getType() == getY().getType())
    return getX();
  if (auto inner = getX().getDefiningOp<ExpandOp>()) {
    getXMutable().assign(inner.getX());
    setShape(shapeOf(getY()));
    return getY();
  }
  return {};
}

//===----------------------------------------------------------------------===//
// slice
//===----------------------------------------------------------------------===//

FailureOr<RankedTensorType> SliceOp::infer(Adaptor op,
                                           std::optional<Location> loc) {
  Value x = op.getX();
  if (failed(checkLength(loc, "starts", op.getStarts(), x)) ||
      failed(checkLength(loc, "sizes", op.getSizes(), x)) ||
      failed(checkLength(loc, "steps", op.getSteps(), x)))
    return failure();
  for (auto [dim, from] : llvm::enumerate(shapeOf(x))) {
    int64_t start = op.getStarts()[dim], size = op.getSizes()[dim],
            step = op.getSteps()[dim];
    if (size < 0 || step == 0)
      return emitOptionalError(loc, "dimension ", dim, " has size ", size,
                               " and step ", step);
    if (ShapedType::isDynamic(from))
      continue;
    if (size == 0 && (start < 0 || start > from))
      return emitOptionalError(loc, "element ", start, " of dimension ", dim,
                               " is outside of ", shapeText(shapeOf(x)));
    int64_t reach, last;
    if (llvm::MulOverflow(size - 1, step, reach) ||
        llvm::AddOverflow(start, reach, last))
      last = step > 0 ? std::numeric_limits<int64_t>::max()
                      : std::numeric_limits<int64_t>::min();
    if (size > 0 &&
        (std::min(start, last) < 0 || std::max(start, last) >= from))
      return emitOptionalError(loc, "elements ", start, " to ", last,
                               " of dimension ", dim, " are outside of ",
                               shapeText(shapeOf(x)));
    // Strides are multiplied by steps even in dimensions of size 1. A step past
    // the end acts like any longer one, so cap it.
    if (step < -from - 1 || step > from + 1)
      return emitOptionalError(loc, "a step of ", step, " leaves dimension ",
                               dim, " of ", shapeText(shapeOf(x)));
  }
  return typeLike(loc, x, op.getSizes());
}

OpFoldResult SliceOp::fold(FoldAdaptor) {
  // A slice with the shape of x is x, unless a step reverses a dimension.
  if (getX().getType() == getY().getType() &&
      getX().getType().hasStaticShape() &&
      llvm::all_of(llvm::enumerate(getSteps()), [&](auto entry) {
        return entry.value() > 0 || shapeOf(getX())[entry.index()] <= 1;
      }))
    return getX();
  return {};
}

//===----------------------------------------------------------------------===//
// concat
//===----------------------------------------------------------------------===//

FailureOr<RankedTensorType> ConcatOp::infer(Adaptor op,
                                            std::optional<Location> loc) {
  ValueRange operands = op.getXs();
  if (operands.empty())
    return emitOptionalError(loc, "there is nothing to join");
  SmallVector<int64_t> shape(shapeOf(operands[0]));
  auto axis = normalizeAxis(loc, op.getAxis(), shape.size());
  if (!axis)
    return failure();
  for (Value x : operands.drop_front()) {
    ArrayRef<int64_t> other = shapeOf(x);
    if (failed(checkElementTypes(loc, {operands[0], x})))
      return failure();
    bool fits = other.size() == shape.size();
    for (size_t i = 0; fits && i < shape.size(); ++i) {
      if (static_cast<int64_t>(i) == *axis)
        shape[i] =
            ShapedType::isDynamic(shape[i]) || ShapedType::isDynamic(other[i])
                ? ShapedType::kDynamic
                : shape[i] + other[i];
      else if (ShapedType::isDynamic(shape[i]))
        shape[i] = other[i];
      else
        fits = ShapedType::isDynamic(other[i]) || other[i] == shape[i];
    }
    if (!fits)
      return emitOptionalError(loc, "shapes do not join along axis ", *axis,
                               ": ", shapeText(shapeOf(operands[0])), " and ",
                               shapeText(other));
  }
  return typeLike(loc, operands[0], shape);
}

OpFoldResult ConcatOp::fold(FoldAdaptor) {
  if (getXs().size() == 1 && getXs()[0].getType() == getY().getType())
    return getXs()[0];
  int64_t axis = axisOf(getY(), getAxis());
  SmallVector<Value> full = llvm::filter_to_vector(
      getXs(), [&](Value x) { return shapeOf(x)[axis] != 0; });
  if (full.empty() || full.size() == getXs().size())
    return {};
  getXsMutable().assign(full);
  return getY();
}

//===----------------------------------------------------------------------===//
// pad, gather, iota, trilu
//===----------------------------------------------------------------------===//

FailureOr<RankedTensorType> PadOp::infer(Adaptor op,
                                         std::optional<Location> loc) {
  Value x = op.getX();
  if (failed(checkLength(loc, "low", op.getLow(), x)) ||
      failed(checkLength(loc, "high", op.getHigh(), x)))
    return failure();
  if (!llvm::is_contained({"constant", "edge", "reflect", "wrap"},
                          op.getMode()))
    return emitOptionalError(loc, "mode '", op.getMode(),
                             "' is none of constant, edge, reflect and wrap");
  if (Value value = op.getValue())
    if (auto scalar = tensorType(x).clone(ArrayRef<int64_t>());
        value.getType() != scalar)
      return emitOptionalError(loc, "the value is a ", value.getType(),
                               ", not a ", scalar);
  SmallVector<int64_t> shape(shapeOf(x));
  for (auto [dim, size] : llvm::enumerate(shape)) {
    if (ShapedType::isDynamic(size))
      continue;
    int64_t low = op.getLow()[dim], high = op.getHigh()[dim];
    if (std::max(low, high) > maxEntry)
      return emitOptionalError(loc, "dimension ", dim, " is padded by ",
                               std::max(low, high), ", which is too much");
    if (low < -size || high < -size || size + low + high < 0)
      return emitOptionalError(loc, "dimension ", dim, " of size ", size,
                               " cannot be padded by ", low, " and ", high);
    if (size == 0 && (low > 0 || high > 0) && op.getMode() != "constant")
      return emitOptionalError(
          loc, "dimension ", dim,
          " is empty and cannot be padded by its elements");
    size += low + high;
  }
  return typeLike(loc, x, shape);
}

OpFoldResult PadOp::fold(FoldAdaptor) {
  auto none = [](int64_t n) { return n == 0; };
  return getX().getType() == getY().getType() && llvm::all_of(getLow(), none) &&
                 llvm::all_of(getHigh(), none)
             ? OpFoldResult(getX())
             : OpFoldResult();
}

FailureOr<RankedTensorType> GatherOp::infer(Adaptor op,
                                            std::optional<Location> loc) {
  ArrayRef<int64_t> from = shapeOf(op.getX());
  ArrayRef<int64_t> picked = shapeOf(op.getIndices());
  auto axis = normalizeAxis(loc, op.getAxis(), from.size());
  if (!axis)
    return failure();
  SmallVector<int64_t> shape(from.take_front(*axis));
  llvm::append_range(shape, picked);
  llvm::append_range(shape, from.drop_front(*axis + 1));
  if (from[*axis] == 0 && !llvm::is_contained(picked, 0))
    return emitOptionalError(loc, "dimension ", *axis,
                             " is empty, so there is nothing to pick");
  return typeLike(loc, op.getX(), shape);
}

FailureOr<RankedTensorType>
GatherElementsOp::infer(Adaptor op, std::optional<Location> loc) {
  ArrayRef<int64_t> from = shapeOf(op.getX());
  ArrayRef<int64_t> picked = shapeOf(op.getIndices());
  auto axis = normalizeAxis(loc, op.getAxis(), from.size());
  if (!axis)
    return failure();
  bool fits = picked.size() == from.size();
  for (size_t dim = 0; fits && dim < from.size(); ++dim)
    if (!ShapedType::isDynamic(from[dim]) &&
        !ShapedType::isDynamic(picked[dim]))
      fits = static_cast<int64_t>(dim) == *axis
                 ? from[dim] > 0 || picked[dim] == 0
                 : picked[dim] <= from[dim];
  if (!fits)
    return emitOptionalError(loc, "indices of shape ", shapeText(picked),
                             " do not fit x of shape ", shapeText(from));
  return typeLike(loc, op.getX(), picked);
}

FailureOr<RankedTensorType> IotaOp::infer(Adaptor op,
                                          std::optional<Location> loc) {
  Type start = op.getStart().getType(), step = op.getStep().getType();
  if (start != step || tensorType(op.getStart()).getRank() != 0)
    return emitOptionalError(loc, "start and step are ", start, " and ", step,
                             ", not two scalars of one type");
  // Unlike other axes, it may not be negative.
  int64_t axis = op.getAxis(), rank = op.getShape().size();
  if (axis < 0 || axis >= rank)
    return emitOptionalError(loc, "axis ", axis,
                             " is out of range for a tensor of rank ", rank);
  return typeLike(loc, op.getStart(), op.getShape());
}

FailureOr<RankedTensorType> TriluOp::infer(Adaptor op,
                                           std::optional<Location> loc) {
  if (tensorType(op.getX()).getRank() < 2)
    return emitOptionalError(loc, "a tensor of rank ",
                             tensorType(op.getX()).getRank(),
                             " has no triangle");
  return tensorType(op.getX());
}
