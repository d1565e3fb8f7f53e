//===- Contractions.cpp - Operands of contractions ------------------------===//

#include "compiler/planning/Contractions.h"

#include "dialects/nn/ContractionInfo.h"
#include "dialects/nn/GradientInfo.h"

using namespace mlir;
using namespace frit;

/// Returns the operands of a contraction's fusion in the library's order; empty
/// for other fusions.
static SmallVector<Value> operandsOf(nn::FusionOp fusion) {
  auto gather = [](Value a, Value b, nn::EpilogueInfo &epilogue) {
    SmallVector<Value> values = {a, b};
    if (nn::ConvOp addend = epilogue.addend)
      llvm::append_values(values, addend.getX(), addend.getW());
    for (Value value :
         {epilogue.bias, epilogue.residual, epilogue.moments, epilogue.column})
      if (value)
        values.push_back(value);
    return values;
  };
  if (auto gemm = nn::describeGemm(fusion))
    return gather(gemm->a, gemm->b, *gemm);
  if (auto conv = nn::describeConvolution(fusion))
    return gather(conv->x, conv->w, *conv);
  if (auto gradient = nn::describeConvGradient(fusion))
    return {gradient->a, gradient->b};
  if (auto chain = nn::describeConvB2b(fusion)) {
    SmallVector<Value> values =
        gather(chain->first.x, chain->first.w, chain->first);
    for (Value value : {chain->last.w, chain->last.bias, chain->last.residual})
      if (value)
        values.push_back(value);
    return values;
  }
  return {};
}

void planning::orderContractionInputs(nn::FusionOp fusion) {
  Block &block = fusion.getBody().front();
  unsigned count = block.getNumArguments();
  SmallVector<Value> operands = operandsOf(fusion), inputs;
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
