//===- Gradients.cpp - Reverse-mode differentiation -----------------------===//
//
//   %h = nn.matmul %x, %w                 %w is a parameter
//   %y = nn.relu %h
//   %loss = nn.reduce %y {kind = #nn.combiner<sum>}
// ==>
//   …
//   %dy = nn.expand %seed                 vjp of each operator, last one first
//   %c  = nn.greater %h, 0
//   %dh = nn.where %c, %dy, 0
//   %dw = nn.matmul %x, %dh {transpose_a}
//
// Only operators between a parameter and the loss are differentiated. The
// gradients of a value with several readers are added.
//
//===----------------------------------------------------------------------===//

#include "dialects/nn/gradients/Gradients.h"

#include "dialects/nn/gradients/LossPaths.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace frit;
using namespace frit::nn;

namespace {
class Differentiation {
public:
  Differentiation(Value loss, ArrayRef<Value> parameters)
      : loss(loss), block(*loss.getParentBlock()), parameters(parameters),
        parameterSet(parameters.begin(), parameters.end()) {}

  FailureOr<SmallVector<Value>> run(Value seed);

private:
  void decomposeComposites();
  void findActive();
  /// Returns the end of the block's operators without the terminator.
  Block::iterator end() {
    return block.mightHaveTerminator() ? block.back().getIterator()
                                       : block.end();
  }
  bool isParameter(Value value) const { return parameterSet.contains(value); }
  void reportMissing(Operation *op);
  LogicalResult differentiate(Operation *op);
  void add(Value value, Value gradient, NNBuilder &b);

  Value loss;
  Block &block;
  ArrayRef<Value> parameters;
  llvm::DenseSet<Value> parameterSet;
  /// Values that depend on a parameter and that the loss depends on.
  llvm::DenseSet<Value> active;
  llvm::DenseMap<Value, Value> gradients;
};
} // namespace

/// Returns the operands that an operator's gradient may go to. The gradient of
/// a batch norm by the batch's own statistics includes their contribution.
static OperandRange differentiated(Operation *op) {
  auto norm = dyn_cast<BatchNormOp>(op);
  return norm && norm.getBatchStatistics() ? op->getOperands().take_front(3)
                                           : op->getOperands();
}

void Differentiation::findActive() {
  active.clear();
  llvm::DenseSet<Value> depends(parameters.begin(), parameters.end());
  for (Operation &op : block)
    if (llvm::any_of(op.getOperands(),
                     [&](Value v) { return depends.contains(v); }))
      for (Value result : op.getResults())
        if (auto type = dyn_cast<RankedTensorType>(result.getType());
            type && isa<FloatType>(type.getElementType()))
          depends.insert(result);
  if (!depends.contains(loss))
    return;
  SmallVector<Value> work = {loss};
  while (!work.empty()) {
    Value value = work.pop_back_val();
    if (!depends.contains(value) || !active.insert(value).second)
      continue;
    if (Operation *op = value.getDefiningOp(); op && !isParameter(value))
      llvm::append_range(work, differentiated(op));
  }
}

/// Decomposes active composites that have no gradient of their own, until none
/// is left.
void Differentiation::decomposeComposites() {
  SmallVector<CompositeOp> composites;
  do {
    findActive();
    composites.clear();
    for (Operation &op : block)
      if (auto composite = dyn_cast<CompositeOp>(op))
        if (active.contains(op.getResult(0)) && !isa<DifferentiableOp>(op) &&
            !isParameter(op.getResult(0)))
          composites.push_back(composite);
    for (CompositeOp op : composites) {
      NNBuilder b(op.getLoc(), op.getOperation());
      SmallVector<Value> values = op.decompose(b);
      if (op->getResult(0) == loss)
        loss = values[0];
      op->replaceAllUsesWith(values);
      op->erase();
    }
  } while (!composites.empty());
}

/// Reports an operator without a gradient, and the operators from there to the
/// loss.
void Differentiation::reportMissing(Operation *op) {
  InFlightDiagnostic error =
      op->emitError("'")
      << op->getName()
      << "' has no gradient, and what needs one lies before it";
  LossPaths(loss).attachNotes(error, op);
}

void Differentiation::add(Value value, Value gradient, NNBuilder &b) {
  Type element = tensorType(value).getElementType();
  // Sums are never rounded on the way.
  if (shapeOf(gradient) != shapeOf(value))
    gradient = b.sumTo(b.cast(gradient, workType(element)), shapeOf(value));
  // A parameter's gradient is summed in full precision.
  gradient = b.cast(gradient, isParameter(value) ? workType(element) : element);
  Value &sum = gradients[value];
  sum = sum ? b.add(sum, gradient) : gradient;
}

LogicalResult Differentiation::differentiate(Operation *op) {
  if (llvm::none_of(op->getResults(),
                    [&](Value result) { return gradients.contains(result); }))
    return success();
  auto differentiable = dyn_cast<DifferentiableOp>(op);
  if (!differentiable || !differentiable.isDifferentiable())
    return reportMissing(op), failure();
  NNBuilder b(op->getLoc(), OpBuilder(&block, end()));
  Value dy = gradients.lookup(op->getResult(0));
  SmallVector<Value> products = differentiable.buildVjp(b, dy);
  for (auto [operand, gradient] : llvm::zip_equal(op->getOperands(), products))
    if (gradient && active.contains(operand))
      add(operand, gradient, b);
  return success();
}

FailureOr<SmallVector<Value>> Differentiation::run(Value seed) {
  decomposeComposites();
  NNBuilder b(loss.getLoc(), OpBuilder(&block, end()));
  if (active.contains(loss))
    gradients[loss] = b.cast(b.reshape(seed, shapeOf(loss)),
                             tensorType(loss).getElementType());
  SmallVector<Operation *> order;
  for (Operation &op : llvm::make_range(block.begin(), end()))
    if (llvm::any_of(op.getResults(), [&](Value result) {
          return active.contains(result) && !isParameter(result);
        }))
      order.push_back(&op);
  bool fine = true;
  for (Operation *op : llvm::reverse(order))
    fine &= succeeded(differentiate(op));
  if (!fine)
    return failure();
  return llvm::map_to_vector(parameters,
                             [&](Value v) { return gradients.lookup(v); });
}

FailureOr<SmallVector<Value>> frit::buildGradients(Value loss, Value seed,
                                                   ArrayRef<Value> parameters) {
  return Differentiation(loss, parameters).run(seed);
}
