//===- CollectiveOrder.cpp - Schedule collectives early -------------------===//

#include "compiler/planning/CollectiveOrder.h"
#include "dialects/nn/NN.h"

using namespace mlir;
using namespace frit;

/// Returns the collectives of a function, in order.
static SmallVector<Operation *> collectivesOf(func::FuncOp function) {
  SmallVector<Operation *> found;
  for (Operation &op : function.getBody().front())
    if (nn::isCollective(&op))
      found.push_back(&op);
  return found;
}

/// Moves each collective, and the nn.pack that it reduces, to where the last
/// operand is ready.
static void raiseReductions(func::FuncOp function) {
  auto raise = [](Operation *op) {
    Operation *last = nullptr;
    for (Value operand : op->getOperands())
      if (Operation *def = operand.getDefiningOp())
        if (!last || last->isBeforeInBlock(def))
          last = def;
    if (last)
      op->moveAfter(last);
  };
  for (Operation *reduce : collectivesOf(function)) {
    SmallVector<Operation *> chain = {reduce};
    while (isa_and_nonnull<nn::ReshapeOp, nn::PackOp>(
        chain.back()->getOperand(0).getDefiningOp())) {
      chain.push_back(chain.back()->getOperand(0).getDefiningOp());
      if (isa<nn::PackOp>(chain.back()))
        break;
    }
    if (auto pack = dyn_cast<nn::PackOp>(chain.back()))
      for (Value x : pack.getXs()) {
        SmallVector<Operation *> reshapes;
        while (auto reshape = x.getDefiningOp<nn::ReshapeOp>()) {
          reshapes.push_back(reshape);
          x = reshape.getX();
        }
        for (Operation *reshape : llvm::reverse(reshapes))
          raise(reshape);
      }
    for (Operation *op : llvm::reverse(chain))
      raise(op);
  }
}

/// Moves the fusions that only compute results of the function from a reduced
/// value, such as updates of parameters, to the end. They keep the order of the
/// reductions, so that each waits for its own reduction only and overlaps later
/// ones. Exchanges of their results move along.
static void orderUpdates(func::FuncOp function) {
  Operation *end = function.getBody().front().getTerminator();
  auto isResult = [&](Value value) {
    return llvm::all_of(value.getUsers(), [&](Operation *user) {
      return user == end || (isa<nn::AllGatherOp>(user) &&
                             llvm::all_of(user->getUsers(), [&](Operation *u) {
                               return u == end;
                             }));
    });
  };
  llvm::SetVector<Operation *> updates;
  for (Operation *reduce : collectivesOf(function)) {
    SmallVector<Value> views = {reduce->getResult(0)};
    while (!views.empty())
      for (Operation *user : views.pop_back_val().getUsers())
        if (auto reshape = dyn_cast<nn::ReshapeOp>(user))
          views.push_back(reshape.getY());
        else if (auto fusion = dyn_cast<nn::FusionOp>(user);
                 fusion && llvm::all_of(fusion.getResults(), isResult))
          updates.insert(fusion);
  }
  for (Operation *update : updates) {
    update->moveBefore(end);
    for (Operation *user : update->getUsers())
      if (isa<nn::AllGatherOp>(user))
        user->moveBefore(end);
  }
}

void planning::orderCollectives(func::FuncOp function) {
  raiseReductions(function);
  orderUpdates(function);
}
