//===- IndexUses.cpp - Inputs whose elements are indices ------------------===//

#include "compiler/import/IndexUses.h"

#include "dialects/nn/Fold.h"
#include "dialects/nn/NN.h"

using namespace mlir;
using namespace frit;
using nn::IndexRange;

//===----------------------------------------------------------------------===//
// Boxes of operands. Each function turns the box of a result into that of x, or
// fails if it is none.
//===----------------------------------------------------------------------===//

static bool goBefore(nn::ReshapeOp reshape, IndexRange &range) {
  ArrayRef<int64_t> shape = nn::shapeOf(reshape.getY());
  ArrayRef<int64_t> before = nn::shapeOf(reshape.getX());
  SmallVector<int64_t> first(before.size(), 0), sizes(before);
  if (ArrayRef(range.sizes) != shape) {
    // Dimensions of one element come and go.
    size_t dim = 0;
    for (size_t from = 0; from < before.size(); ++from) {
      if (before[from] == 1)
        continue;
      while (dim < shape.size() && shape[dim] == 1)
        ++dim;
      if (dim == shape.size() || shape[dim] != before[from])
        return false;
      first[from] = range.first[dim];
      sizes[from] = range.sizes[dim++];
    }
  }
  range.first = first;
  range.sizes = sizes;
  return true;
}

static bool goBefore(nn::SliceOp slice, IndexRange &range) {
  for (size_t dim = 0; dim < range.sizes.size(); ++dim) {
    int64_t step = slice.getSteps()[dim], last = range.sizes[dim] - 1;
    if (step != 1 && step != -1 && last > 0)
      return false; // x has others in between
    int64_t least = range.first[dim] + (step < 0 ? last : 0);
    range.first[dim] = slice.getStarts()[dim] + least * step;
  }
  return true;
}

static bool goBefore(nn::TransposeOp transpose, IndexRange &range) {
  IndexRange after = range;
  for (auto [to, from] : llvm::enumerate(transpose.getPerm())) {
    range.first[from] = after.first[to];
    range.sizes[from] = after.sizes[to];
  }
  return true;
}

static bool goBefore(nn::ExpandOp expand, IndexRange &range) {
  ArrayRef<int64_t> shape = nn::shapeOf(expand.getX());
  size_t added = range.sizes.size() - shape.size();
  range.first.erase(range.first.begin(), range.first.begin() + added);
  range.sizes.erase(range.sizes.begin(), range.sizes.begin() + added);
  for (auto [dim, size] : llvm::enumerate(shape))
    if (size == 1) {
      range.first[dim] = 0;
      range.sizes[dim] = 1;
    }
  return true;
}

/// Returns the part of a range that lies in entries [start, start + size) of
/// `axis`.
static IndexRange partOf(IndexRange range, int64_t axis, int64_t start,
                         int64_t size) {
  int64_t begin = range.first[axis] - start, end = begin + range.sizes[axis];
  begin = std::max<int64_t>(begin, 0);
  range.first[axis] = begin;
  range.sizes[axis] = std::max<int64_t>(std::min(end, size) - begin, 0);
  return range;
}

/// Returns the number that every element of a constant has.
static std::optional<int64_t> numberOf(Value value) {
  DenseElementsAttr known = nn::constantValue(value);
  if (!known || !known.isSplat() || !isa<IntegerType>(known.getElementType()))
    return std::nullopt;
  return known.getSplatValue<APInt>().getSExtValue();
}

/// Goes to the operand that a constant is added to. Moves less than this, so
/// that ranges do not overflow.
static Value goBeforeSum(Operation *sum, IndexRange &range) {
  constexpr int64_t most = int64_t(1) << 40;
  Value x = sum->getOperand(0);
  std::optional<int64_t> number = numberOf(sum->getOperand(1));
  if (!number && isa<nn::AddOp>(sum)) {
    x = sum->getOperand(1);
    number = numberOf(sum->getOperand(0));
  }
  if (!number || std::abs(*number) > most ||
      nn::shapeOf(x) != nn::shapeOf(sum->getResult(0)))
    return {};
  int64_t added = isa<nn::AddOp>(sum) ? *number : -*number;
  range.least -= added;
  range.most -= added;
  return x;
}

//===----------------------------------------------------------------------===//
// Uses
//===----------------------------------------------------------------------===//

void IndexUses::add(Value value, IndexRange range) {
  while (value) {
    auto element =
        dyn_cast<IntegerType>(nn::tensorType(value).getElementType());
    if (!element || element.isInteger(1) || llvm::is_contained(range.sizes, 0))
      return;
    Operation *op = value.getDefiningOp();
    if (!op)
      return record(value, std::move(range));
    bool goesOn = isa<nn::CastOp>(op);
    if (auto reshape = dyn_cast<nn::ReshapeOp>(op))
      goesOn = goBefore(reshape, range);
    else if (auto slice = dyn_cast<nn::SliceOp>(op))
      goesOn = goBefore(slice, range);
    else if (auto transpose = dyn_cast<nn::TransposeOp>(op))
      goesOn = goBefore(transpose, range);
    else if (auto expand = dyn_cast<nn::ExpandOp>(op))
      goesOn = goBefore(expand, range);
    if (auto concat = dyn_cast<nn::ConcatOp>(op)) {
      int64_t axis = concat.getAxis(), start = 0;
      axis += axis < 0 ? int64_t(range.sizes.size()) : 0;
      for (Value part : concat.getXs()) {
        int64_t size = nn::shapeOf(part)[axis];
        add(part, partOf(range, axis, start, size));
        start += size;
      }
      return;
    }
    // Other indices are computed by the model.
    if (isa<nn::AddOp, nn::SubOp>(op))
      value = goBeforeSum(op, range);
    else
      value = goesOn ? op->getOperand(0) : Value();
  }
}

void IndexUses::record(Value argument, IndexRange range) {
  SmallVector<IndexRange> &known = uses[argument];
  auto same = llvm::find_if(
      known, [&](const IndexRange &old) { return old.isSameBox(range); });
  if (same == known.end()) {
    known.push_back(std::move(range));
    return;
  }
  // The narrower range tells what an index does not fit.
  if (range.most < same->most)
    same->use = range.use;
  same->least = std::max(same->least, range.least);
  same->most = std::min(same->most, range.most);
}

ArrayAttr IndexUses::attrOf(Value argument) const {
  auto found = uses.find(argument);
  return found == uses.end()
             ? ArrayAttr()
             : nn::indicesAttr(*argument.getContext(), found->second);
}
