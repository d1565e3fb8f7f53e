//===- LossPaths.cpp - How the loss depends on a value --------------------===//
//
// For messages about weights without a gradient.
//
//===----------------------------------------------------------------------===//

#include "dialects/nn/gradients/LossPaths.h"

#include "dialects/nn/NN.h"

using namespace mlir;
using namespace frit;
using namespace frit::nn;

LossPaths::LossPaths(Value loss) {
  steps[loss] = {};
  SmallVector<Value> queue = {loss};
  for (size_t i = 0; i < queue.size(); ++i) {
    Value value = queue[i];
    unsigned length = steps.lookup(value).length + 1;
    if (Operation *op = value.getDefiningOp())
      for (Value operand : op->getOperands())
        if (steps.try_emplace(operand, Step{value, length}).second)
          queue.push_back(operand);
  }
}

std::optional<unsigned> LossPaths::length(Value value) const {
  auto it = steps.find(value);
  return it == steps.end() ? std::nullopt : std::optional(it->second.length);
}

/// Returns whether the gradient of an operator's result passes to `operand`.
/// Asks the operator, which may be differentiable and yet piecewise constant.
static bool passesGradient(OpResult result, Value operand) {
  auto type = dyn_cast<RankedTensorType>(result.getType());
  if (!type || !isa<FloatType>(type.getElementType()))
    return false;
  Operation *op = result.getOwner();
  auto differentiable = dyn_cast<DifferentiableOp>(op);
  if (!differentiable)
    return isa<CompositeOp>(op);
  if (!differentiable.isDifferentiable())
    return false;
  Block scratch;
  NNBuilder b(op->getLoc(), op->getContext());
  b.setInsertionPointToEnd(&scratch);
  SmallVector<Value> gradients = differentiable.buildVjp(b, op->getResult(0));
  return llvm::any_of(llvm::zip_equal(op->getOperands(), gradients),
                      [&](auto pair) {
                        auto [to, gradient] = pair;
                        return to == operand && gradient;
                      });
}

Operation *LossPaths::findBlocker(Value value) const {
  for (Value next; (next = after(value)); value = next)
    if (!passesGradient(cast<OpResult>(next), value))
      return next.getDefiningOp();
  return nullptr;
}

void LossPaths::attachNotes(InFlightDiagnostic &message, Operation *op) const {
  auto reaches = [&](Value result) { return steps.contains(result); };
  auto results = op->getResults();
  auto found = llvm::find_if(results, reaches);
  if (found == results.end())
    return;
  constexpr int kMostNotes = 4;
  Value value = *found;
  Location last = op->getLoc();
  for (int count = 0; count < kMostNotes && (value = after(value));) {
    Location loc = value.getLoc();
    // The loss is no node of the model: it has a file but no line. Several
    // operators may come from one node.
    auto file = dyn_cast<FileLineColLoc>(loc);
    if ((file && !file.getLine()) || loc == last)
      continue;
    message.attachNote(loc) << "the loss reads it through here";
    last = loc;
    ++count;
  }
}
