//===- PaddedPicks.cpp - Gathers of padded dimensions ---------------------===//

#include "compiler/padding/PaddedGather.h"
#include "compiler/padding/Padding.h"

using namespace mlir;
using namespace frit;
using namespace frit::nn;

/// Compares two gathers of a padded dimension by constant indices, and limits
/// these where it must.
bool PaddingProof::padPicks(GatherOp small, GatherOp large, ValuePairs &pairs) {
  int64_t axis = axisOf(small.getX(), small.getAxis());
  int64_t last = shapeOf(small.getX())[axis] - 1;
  if (shapeOf(small.getX()) == shapeOf(large.getX())) {
    masks.limit(large, last, /*isLimited=*/false);
    return false;
  }
  auto x = pairs.find(small.getX(), large.getX());
  auto picked = x ? padGather(small, large, *x, evaluated) : std::nullopt;
  if (!picked)
    return false;
  masks.limit(large, last, picked->isLimited);
  pairs.set(small.getY(), picked->result);
  return true;
}

/// Compares two selections by constant indices from a dimension with an offset.
bool PaddingProof::padPicks(GatherElementsOp small, GatherElementsOp large,
                            ValuePairs &pairs) {
  auto x = pairs.find(small.getX(), large.getX());
  if (!x || !llvm::any_of(x->places, hasOffset))
    return false;
  auto picked = padElements(small, large, *x, evaluated);
  if (picked)
    pairs.set(small.getY(), *picked);
  return picked.has_value();
}

/// Compares two gathers of a padded dimension by indices that are computed of
/// its size. With other sizes the indices may have been compared as constants.
std::optional<PaddedValue>
PaddingProof::padComputed(GatherOp small, GatherOp large,
                          ArrayRef<PaddedValue> operands) {
  auto result = padLimitedGather(small, large, operands[0], operands[1]);
  if (result)
    masks.limit(
        large, shapeOf(small.getX())[axisOf(small.getX(), small.getAxis())] - 1,
        /*isLimited=*/false);
  return result;
}
