//===- PaddedSlice.cpp - Slices that begin elsewhere for each size --------===//
//
// The last of 3 elements is at 2, and that of 4 at 3. Padded to 4, a call with
// 3 reads at its size - 1. In reverse, element i is at size - 1 - i.
//
//===----------------------------------------------------------------------===//

#include "compiler/padding/PaddedSlice.h"

using namespace mlir;
using namespace frit;
using namespace frit::nn;

std::optional<PaddedValue>
PaddedSlice::add(SliceOp small, ArrayRef<int64_t> sizes, SliceOp large,
                 ArrayRef<int64_t> largeSizes, const PaddedValue &x) {
  auto result = leadingValue(small.getY(), large.getY());
  if (!result || small.getSteps() != large.getSteps() || x.anywhere ||
      !areLeading(x.places))
    return std::nullopt;
  for (auto [dim, from, to] :
       llvm::enumerate(small.getStarts(), large.getStarts())) {
    if (from == to)
      continue;
    if (axis >= 0 && axis != int(dim))
      return std::nullopt;
    axis = int(dim);
  }
  if (axis < 0)
    return std::nullopt;
  samples.add(largeSizes, large.getStarts()[axis]);
  samples.add(sizes, small.getStarts()[axis]);
  result->content = {x.content.inside, x.content.all(), {}, {}};
  return result;
}

void PaddedSlice::apply(SliceOp slice, Value first) const {
  OpBuilder at(slice);
  NNBuilder b(slice.getLoc(), at);
  int64_t length = shapeOf(slice.getX())[axis], count = slice.getSizes()[axis],
          step = slice.getSteps()[axis];
  SmallVector<int64_t> starts(slice.getStarts()), sizes(slice.getSizes()),
      steps(slice.getSteps());
  starts[axis] = 0, sizes[axis] = length, steps[axis] = 1;
  Value rows = SliceOp::create(b, slice.getX(), starts, sizes, steps);
  Value places = b.mul(b.iota({count}, 0), b.integer(step));
  places = b.add(places, first);
  // Elements behind those of a call are never read.
  places = MaxOp::create(b, MinOp::create(b, places, b.integer(length - 1)),
                         b.integer(0));
  Value moved = GatherOp::create(b, rows, places, axis);
  slice.getY().replaceAllUsesWith(moved);
  slice.erase();
}
