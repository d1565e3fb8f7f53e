//===- Gather.cpp - Gradients of gathers ----------------------------------===//
//
// A gather's gradient adds rows of dy with the same index. Atomic additions
// would do so in any order, and a search of every row of the table for its
// updates takes the product of both sizes. Instead the indices are sorted, so
// that rows to be added are neighbours (nn.segment_sum). Where no kernel adds
// them up, operators do in a tree:
//
//   index   3 1 3 3 1       sorted, stable   1 1 3 3 3
//   dy      a b c d e                        b e a c d
//   steps   1, 2, 4 …: s[i] += s[i + step] if index[i + step] == index[i]
//                                            be e acd cd d
//   dx[r] is the s of the first row with index r.
//
// If the indices are constant and none is frequent, as in interpolation, dx[r]
// is a sum of gathers: of the row in which index r occurs for the first time,
// for the second time and so on.
//
//===----------------------------------------------------------------------===//

#include "dialects/nn/gradients/Parts.h"
#include "dialects/nn/training/Gradient.h"

#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;
using namespace frit::nn;

FailureOr<RankedTensorType> GatherGradOp::infer(Adaptor op,
                                                std::optional<Location> loc) {
  ArrayRef<int64_t> from = shapeOf(op.getDy());
  ArrayRef<int64_t> picked = shapeOf(op.getIndices());
  size_t axis = op.getAxis();
  bool fits = axis <= from.size() && picked.size() <= from.size() - axis;
  for (size_t i = 0; fits && i < picked.size(); ++i)
    fits = mayEqual(from[axis + i], picked[i]);
  int64_t size = op.getSize();
  if (!fits || size < 0 || (size == 0 && !llvm::is_contained(picked, 0)))
    return emitOptionalError(loc, "dy of ", shapeText(from),
                             " was not gathered by indices of ",
                             shapeText(picked), " along dimension ",
                             static_cast<int64_t>(axis), " of size ", size);
  SmallVector<int64_t> shape(from.take_front(axis));
  shape.push_back(size);
  llvm::append_range(shape, from.drop_front(axis + picked.size()));
  return makeType(loc, shape, tensorType(op.getDy()).getElementType());
}

/// Returns `indices` as i64 from 0 to `size` - 1, as nn.gather reads them.
static TensorExpr resolveIndices(NNBuilder &b, Value indices, int64_t size) {
  TensorExpr index(b, b.cast(indices, b.getI64Type()));
  TensorExpr zero = index.number(0), last = index.number(size - 1);
  index = where(index < zero, index + double(size), index);
  index = where(index < zero, zero, index);
  return where(index > last, last, index);
}

/// Sorts the i64 list `x`, whose elements differ, by merging ever longer parts.
static Value sortList(NNBuilder &b, Value x) {
  int64_t count = shapeOf(x)[0];
  int64_t whole = llvm::PowerOf2Ceil(count);
  Value most = b.integer(std::numeric_limits<int64_t>::max());
  if (whole != count)
    x = PadOp::create(b, x, most, ArrayRef<int64_t>{0},
                      ArrayRef<int64_t>{whole - count}, "constant");
  for (int64_t size = 2; size <= whole; size *= 2) {
    Value parts = b.reshape(x, {whole / size, size});
    Value from = MergePlacesOp::create(b, parts, size, /*descending=*/false);
    x = GatherElementsOp::create(b, parts, from, 1);
  }
  Value sorted = b.reshape(x, {whole});
  return SliceOp::create(b, sorted, ArrayRef<int64_t>{0},
                         ArrayRef<int64_t>{count}, ArrayRef<int64_t>{1});
}

/// Returns [size, columns]: sums of the rows of dy [count, columns] by their
/// index.
static Value addRows(NNBuilder &b, Value dy, TensorExpr index, int64_t size) {
  int64_t count = shapeOf(index)[0];
  // Index and position in one number.
  int64_t width = llvm::PowerOf2Ceil(count);
  TensorExpr keys(b, sortList(b, index * double(width) +
                                     TensorExpr(b, b.iota({count}, 0))));
  Value shift = b.integer(llvm::Log2_64(width));
  Value order = BitwiseAndOp::create(b, keys, b.integer(width - 1));
  Value sorted = BitShiftOp::create(b, keys, shift, "RIGHT");
  return SegmentSumOp::create(b, dy, order, sorted, size);
}

