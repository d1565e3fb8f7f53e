//===- CollectiveOrder.cpp - Schedule collectives early -------------------===//

#include "compiler/planning/CollectiveOrder.h"
#include "compiler/planning/Contractions.h"
#include "dialects/nn/NN.h"
#include "dialects/plan/Plan.h"

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

/// Returns the later of two operators in a block; null is before all.
static Operation *laterOf(Operation *a, Operation *b) {
  return a && (!b || b->isBeforeInBlock(a)) ? a : b;
}

/// Moves an operator to where its last operand is ready.
static void raise(Operation *op) {
  Operation *last = nullptr;
  for (Value operand : op->getOperands())
    last = laterOf(operand.getDefiningOp(), last);
  if (last)
    op->moveAfter(last);
  else
    op->moveBefore(&op->getBlock()->front());
}

/// Moves the reshapes that lead to a value to what they read.
static void raiseReshapes(Value value) {
  SmallVector<Operation *> reshapes;
  while (auto reshape = value.getDefiningOp<nn::ReshapeOp>()) {
    reshapes.push_back(reshape);
    value = reshape.getX();
  }
  for (Operation *reshape : llvm::reverse(reshapes))
    raise(reshape);
}

/// Returns what a collective reads: the parts of an nn.pack, or its operand.
static OperandRange partsOf(Operation *reduce) {
  auto pack =
      nn::throughReshapes(reduce->getOperand(0)).getDefiningOp<nn::PackOp>();
  return pack ? pack->getOperands() : reduce->getOperands();
}

/// FLOPs of a GPU in the time in which a byte of gradients is exchanged: an
/// H200 computes 700 TFLOP/s and exchanges 230 GB/s with its neighbors (343
/// GB/s of bus bandwidth).
static constexpr int64_t kFlopsPerByte = 3000;

/// Returns whether computing a fusion's results takes longer than exchanging
/// them.
static bool outlastsExchange(nn::FusionOp fusion) {
  int64_t bytes = 0;
  for (Type type : fusion.getResultTypes())
    bytes += int64_t(plan::byteSize(type));
  return planning::countFlops(fusion) > kFlopsPerByte * bytes;
}

/// Hoists short kernels that feed a collective, such as casts of gradients of
/// filters, to where its last part is ready. Long products stay: collectives
/// before them overlap with them.
static void raiseParts(Operation *reduce) {
  if (isa<nn::AllGatherOp>(reduce))
    return;
  Operation *ready = nullptr;
  llvm::SetVector<Operation *> late;
  for (Value part : partsOf(reduce)) {
    Operation *op = nn::throughReshapes(part).getDefiningOp();
    auto fusion = dyn_cast_or_null<nn::FusionOp>(op);
    if (!fusion || outlastsExchange(fusion)) {
      ready = laterOf(op, ready);
      continue;
    }
    late.insert(fusion);
    for (Value input : fusion.getInputs())
      ready = laterOf(nn::throughReshapes(input).getDefiningOp(), ready);
  }
  if (!ready)
    return;
  late.remove_if([&](Operation *op) { return !ready->isBeforeInBlock(op); });
  for (Operation *op : late) {
    op->moveAfter(ready);
    for (Value input : op->getOperands())
      raiseReshapes(input);
    ready = op;
  }
}

/// Moves each collective, and the nn.pack that it reduces, to where the last
/// part is ready.
static void raiseReductions(func::FuncOp function) {
  for (Operation *reduce : collectivesOf(function)) {
    raiseParts(reduce);
    for (Value part : partsOf(reduce))
      raiseReshapes(part);
    if (auto pack = nn::throughReshapes(reduce->getOperand(0))
                        .getDefiningOp<nn::PackOp>())
      raise(pack);
    raiseReshapes(reduce->getOperand(0));
    raise(reduce);
  }
}

/// Moves the fusions that only compute results of the function from a reduced
/// value, such as updates of parameters, to the end. They keep the order of the
/// reductions, so that each waits for its own reduction only and overlaps later
/// ones. Exchanges of their results move along.
static void orderUpdates(func::FuncOp function) {
  // Replacements of states come last.
  Operation *end = function.getBody().front().getTerminator();
  while (isa_and_nonnull<nn::UpdateOp>(end->getPrevNode()))
    end = end->getPrevNode();
  auto isEnd = [&](Operation *user) {
    return user == end || end->isBeforeInBlock(user);
  };
  auto isResult = [&](Value value) {
    return llvm::all_of(value.getUsers(), [&](Operation *user) {
      return isEnd(user) || (isa<nn::AllGatherOp>(user) &&
                             llvm::all_of(user->getUsers(), isEnd));
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
