//===- WideOperators.cpp - Operators that stay f32 by their operands ------===//

#include "compiler/transform/precision/Narrowing.h"
#include "compiler/transform/recognize/QuantizedOperands.h"

using namespace mlir;
using namespace frit;
using namespace frit::nn;
using namespace frit::precision;

/// Returns whether an operator's f32 operands are only constants and values
/// that stayed f32. Holds for elementwise operators and means, and for those
/// that move elements on the way to a sum or an f32 result of the function.
bool Narrowing::followsWide(Operation *op) {
  bool moves =
      movesElements(op) && (readers.sum(op->getResult(0)) ||
                            (!widens() && readers.result(op->getResult(0))));
  if (!isa<ElementwiseOp, ReduceMeanOp, AvgPoolOp>(op) && !moves)
    return false;
  bool any = false;
  for (Value operand : op->getOperands()) {
    if (!wasFrom(operand) || operand.getDefiningOp<ConstantOp>())
      continue;
    if (!forms.lookup(operand).kept)
      return false;
    any = true;
  }
  return any;
}

/// Returns whether an operator's operands are f32 and it leads to one that
/// stays f32. If it depends on constants alone, all of its readers must: a
/// weight is stored in one form.
bool Narrowing::leadsToWide(Operation *op) {
  if (!readers.passes(op) || !readers.some(op->getResult(0)))
    return false;
  bool constant = true;
  for (Value operand : op->getOperands()) {
    if (!wasFrom(operand) || operand.getDefiningOp<ConstantOp>())
      continue;
    constant = false;
    if (!isa<BlockArgument>(operand) && !forms.lookup(operand).kept)
      return false;
  }
  return !constant || readers.all(op->getResult(0));
}

/// Returns whether an operator finds elements of a value that stays f32.
bool Narrowing::findsWide(Operation *op) {
  return findsElements(op) && llvm::all_of(op->getOperands(), [&](Value x) {
           return forms.lookup(x).kept || isa<BlockArgument>(x);
         });
}

/// Returns whether an operator computes a mean of the model's 16-bit values, or
/// subtracts an f32 mean from them: the difference may be much smaller.
bool Narrowing::centres(Operation *op) {
  if (!widens() || isa<ReduceMeanOp>(op))
    return widens();
  auto difference = dyn_cast<SubOp>(op);
  return difference && forms.lookup(difference.getB()).kept &&
         tensorType(difference.getB()).getNumElements() <
             tensorType(difference.getY()).getNumElements();
}

/// Returns whether an operator moves a parameter that trains to a product.
bool Narrowing::isScale(Operation *op) {
  return !widens() && movesElements(op) && op->getNumOperands() == 1 &&
         scales(op->getOperand(0)) && isFactor(op->getResult(0));
}

/// Returns whether an operator multiplies by a parameter that trains, or is
/// elementwise on such products or moves their elements.
bool Narrowing::isScaled(Operation *op) {
  if (widens())
    return false;
  if (isa<MulOp>(op) &&
      llvm::any_of(op->getOperands(), [&](Value x) { return scales(x); }))
    return true;
  return (isa<ElementwiseOp>(op) || movesElements(op)) &&
         llvm::any_of(op->getOperands(), [&](Value operand) {
           return forms.lookup(operand).scaled;
         });
}

/// Returns whether an operator multiplies codes, or is elementwise on f32
/// values of which one comes from such a product. Magnitudes do not count: they
/// give scales of rows, and narrowQuantizedRows rounds what they are of.
bool Narrowing::isSummed(Operation *op) {
  if (widens())
    return false;
  return multipliesQuantized(op) ||
         (isa<ElementwiseOp>(op) && !isa<CastOp, AbsOp>(op) &&
          llvm::any_of(op->getOperands(), [&](Value operand) {
            return forms.lookup(operand).summed;
          }));
}
