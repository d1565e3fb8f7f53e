//===- FusedStep.cpp - Kernels of a training step, in order ---------------===//

#include "compiler/training/gradients/FusedStep.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace frit;
using namespace frit::nn;

int64_t frit::bytesOf(ValueRange values) {
  int64_t sum = 0;
  for (Value value : values) {
    auto type = tensorType(value);
    sum += type.getNumElements() * ((type.getElementTypeBitWidth() + 7) / 8);
  }
  return sum;
}

static bool isView(Operation *op) { return isa<ReshapeOp, SliceOp>(op); }

FusedStep::FusedStep(func::FuncOp main) : block(main.getBody().front()) {
  SmallVector<Value> work = {block.getTerminator()->getOperand(0)};
  while (!work.empty())
    if (Operation *op = work.pop_back_val().getDefiningOp())
      if (lossNeeds.insert(op).second)
        llvm::append_range(work, op->getOperands());
  // The operators that add up the loss come after the backward pass; they
  // compute single numbers.
  Operation *last = nullptr;
  for (Operation &op : block)
    if (isa<FusionOp>(op)) {
      fusions.push_back(&op);
      bool isSingle = llvm::all_of(op.getResults(), [](Value result) {
        return tensorType(result).getNumElements() == 1;
      });
      if (lossNeeds.contains(&op) && !isSingle)
        last = &op;
    }
  bool isBehind = false;
  for (Operation &op : block.without_terminator()) {
    if (isBehind && !lossNeeds.contains(&op)) {
      backward.push_back(&op);
      isBackward.insert(&op);
    } else if (!isBehind && isa<FusionOp>(op) && lossNeeds.contains(&op)) {
      positions[&op] = forward.size();
      forward.push_back(&op);
    }
    isBehind |= &op == last;
  }
}

/// Returns the value that replaces `value` before an operator of the backward
/// pass: the result of a copy, which is created if needed, or `value` itself if
/// nothing that computes it runs again.
Value FusedStep::newest(Value value, Operation *before) {
  Operation *op = value.getDefiningOp();
  if (!op || !lossNeeds.contains(op))
    return value;
  if (Value copy = copies.lookup(value))
    return copy;
  bool runsAgain = chosen->contains(op);
  if (!runsAgain && !isView(op))
    return value;
  IRMapping map;
  bool isNew = runsAgain;
  for (Value operand : op->getOperands()) {
    Value now = newest(operand, before);
    isNew |= now != operand;
    map.map(operand, now);
  }
  if (!isNew)
    return value;
  Operation *copy = OpBuilder(before).clone(*op, map);
  if (runsAgain)
    made.push_back(copy);
  for (auto [old, now] : llvm::zip_equal(op->getResults(), copy->getResults()))
    copies[old] = now;
  return copies.lookup(value);
}

SmallVector<Operation *>
FusedStep::copy(const llvm::DenseSet<Operation *> &wanted) {
  chosen = &wanted;
  for (Operation *op : backward)
    for (OpOperand &operand : op->getOpOperands())
      operand.set(newest(operand.get(), op));
  return std::move(made);
}

/// Returns the operators that read a value or a view of it.
SmallVector<Operation *> FusedStep::readersOf(Value value) const {
  SmallVector<Operation *> readers;
  SmallVector<Value> work = {value};
  while (!work.empty())
    for (Operation *user : work.pop_back_val().getUsers()) {
      if (isView(user))
        work.push_back(user->getResult(0));
      readers.push_back(user);
    }
  return readers;
}

int64_t FusedStep::keptBytes(Operation *op) const {
  int64_t sum = 0;
  for (Value result : op->getResults())
    if (llvm::any_of(readersOf(result), [&](Operation *reader) {
          return isBackward.contains(reader) && !isView(reader);
        }))
      sum += bytesOf(result);
  return sum;
}

bool FusedStep::crosses(Operation *op, size_t position) const {
  return llvm::any_of(op->getResults(), [&](Value result) {
    return llvm::any_of(readersOf(result), [&](Operation *reader) {
      auto found = positions.find(reader);
      return found != positions.end() && found->second > position;
    });
  });
}

int64_t FusedStep::peak() const {
  llvm::DenseMap<Operation *, int64_t> order;
  for (Operation &op : block)
    order[&op] = order.size();
  // The parts of a packed value are written in place.
  llvm::DenseMap<Value, Value> wholes;
  for (auto pack : block.getOps<PackOp>())
    for (Value part : pack->getOperands())
      wholes[part] = pack->getResult(0);
  auto rootOf = [&](Value value) {
    while (true) {
      Operation *op = value.getDefiningOp();
      auto update = dyn_cast_or_null<UpdateOp>(op);
      if (op && isView(op))
        value = op->getOperand(0);
      else if (update && !update.getOffset())
        value = update.getValue();
      else if (Value whole = wholes.lookup(value))
        value = whole;
      else
        return value;
    }
  };
  llvm::MapVector<Value, std::pair<int64_t, int64_t>> live;
  for (Operation &op : block.without_terminator()) {
    int64_t now = order[&op];
    auto touch = [&](Value value) {
      Value root = rootOf(value);
      if (!root.getDefiningOp() || isa<ConstantOp>(root.getDefiningOp()))
        return;
      auto [it, isNew] = live.insert({root, {now, now}});
      it->second.second = now;
    };
    llvm::for_each(op.getOperands(), touch);
    llvm::for_each(op.getResults(), touch);
  }
  // The state's next values are written over the state.
  for (Value result : block.getTerminator()->getOperands())
    live.erase(rootOf(result));
  std::vector<int64_t> change(order.size() + 2);
  for (auto &[root, range] : live) {
    change[range.first] += bytesOf(root);
    change[range.second + 1] -= bytesOf(root);
  }
  int64_t most = 0, now = 0;
  for (int64_t step : change)
    most = std::max(most, now += step);
  return most;
}
