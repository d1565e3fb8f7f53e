//===- LinearProducts.cpp - Products with matrices of weights -------------===//

#include "compiler/transform/quantize/LinearProducts.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace frit;
using namespace frit::nn;

/// Returns whether an operator's result has elements of its operand, maybe in
/// another type.
static bool isMove(Operation *op) {
  return isa_and_nonnull<CastOp, ReshapeOp, SliceOp, TransposeOp>(op);
}

static bool isState(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  auto function =
      argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp())
               : func::FuncOp();
  return function && function.getArgAttr(argument.getArgNumber(), "nn.state");
}

bool frit::isWeightMatrix(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || !isa<FloatType>(type.getElementType()) ||
      llvm::count_if(type.getShape(), [](int64_t d) { return d != 1; }) < 2)
    return false;
  while (isMove(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  auto constant = value.getDefiningOp<ConstantOp>();
  return isState(value) || (constant && constant.getNameAttr());
}

/// Returns whether an operator computes with a matrix of weights.
static bool usesWeightMatrix(Operation *op) {
  return !isMove(op) && llvm::any_of(op->getOperands(), isWeightMatrix);
}

LinearProducts::LinearProducts(Block &block) {
  Operation *terminator = block.getTerminator();
  if (terminator->getNumOperands() == 0)
    return;
  SmallVector<Value> work = {terminator->getOperand(0)};
  while (!work.empty())
    if (Operation *op = work.pop_back_val().getDefiningOp())
      if (forward.insert(op).second)
        llvm::append_range(work, op->getOperands());
  llvm::DenseSet<Value> follows, leads;
  for (Operation &op : block)
    if (forward.contains(&op) &&
        (usesWeightMatrix(&op) || llvm::any_of(op.getOperands(), [&](Value v) {
           return follows.contains(v);
         })))
      follows.insert_range(op.getResults());
  for (Operation &op : llvm::reverse(block))
    if (forward.contains(&op) &&
        (usesWeightMatrix(&op) || llvm::any_of(op.getResults(), [&](Value v) {
           return leads.contains(v);
         })))
      leads.insert_range(op.getOperands());
  for (Operation &op : block)
    if (isa<MatmulOp, ConvOp>(op) && forward.contains(&op) &&
        usesWeightMatrix(&op))
      products.push_back(
          {&op,
           llvm::none_of(op.getOperands(),
                         [&](Value v) { return follows.contains(v); }),
           !leads.contains(op.getResult(0))});
}
