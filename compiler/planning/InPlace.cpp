//===- InPlace.cpp - Which values may be overwritten ----------------------===//

#include "compiler/planning/InPlace.h"
#include "dialects/nn/StridedView.h"

using namespace mlir;
using namespace frit;

bool planning::hasOneReader(Value value) {
  while (value.hasOneUse())
    if (auto reshape = dyn_cast<nn::ReshapeOp>(*value.user_begin()))
      value = reshape.getY();
    else
      return true;
  return false;
}

bool planning::isReduced(Value value) {
  return llvm::any_of(value.getUsers(), [](Operation *user) {
    auto reshape = dyn_cast<nn::ReshapeOp>(user);
    return nn::isCollective(user) || (reshape && isReduced(reshape.getY()));
  });
}

/// Returns whether the results of a fusion have the operand's size and depend
/// on it elementwise.
static bool readsElementwise(nn::FusionOp fusion, OpOperand &use) {
  SmallVector<Value> work = {
      fusion.getBody().getArgument(use.getOperandNumber())};
  ArrayRef<int64_t> shape = nn::shapeOf(work[0]);
  while (!work.empty())
    for (Operation *user : work.pop_back_val().getUsers()) {
      if (isa<nn::YieldOp>(user))
        continue;
      if (!isa<nn::ElementwiseOp>(user) ||
          nn::shapeOf(user->getResult(0)) != shape)
        return false;
      work.push_back(user->getResult(0));
    }
  return true;
}

bool planning::mayOverwrite(BlockArgument before, Value after) {
  auto fusion = nn::throughReshapes(after).getDefiningOp<nn::FusionOp>();
  if (!fusion)
    return false;
  SmallVector<Value> views = {before};
  while (!views.empty()) {
    Value view = views.pop_back_val();
    for (OpOperand &use : view.getUses()) {
      Operation *user = use.getOwner();
      auto slice = dyn_cast<nn::SliceOp>(user);
      if (isa<nn::ReshapeOp>(user) || (slice && nn::contiguousOffset(slice)))
        views.push_back(user->getResult(0));
      else if (user == fusion ? !readsElementwise(fusion, use)
                              : !user->isBeforeInBlock(fusion))
        return false;
    }
  }
  return true;
}
