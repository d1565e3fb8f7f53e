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

nn::UpdateOp planning::replacementOf(Value value) {
  auto update = nn::throughReshapes(value).getDefiningOp<nn::UpdateOp>();
  return update && !update.getOffset() ? update : nn::UpdateOp();
}

BlockArgument planning::tiedArgument(Value value) {
  while (true) {
    value = nn::throughReshapes(value);
    if (auto fusion = value.getDefiningOp<nn::FusionOp>()) {
      auto operand = fusion.replacedOperand(cast<OpResult>(value));
      if (!operand)
        return nullptr;
      value = fusion.getInputs()[*operand];
    } else if (nn::UpdateOp update = replacementOf(value)) {
      value = update.getState();
    } else {
      return dyn_cast<BlockArgument>(value);
    }
  }
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

/// Returns whether all uses of `value` and of its views come before an
/// operator, or are uses of it that `isAllowed`. A replacement does not read
/// the state.
static bool isLastUsedBy(Operation *op, Value value,
                         llvm::function_ref<bool(OpOperand &)> isAllowed) {
  SmallVector<Value> views = {value};
  while (!views.empty()) {
    Value view = views.pop_back_val();
    for (OpOperand &use : view.getUses()) {
      Operation *user = use.getOwner();
      auto slice = dyn_cast<nn::SliceOp>(user);
      auto update = dyn_cast<nn::UpdateOp>(user);
      if (update && !update.getOffset() && use.getOperandNumber() == 0)
        continue;
      if (isa<nn::ReshapeOp>(user) || (slice && nn::contiguousOffset(slice)))
        views.push_back(user->getResult(0));
      else if (user == op ? !isAllowed(use)
                          : user->getBlock() != op->getBlock() ||
                                !user->isBeforeInBlock(op))
        return false;
    }
  }
  return true;
}

bool planning::isReadAfter(nn::UpdateOp update, BlockArgument before) {
  return !isLastUsedBy(update, before, [](OpOperand &) { return true; });
}

bool planning::mayOverwrite(BlockArgument before, Value after) {
  auto fusion = nn::throughReshapes(after).getDefiningOp<nn::FusionOp>();
  return fusion && isLastUsedBy(fusion, before, [&](OpOperand &use) {
           return readsElementwise(fusion, use);
         });
}

bool planning::mayReplace(nn::FusionOp fusion, unsigned operand) {
  return fusion.getBody().getArgument(operand).hasOneUse() &&
         isLastUsedBy(
             fusion, nn::throughReshapes(fusion.getInputs()[operand]),
             [&](OpOperand &use) { return use.getOperandNumber() == operand; });
}
