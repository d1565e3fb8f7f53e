//===- Regrouping.cpp - Rows of a reduction in parts ----------------------===//

#include "compiler/transform/sums/Regrouping.h"

using namespace mlir;
using namespace frit;
using namespace frit::nn;

Regrouping::Regrouping(NNBuilder &b, const SumGroup &group, int64_t parts)
    : b(b), group(group) {
  ReduceOp first = group.sums.front();
  from.assign(shapeOf(first.getX()).begin(), shapeOf(first.getX()).end());
  leading = first.getAxes().size();
  outer = group.outer;
  int64_t rows = 1;
  for (int64_t size : ArrayRef(from).slice(outer, leading))
    rows *= size;
  to.assign(from.begin(), from.begin() + outer);
  to.append({parts, rows / parts});
  llvm::append_range(to, ArrayRef(from).drop_front(outer + leading));
}

/// Returns an operand, which broadcasts to the old shape, such that it
/// broadcasts to the new one.
Value Regrouping::regroupBroadcast(Value value) {
  ArrayRef<int64_t> shape = shapeOf(value);
  size_t kept = from.size() - leading - outer;
  while (!shape.empty() && shape.front() == 1 && shape.size() > kept)
    shape = shape.drop_front();
  // Without leading dimensions, the operand aligns with the kept ones.
  if (shape.size() <= kept)
    return b.reshape(value, shape);
  size_t before = outer - (from.size() - shape.size());
  SmallVector<int64_t> regrouped(shape.take_front(before));
  if (shape.slice(before, leading) == ArrayRef(from).slice(outer, leading))
    regrouped.append({to[outer], to[outer + 1]});
  else
    regrouped.append({1, 1});
  llvm::append_range(regrouped, shape.drop_front(before + leading));
  return b.reshape(value, regrouped);
}

Value Regrouping::regroupRoot(Value value) {
  Value &root = roots[value];
  if (!root)
    root = shapeOf(value) == ArrayRef(from) ? b.reshape(value, to)
                                            : regroupBroadcast(value);
  return root;
}

Value Regrouping::regroup(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || !group.chain.contains(op))
    return regroupRoot(value);
  if (Value done = moved.lookup(value))
    return done;
  SmallVector<Value> operands = llvm::map_to_vector(
      op->getOperands(), [&](Value operand) { return regroup(operand); });
  // Operands that all broadcast may lack outer dimensions, which are 1.
  if (llvm::none_of(operands, [&](Value operand) {
        return shapeOf(operand).size() == to.size();
      })) {
    ArrayRef<int64_t> shape = shapeOf(operands.front());
    SmallVector<int64_t> whole(to.size() - shape.size(), 1);
    llvm::append_range(whole, shape);
    operands.front() = b.reshape(operands.front(), whole);
  }
  Operation *clone = b.clone(*op);
  clone->setOperands(operands);
  clone->getResult(0).setType(tensorType(value).clone(to));
  // Operators of one kernel are computed once; the mark would keep equal ones
  // apart.
  if (group.sums.size() > 1)
    clone->removeAttr("nn.recomputed");
  for (Operation *other : built)
    if (OperationEquivalence::isEquivalentTo(
            clone, other, OperationEquivalence::IgnoreLocations)) {
      clone->erase();
      return moved[value] = other->getResult(0);
    }
  built.push_back(clone);
  return moved[value] = clone->getResult(0);
}
