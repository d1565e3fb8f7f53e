//===- Contractions.cpp - Operands of contractions ------------------------===//

#include "compiler/planning/Contractions.h"

#include "dialects/nn/Problem.h"

using namespace mlir;
using namespace frit;

void planning::orderContractionInputs(nn::FusionOp fusion) {
  Block &block = fusion.getBody().front();
  unsigned count = block.getNumArguments();
  SmallVector<Value> operands = nn::Problem(fusion).operands(), inputs;
  if (operands.empty())
    return;
  // An argument with two roles becomes two arguments.
  for (Value operand : operands) {
    auto old = cast<BlockArgument>(operand);
    BlockArgument own = block.addArgument(old.getType(), old.getLoc());
    inputs.push_back(fusion.getInputs()[old.getArgNumber()]);
    bool again = llvm::count(operands, operand) > 1;
    if (!again) {
      old.replaceAllUsesWith(own);
      continue;
    }
    OpOperand *first = nullptr;
    for (Operation &op : block)
      for (OpOperand &use : op.getOpOperands())
        if (!first && use.get() == operand)
          first = &use;
    if (first)
      first->set(own);
  }
  block.eraseArguments(0, count);
  fusion.getInputsMutable().assign(inputs);
}

int64_t planning::countFlops(nn::FusionOp fusion) {
  int64_t flops = 0;
  for (Operation &op : fusion.getBody().front().without_terminator())
    flops += nn::countFlops(&op);
  return flops;
}