FailureOr<RankedTensorType> SegmentSumOp::infer(Adaptor op,
                                                std::optional<Location> loc) {
  auto type = tensorType(op.getX());
  ArrayRef<int64_t> order = shapeOf(op.getOrder());
  int64_t size = op.getSize();
  if (type.getRank() != 2 || order != shapeOf(op.getSegments()) ||
      order != type.getShape().take_front(1) || size < 0)
    return emitOptionalError(loc, "x of ", shapeText(type.getShape()),
                             " has no rows in the order of ", shapeText(order),
                             " and segments of ",
                             shapeText(shapeOf(op.getSegments())));
  return makeType(loc, {size, type.getDimSize(1)}, type.getElementType());
}

SmallVector<Value> SegmentSumOp::decompose(NNBuilder &b) {
  int64_t count = shapeOf(getX())[0], size = getSize();
  TensorExpr sorted(b, getSegments());
  TensorExpr sums = widened(b, GatherOp::create(b, getX(), getOrder(), 0));
  TensorExpr column(b, b.reshape(sorted, {count, 1}));
  for (int64_t step = 1; step < count; step *= 2) {
    // A row that is shifted in has index -1.
    TensorExpr next(b, shift(b, column + 1.0, 0, step));
    TensorExpr other(b, shift(b, sums, 0, step));
    sums = sums + where(equal(next - 1.0, column), other, 0.0);
  }
  // The first row with an index, if there is one: rows below it, and rows up to
  // it.
  TensorExpr rows(b, b.iota({size}, 0));
  TensorExpr below(b, SearchSortedOp::create(b, sorted, rows - 1.0));
  TensorExpr upTo(b, SearchSortedOp::create(b, sorted, rows));
  TensorExpr isThere(b, b.reshape(below < upTo, {size, 1}));
  Value y =
      where(isThere, TensorExpr(b, GatherOp::create(b, sums, below, 0)), 0.0);
  return {b.cast(y, tensorType(getY()).getElementType())};
}

/// As addRows, for a few rows: every row of the result reads all of dy.
static Value addToFewRows(NNBuilder &b, Value dy, TensorExpr index,
                          int64_t size) {
  int64_t count = shapeOf(index)[0], columns = shapeOf(dy)[1];
  TensorExpr mine = equal(TensorExpr(b, b.reshape(index, {1, count, 1})),
                          TensorExpr(b, b.iota({size, 1, 1}, 0)));
  TensorExpr parts =
      where(mine, widened(b, b.reshape(dy, {1, count, columns})), 0.0);
  return b.reshape(b.reduce(parts, Combiner::sum, 1), {size, columns});
}

/// Returns the rows of each index, if the indices are constant.
static std::optional<std::vector<SmallVector<int64_t>>> findRows(Value indices,
                                                                 int64_t size) {
  DenseIntElementsAttr constant;
  if (!matchPattern(indices, m_Constant(&constant)))
    return std::nullopt;
  std::vector<SmallVector<int64_t>> rows(static_cast<size_t>(size));
  for (auto [row, value] : llvm::enumerate(constant.getValues<APInt>())) {
    int64_t index = value.getSExtValue();
    index = std::clamp<int64_t>(index < 0 ? index + size : index, 0, size - 1);
    rows[static_cast<size_t>(index)].push_back(static_cast<int64_t>(row));
  }
  return rows;
}

