//===- PaddedResults.cpp - Results whose dimensions are joined ------------===//
//
//   return %y       1x16x5, of 1x4x4x5 for a call of 1x3x4x5
// ==>
//   %z = nn.concat %y {axis = 1}      a list of one part, moved to the front
//   return %z
//
//===----------------------------------------------------------------------===//

#include "compiler/padding/Padding.h"

using namespace mlir;
using namespace frit;
using namespace frit::nn;

/// Puts a concat of one part between a block's result and its end.
static ConcatOp listResult(Operation *end, unsigned index, int64_t axis) {
  OpBuilder at(end);
  NNBuilder b(end->getOperand(index).getLoc(), at);
  auto list = ConcatOp::create(b, ValueRange{end->getOperand(index)}, axis);
  end->setOperand(index, list.getY());
  return list;
}

std::optional<PaddedValue> PaddingProof::moveResult(Operation *small,
                                                    Operation *large,
                                                    unsigned index,
                                                    PaddedValue result) {
  if (llvm::any_of(result.places, hasOffset))
    return std::nullopt;
  for (size_t dim = 0; dim < result.places.size(); ++dim) {
    if (isLeading(result.places[dim]))
      continue;
    ConcatOp own = listResult(small, index, int64_t(dim));
    ConcatOp whole = listResult(large, index, int64_t(dim));
    auto moved = masks.join(own, whole, {result}, /*isNew=*/true);
    if (!moved)
      return std::nullopt;
    result = *moved;
  }
  return result;
}

Operation *PaddingProof::listAlike(Operation *small, Operation *large) {
  auto list = dyn_cast<ConcatOp>(large);
  if (!list || list.getXs().size() != 1 ||
      !small->hasTrait<OpTrait::IsTerminator>())
    return nullptr;
  Value value = list.getY();
  while (value.hasOneUse() && isa<ConcatOp>(*value.user_begin()))
    value = value.user_begin()->getResult(0);
  for (OpOperand &use : value.getUses())
    if (use.getOwner()->hasTrait<OpTrait::IsTerminator>())
      return listResult(small, use.getOperandNumber(),
                        axisOf(list.getY(), list.getAxis()));
  return nullptr;
}
