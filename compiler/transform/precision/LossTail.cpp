//===- LossTail.cpp - The operators between products and a loss -----------===//

#include "compiler/transform/precision/LossTail.h"

#include "compiler/transform/Graph.h"
#include "compiler/transform/precision/PrecisionClasses.h"
#include "dialects/nn/NN.h"
#include "dialects/nn/training/Loss.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace frit;
using namespace frit::nn;

/// Returns the attribute of an argument of a function; null for other values.
static Attribute argumentAttribute(Value value, StringRef name) {
  auto argument = dyn_cast<BlockArgument>(value);
  auto function =
      argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp())
               : nullptr;
  return function ? function.getArgAttr(argument.getArgNumber(), name)
                  : nullptr;
}

bool precision::isInput(Value value) {
  return bool(argumentAttribute(value, "nn.name"));
}

/// Returns whether 16 bits are meant for an operator and what it reads: those
/// that multiply matrices, and losses that take logits.
static bool endsTail(Operation *op) {
  return isa<MatmulOp, ConvOp, AttentionOp, CrossEntropyOp, SquaredErrorOp,
             BceWithLogitsOp, ConstantOp>(op);
}

precision::LossTail::LossTail(Block &block) {
  if (llvm::none_of(block.getArguments(), isParameter))
    return;
  Operation *terminator = block.getTerminator();
  if (!terminator->getNumOperands())
    return;
  llvm::DenseSet<Operation *> leads;
  if (Operation *loss = terminator->getOperand(0).getDefiningOp())
    leads.insert(loss);
  for (Operation &op : llvm::reverse(block.without_terminator())) {
    if (!leads.contains(&op) || endsTail(&op) ||
        !llvm::all_of(op.getUsers(), [&](Operation *user) {
          return user == terminator || tail.contains(user);
        }))
      continue;
    tail.insert(&op);
    for (Value operand : op.getOperands())
      if (Operation *source = operand.getDefiningOp())
        leads.insert(source);
  }
}

bool precision::LossTail::keepsWide(
    Operation *op, llvm::function_ref<bool(Value)> isWide) const {
  return tail.contains(op) && (isa<ReduceMeanOp, SoftmaxOp, LogSoftmaxOp>(op) ||
                               llvm::any_of(op->getOperands(), isWide));
}