/// Adds the rows of each index, `dy` [..., count, ...] along `axis`, by one
/// gather for each time that an index is there.
static Value gatherRows(NNBuilder &b, Value dy, int64_t axis,
                        ArrayRef<SmallVector<int64_t>> rows) {
  SmallVector<int64_t> column(shapeOf(dy).size(), 1);
  column[static_cast<size_t>(axis)] = static_cast<int64_t>(rows.size());
  auto listOf = [&](auto &values, Type element) -> Value {
    auto type = RankedTensorType::get(values.size(), element);
    return ConstantOp::create(b, DenseElementsAttr::get(type, ArrayRef(values)),
                              StringAttr());
  };
  size_t most = 1;
  for (ArrayRef<int64_t> of : rows)
    most = std::max(most, of.size());
  std::optional<TensorExpr> sum;
  for (size_t time = 0; time < most; ++time) {
    SmallVector<int64_t> from;
    SmallVector<bool> isThere;
    for (ArrayRef<int64_t> of : rows) {
      isThere.push_back(time < of.size());
      from.push_back(time < of.size() ? of[time] : 0);
    }
    TensorExpr part =
        widened(b, GatherOp::create(b, dy, listOf(from, b.getI64Type()), axis));
    if (!llvm::all_of(isThere, [](bool is) { return is; })) {
      TensorExpr valid(b, b.reshape(listOf(isThere, b.getI1Type()), column));
      part = where(valid, part, 0.0);
    }
    sum = sum ? *sum + part : part;
  }
  return *sum;
}

SmallVector<Value> GatherGradOp::decompose(NNBuilder &b) {
  constexpr int64_t fewRows = 4;
  constexpr size_t fewTimes = 8;
  auto type = tensorType(getDx());
  ArrayRef<int64_t> from = shapeOf(getDy());
  int64_t size = getSize(), axis = getAxis();
  int64_t picked = shapeOf(getIndices()).size();
  if (type.getNumElements() == 0 || llvm::is_contained(from, 0))
    return {b.zeros(type)};
  auto rows = findRows(getIndices(), size);
  if (rows && llvm::all_of(*rows, [&](ArrayRef<int64_t> of) {
        return of.size() <= fewTimes;
      })) {
    SmallVector<int64_t> flat(from.take_front(axis));
    flat.push_back(tensorType(getIndices()).getNumElements());
    llvm::append_range(flat, from.drop_front(axis + picked));
    Value dx = gatherRows(b, b.reshape(getDy(), flat), axis, *rows);
    return {b.cast(dx, type.getElementType())};
  }
  // The indices' dimensions become rows, all others columns.
  SmallVector<int64_t> perm, rest;
  for (int64_t dim = axis; dim < axis + picked; ++dim)
    perm.push_back(dim);
  for (int64_t dim = 0; dim < int64_t(from.size()); ++dim)
    if (dim < axis || dim >= axis + picked) {
      perm.push_back(dim);
      rest.push_back(from[dim]);
    }
  int64_t count = tensorType(getIndices()).getNumElements();
  int64_t columns = tensorType(getDy()).getNumElements() / count;
  Value dy = b.reshape(TransposeOp::create(b, getDy(), perm), {count, columns});
  TensorExpr index(b,
                   b.reshape(resolveIndices(b, getIndices(), size), {count}));
  Value dx = size <= fewRows ? addToFewRows(b, dy, index, size)
                             : addRows(b, dy, index, size);
  // The rows go back to their place.
  rest.insert(rest.begin(), size);
  SmallVector<int64_t> back;
  for (int64_t dim = 0; dim < int64_t(rest.size()); ++dim)
    back.push_back(dim < axis ? dim + 1 : dim == axis ? 0 : dim);
  dx = TransposeOp::create(b, b.reshape(dx, rest), back);
  return {b.cast(dx, type.getElementType())};
}

SmallVector<Value> GatherOp::buildVjp(NNBuilder &b, Value dy) {
  int64_t axis = axisOf(getX(), getAxis());
  return {
      GatherGradOp::create(b, dy, getIndices(), shapeOf(getX())[axis], axis),
      Value()};
}

/// Out of range, a gather reads the nearest element and a scatter writes none.
SmallVector<Value> GatherElementsOp::buildVjp(NNBuilder &b, Value dy) {
  int64_t axis = axisOf(getX(), getAxis());
  auto type = tensorType(getX());
  TensorExpr index = resolveIndices(b, getIndices(), type.getDimSize(axis));
  return {ScatterElementsOp::create(b, b.zeros(type), index, dy, axis, "add"),
          Value()};
}
