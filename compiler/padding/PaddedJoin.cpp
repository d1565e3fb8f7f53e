//===- PaddedJoin.cpp - Lists that are joined from padded ones ------------===//
//
// The boxes of 2x3 places in 2x4, then of 1 in 2, are at 0 1 2 . 4 5 6 . 8 . of
// a list of 10. Box i of the 6 first ones is at (i / 3) · 4 + i mod 3, and box
// i of the next at 8 + (i - 6).
//
//===----------------------------------------------------------------------===//

#include "compiler/padding/PaddedJoin.h"

using namespace mlir;
using namespace frit;
using namespace frit::nn;

bool PaddedJoin::add(ArrayRef<int64_t> sizes, ArrayRef<DimPlaces> places,
                     ArrayRef<int64_t> largeSizes) {
  if (operands.empty())
    for (const DimPlaces &operand : places) {
      operands.emplace_back();
      for (SizePair part : operand) {
        operands.back().push_back({part.large, {}});
        operands.back().back().sizes.add(largeSizes, part.large);
      }
    }
  if (operands.size() != places.size())
    return false;
  int64_t sum = 0, whole = 0;
  for (auto [parts, given] : llvm::zip_equal(operands, places)) {
    int64_t count = 1, all = 1;
    DimPlaces rest(llvm::reverse(given));
    for (Part &part : parts) {
      auto small = takePart(rest, part.length);
      if (!small)
        return false;
      part.sizes.add(sizes, *small);
      count *= *small;
      all *= part.length;
    }
    if (!rest.empty() && (rest.size() > 1 || !(rest.back() == SizePair{1, 1})))
      return false;
    sum += count;
    whole += all;
  }
  samples.push_back({SmallVector<int64_t>(sizes), sum});
  samples.push_back({SmallVector<int64_t>(largeSizes), whole});
  return true;
}

SmallVector<const SizeSamples *> PaddedJoin::uses() const {
  SmallVector<const SizeSamples *> all;
  for (const auto &parts : operands)
    for (const Part &part : parts)
      if (!part.sizes.isFixed())
        all.push_back(&part.sizes);
  return all;
}

void PaddedJoin::apply(ConcatOp concat,
                       llvm::function_ref<Value(const SizeExpr &)> buildSize) {
  OpBuilder at(concat->getContext());
  at.setInsertionPointAfter(concat);
  NNBuilder b(concat.getLoc(), at);
  int64_t axis = axisOf(concat.getY(), concat.getAxis()), first = 0;
  Value places = b.iota({shapeOf(concat.getY())[axis]}, 0);
  Value source = places;
  total = b.integer(0);
  for (const auto &parts : operands) {
    Value rest = b.sub(places, total), count = b.integer(1), from;
    int64_t stride = 1;
    for (size_t i = parts.size(); i-- > 0;) {
      auto expr = parts[i].sizes.fit();
      Value size = expr ? buildSize(*expr) : b.integer(parts[i].length);
      // No number is divided by 0.
      size = MaxOp::create(b, size, b.integer(1));
      Value index = i ? Value(ModOp::create(b, rest, size)) : rest;
      index = b.mul(index, b.integer(stride));
      from = from ? b.add(from, index) : index;
      if (i)
        rest = b.div(rest, size);
      count = b.mul(count, size);
      stride *= parts[i].length;
    }
    from = b.add(from, b.integer(first));
    source = WhereOp::create(b, LessOp::create(b, places, total), source, from);
    total = b.add(total, count);
    first += stride;
  }
  // Elements behind the list's end are never read.
  source = MinOp::create(b, source, b.integer(first - 1));
  auto moved = GatherOp::create(b, concat.getY(), source, axis);
  concat.getY().replaceAllUsesExcept(moved, moved);
}
