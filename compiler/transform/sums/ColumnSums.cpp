//===- ColumnSums.cpp - The second step of reductions over rows -----------===//

#include "compiler/transform/sums/ColumnSums.h"

#include "compiler/transform/Graph.h"

using namespace mlir;
using namespace frit;
using namespace frit::nn;

/// Maximum operators of a kernel, so that long chains of operators on vectors
/// stay in kernels of their own.
static constexpr size_t kMostOps = 48;

Value ColumnSums::own(Value value) {
  ops.push_back(value.getDefiningOp());
  columns[value] = value;
  return value;
}

void ColumnSums::replace(Operation *op, Value value) {
  Value result = op->getResult(0);
  result.replaceAllUsesWith(b.cast(b.reshape(value, shapeOf(result)),
                                   tensorType(result).getElementType()));
}

/// Returns whether an operand of a following operator is a constant number, or
/// a vector of the columns that is computed before the kernel.
bool ColumnSums::isReady(Value operand) const {
  if (tensorType(operand).getNumElements() == 1)
    return bool(splatOf(operand));
  Value first = ops.front()->getResult(0);
  if (withoutOnes(shapeOf(operand)) != withoutOnes(shapeOf(first)))
    return false;
  Operation *def = operand.getDefiningOp();
  return !def || def->getBlock() != ops.front()->getBlock() ||
         def->isBeforeInBlock(ops.front());
}

/// Returns whether `op` computes a number per column from the kernel's numbers.
bool ColumnSums::follows(Operation *op) const {
  if (!isa<ElementwiseOp>(op) ||
      withoutOnes(resultType(op).getShape()) !=
          withoutOnes(resultType(ops.front()).getShape()))
    return false;
  return llvm::all_of(op->getOperands(), [&](Value operand) {
    return columns.contains(operand) || isReady(operand);
  });
}

/// Returns an operand of a following operator in the shape of the columns.
Value ColumnSums::inColumns(Value operand) const {
  if (Value own = columns.lookup(operand))
    return own;
  if (tensorType(operand).getNumElements() == 1)
    return operand;
  return b.reshape(operand, resultType(ops.front()).getShape());
}

void ColumnSums::addFollowers() {
  SmallVector<Operation *> work;
  auto addReaders = [&](Value value) {
    llvm::append_range(work, value.getUsers());
  };
  for (Operation *op : SmallVector<Operation *>(ops))
    addReaders(op->getResult(0));
  llvm::DenseSet<Operation *> gone;
  while (!work.empty()) {
    Operation *op = work.pop_back_val();
    if (gone.contains(op) || llvm::is_contained(ops, op))
      continue;
    if (auto reshape = dyn_cast<ReshapeOp>(op)) {
      if (Value own = columns.lookup(reshape.getX());
          own && columns.try_emplace(reshape.getY(), own).second)
        addReaders(reshape.getY());
      continue;
    }
    if (ops.size() >= kMostOps || !follows(op))
      continue;
    SmallVector<Value> operands = llvm::map_to_vector(
        op->getOperands(), [&](Value operand) { return inColumns(operand); });
    Operation *clone = b.clone(*op);
    clone->setOperands(operands);
    clone->getResult(0).setType(
        resultType(op).clone(resultType(ops.front()).getShape()));
    Value value = own(clone->getResult(0));
    Value shaped = b.reshape(value, resultType(op).getShape());
    columns[shaped] = value;
    op->getResult(0).replaceAllUsesWith(shaped);
    gone.insert(op);
    addReaders(shaped);
  }
  for (Operation *op : gone)
    op->dropAllReferences();
  for (Operation *op : gone)
    op->erase();
  // Values that only followers read are not results.
  for (Operation *op : llvm::reverse(ops))
    for (Operation *user : llvm::make_early_inc_range(op->getUsers()))
      if (isa<ReshapeOp>(user) && user->use_empty())
        user->erase();
}

void ColumnSums::fuse() {
  addFollowers();
  // Move readers in between, such as reshapes, after the kernel.
  Operation *last = ops.back();
  for (Operation *op : ops)
    for (Operation *user : op->getUsers())
      if (!llvm::is_contained(ops, user) && user->isBeforeInBlock(last))
        user->moveAfter(last);
  createFusionOp(ops, last->getNextNode());
}
