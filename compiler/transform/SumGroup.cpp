//===- SumGroup.cpp - Reductions that share a kernel ----------------------===//

#include "compiler/transform/SumGroup.h"

#include "compiler/transform/Graph.h"

using namespace mlir;
using namespace frit;
using namespace frit::nn;

bool frit::canRegroup(Value value, ArrayRef<int64_t> from, size_t leading,
                      size_t outer) {
  ArrayRef<int64_t> shape = shapeOf(value);
  size_t kept = from.size() - leading - outer;
  while (!shape.empty() && shape.front() == 1 && shape.size() > kept)
    shape = shape.drop_front();
  if (shape.size() <= kept)
    return true;
  // The shape may lack some of the outer dimensions.
  size_t missing = from.size() - shape.size();
  if (missing > outer)
    return false;
  ArrayRef<int64_t> grouped = shape.slice(outer - missing, leading);
  return grouped == from.slice(outer, leading) ||
         (outer && llvm::all_of(grouped, [](int64_t d) { return d == 1; }));
}

void SumGroup::findChain() {
  ArrayRef<int64_t> from = shapeOf(sums.front().getX());
  SmallVector<Operation *> work(sums.begin(), sums.end());
  llvm::SetVector<Operation *> reached;
  while (!work.empty())
    for (Value operand : work.pop_back_val()->getOperands())
      if (Operation *op = operand.getDefiningOp();
          isa_and_nonnull<ElementwiseOp>(op) && shapeOf(operand) == from &&
          op->getBlock() == sums.front()->getBlock() &&
          llvm::all_of(
              op->getOperands(),
              [&](Value v) { return canRegroup(v, from, leading, outer); }) &&
          reached.insert(op))
        work.push_back(op);
  // Visit readers before their operands.
  SmallVector<Operation *> order = reached.takeVector();
  llvm::sort(order,
             [](Operation *a, Operation *b) { return b->isBeforeInBlock(a); });
  chain.clear();
  for (Operation *op : order)
    if (stored.contains(op) || llvm::all_of(op->getUsers(), [&](Operation *u) {
          return chain.contains(u) || llvm::is_contained(sums, u);
        }))
      chain.insert(op);
  roots.clear();
  auto addRoots = [&](Operation *op) {
    for (Value operand : op->getOperands())
      if (!chain.contains(operand.getDefiningOp()))
        roots.insert(operand);
  };
  llvm::for_each(sums, addRoots);
  llvm::for_each(chain, addRoots);
}

void SumGroup::tryAdd(ReduceOp sum) {
  ReduceOp first = sums.front();
  ArrayRef<int64_t> from = shapeOf(first.getX());
  if (sum->getBlock() != first->getBlock() || shapeOf(sum.getX()) != from ||
      sum.getAxes() != first.getAxes())
    return;
  SumGroup both = *this;
  both.sums.push_back(sum);
  both.findChain();
  auto isEarly = [&](Value root) {
    Operation *def = root.getDefiningOp();
    return !def || def->getBlock() != first->getBlock() ||
           def->isBeforeInBlock(first);
  };
  SumGroup alone;
  alone.leading = leading;
  alone.outer = outer;
  alone.sums.push_back(sum);
  alone.findChain();
  bool shares = llvm::any_of(alone.roots, [&](Value root) {
    return shapeOf(root) == from && roots.contains(root);
  });
  if (shares && llvm::all_of(both.roots, isEarly))
    *this = std::move(both);
}
