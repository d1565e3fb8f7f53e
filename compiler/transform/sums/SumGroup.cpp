//===- SumGroup.cpp - Reductions that share a kernel ----------------------===//

#include "compiler/transform/sums/SumGroup.h"

#include "compiler/transform/Graph.h"

#include <queue>

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
  // Visit readers before their operands.
  auto isBefore = [](Operation *a, Operation *b) {
    return a->isBeforeInBlock(b);
  };
  std::priority_queue<Operation *, std::vector<Operation *>, decltype(isBefore)>
      work(isBefore);
  llvm::DenseSet<Operation *> reached;
  auto reach = [&](Operation *reader) {
    for (Value operand : reader->getOperands())
      if (Operation *op = operand.getDefiningOp();
          isa_and_nonnull<ElementwiseOp>(op) && shapeOf(operand) == from &&
          op->getBlock() == sums.front()->getBlock() &&
          llvm::all_of(
              op->getOperands(),
              [&](Value v) { return canRegroup(v, from, leading, outer); }) &&
          reached.insert(op).second)
        work.push(op);
  };
  llvm::for_each(sums, reach);
  chain.clear();
  while (!work.empty()) {
    Operation *op = work.top();
    work.pop();
    if (stored.contains(op) || llvm::all_of(op->getUsers(), [&](Operation *u) {
          return chain.contains(u) || llvm::is_contained(sums, u);
        })) {
      chain.insert(op);
      reach(op);
    }
  }
  roots.clear();
  auto addRoots = [&](Operation *op) {
    for (Value operand : op->getOperands())
      if (!chain.contains(operand.getDefiningOp()))
        roots.insert(operand);
  };
  llvm::for_each(sums, addRoots);
  llvm::for_each(chain, addRoots);
}

bool SumGroup::tryAdd(ReduceOp sum) {
  ReduceOp first = sums.front();
  ArrayRef<int64_t> from = shapeOf(first.getX());
  if (sum->getBlock() != first->getBlock() || shapeOf(sum.getX()) != from ||
      sum.getAxes() != first.getAxes())
    return false;
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
  if (!shares || !llvm::all_of(both.roots, isEarly))
    return false;
  *this = std::move(both);
  return true;
}

/// Returns the reduction that alone reads the result of `op`, directly or
/// through elementwise operators of one shape; null if there is none.
static Operation *onlyReduction(Operation *op) {
  Operation *only = nullptr;
  llvm::SetVector<Operation *> work;
  work.insert(op);
  // Breadth first: two different readers end the search, and most operators
  // have two nearby.
  for (size_t i = 0; i < work.size(); ++i)
    for (Operation *user : work[i]->getUsers()) {
      if (isa<ElementwiseOp>(user) &&
          resultType(user).getShape() == resultType(op).getShape()) {
        work.insert(user);
        continue;
      }
      if (!isa<ReduceOp>(user) || (only && only != user))
        return nullptr;
      only = user;
    }
  return only;
}

/// Returns the places from `next` on, in order, of reductions that may read one
/// of the group's tensors.
SmallVector<size_t>
SumGroup::findReaders(const llvm::DenseMap<Operation *, size_t> &places,
                      size_t next) {
  ArrayRef<int64_t> from = shapeOf(sums.front().getX());
  SmallVector<size_t> found;
  for (Value root : roots) {
    if (shapeOf(root) != from)
      continue;
    for (Operation *user : root.getUsers()) {
      Operation *sum = isa<ElementwiseOp>(user) ? onlyReduction(user) : user;
      if (auto place = places.find(sum);
          place != places.end() && place->second >= next)
        found.push_back(place->second);
    }
  }
  llvm::sort(found);
  found.erase(llvm::unique(found), found.end());
  return found;
}

void SumGroup::addOthers(ArrayRef<ReduceOp> all,
                         const llvm::DenseMap<Operation *, size_t> &places,
                         size_t next, llvm::function_ref<bool(ReduceOp)> fits) {
  SmallVector<size_t> left = findReaders(places, next);
  for (size_t i = 0; i < left.size();) {
    size_t place = left[i++];
    if (!fits(all[place]) || !tryAdd(all[place]))
      continue;
    // Readers of the same values as the reduction may join, too.
    left = findReaders(places, place + 1);
    i = 0;
  }
}
