//===- AttentionScores.cpp - From a softmax back to a product -------------===//

#include "compiler/transform/recognize/AttentionScores.h"

#include "compiler/transform/Graph.h"
#include "compiler/transform/recognize/MaskValue.h"

#include <cmath>

using namespace mlir;
using namespace frit;
using namespace frit::nn;

std::optional<double> frit::numberOf(Value value) {
  while (Operation *def = value.getDefiningOp()) {
    if (!isa<ReshapeOp, ExpandOp>(def))
      break;
    value = def->getOperand(0);
  }
  return splatNumber(value);
}

Value frit::takeScale(Operation *op, double &scale) {
  if (isa<MulOp>(op)) {
    for (unsigned i = 0; i < 2; ++i)
      if (auto number = numberOf(op->getOperand(1 - i));
          number && op->getOperand(i).getType() == op->getResult(0).getType()) {
        scale *= *number;
        return op->getOperand(i);
      }
    return {};
  }
  auto div = dyn_cast<DivOp>(op);
  if (!div || div.getA().getType() != div.getY().getType())
    return {};
  auto number = numberOf(div.getB());
  if (!number || *number == 0)
    return {};
  scale /= *number;
  return div.getA();
}

bool frit::isFloatCast(Operation *op) {
  auto cast = dyn_cast<CastOp>(op);
  return cast && isFloat(cast.getX()) && isFloat(cast.getY());
}

bool frit::keepsMatrices(Operation *op) {
  auto reshape = dyn_cast<ReshapeOp>(op);
  if (!reshape)
    return false;
  ArrayRef<int64_t> from = shapeOf(reshape.getX()), to = shapeOf(reshape);
  return from.size() >= 2 && to.size() >= 2 &&
         from.take_back(2) == to.take_back(2);
}

SmallVector<int64_t> frit::leadingShape(Value value) {
  return SmallVector<int64_t>(shapeOf(value).drop_back(2));
}

bool frit::reachesProduct(Value value, unsigned depth) {
  Operation *def = value.getDefiningOp();
  if (!def || !def->hasOneUse() || depth == 0)
    return false;
  if (isa<MatmulOp>(def))
    return true;
  double ignored = 1;
  if (Value x = takeScale(def, ignored))
    return reachesProduct(x, depth - 1);
  if (isFloatCast(def) || keepsMatrices(def))
    return reachesProduct(def->getOperand(0), depth - 1);
  if (isa<AddOp, MulOp, WhereOp>(def))
    return llvm::any_of(def->getOperands(), [&](Value operand) {
      return operand.getType() == def->getResult(0).getType() &&
             reachesProduct(operand, depth - 1);
    });
  return false;
}

/// Records a bool mask of scores, true where they count (do not count if
/// `hides`). Splits the parts with ranges off.
void AttentionScores::addMask(Value mask, bool hides, Value scores) {
  if (auto inverse = mask.getDefiningOp<NotOp>())
    return addMask(inverse.getX(), !hides, scores);
  if (auto both = mask.getDefiningOp<AndOp>(); both && !hides) {
    if (llvm::any_of(both->getOperands(),
                     [](Value part) { return bool(rangesOf(part)); }))
      for (Value part : both->getOperands())
        addMask(part, hides, scores);
    else
      masks.push_back({mask, hides, leadingShape(scores)});
    return;
  }
  if (auto found = rangesOf(mask);
      found && !hides && addRanges(*found, leadingShape(scores)))
    return;
  masks.push_back({mask, hides, leadingShape(scores)});
}

/// Adds to the ranges of keys that queries see. Returns false if the result
/// would have another form.
bool AttentionScores::addRanges(const MaskRanges &more,
                                ArrayRef<int64_t> leading) {
  // Only where batch and heads are two dimensions is it plain which is which.
  if (more.batch != 1 && leading.size() != 2)
    return false;
  auto both = ranges ? intersect(*ranges, more) : more;
  if (!both)
    return false;
  ranges = std::move(both);
  return true;
}

/// Returns the ranges of keys that a condition of a select shows.
static std::optional<MaskRanges> shownRanges(Value condition, bool hides) {
  while (auto inverse = condition.getDefiningOp<NotOp>()) {
    condition = inverse.getX();
    hides = !hides;
  }
  return hides ? std::nullopt : rangesOf(condition);
}

/// Records a select between 0 and a number that hides scores. Returns false if
/// it is something else, such as a finite number without ranges.
bool AttentionScores::stepSelectedBias(WhereOp bias, Value scores) {
  if (!bias || shapeOf(bias.getCondition()) != shapeOf(bias.getY()))
    return false;
  for (bool hides : {false, true}) {
    auto shown = numberOf(hides ? bias.getB() : bias.getA());
    auto hidden = numberOf(hides ? bias.getA() : bias.getB());
    if (shown != 0 || !hidden || !(*hidden * scale <= kMasked))
      continue;
    Value condition = bias.getCondition();
    if (std::isinf(*hidden)) {
      addMask(condition, hides, scores);
      return true;
    }
    auto ranges = shownRanges(condition, hides);
    if (!ranges)
      continue;
    masks.push_back({bias.getY(), false, leadingShape(scores), scale,
                     std::nullopt, std::move(ranges)});
    return true;
  }
  return false;
}

Value AttentionScores::stepBias(AddOp op) {
  for (unsigned i = 0; i < 2; ++i) {
    Value scores = op->getOperand(i), bias = op->getOperand(1 - i);
    if (scores.getType() != op.getY().getType() || !reachesProduct(scores))
      continue;
    if (!stepSelectedBias(bias.getDefiningOp<WhereOp>(), scores))
      masks.push_back({bias, false, leadingShape(scores), scale});
    return scores;
  }
  return {};
}

/// Returns what a number in place of scores is after they are scaled. The
/// lowest number of 16 bits becomes that of the type for masks.
static double replacement(double number, double scale, Value scores) {
  double lowest = lowestOf(maskType(scores));
  return number == lowestOf(tensorType(scores).getElementType())
             ? lowest
             : std::max(number * scale, lowest);
}

Value AttentionScores::stepSelection(WhereOp op) {
  for (bool hides : {false, true}) {
    Value scores = hides ? op.getB() : op.getA();
    auto other = numberOf(hides ? op.getA() : op.getB());
    if (!other || !(*other * scale <= kMasked) ||
        scores.getType() != op.getY().getType() || !reachesProduct(scores))
      continue;
    Value condition = op.getCondition();
    if (std::isinf(*other))
      addMask(condition, hides, scores);
    else
      masks.push_back({condition, hides, leadingShape(scores), /*scale=*/1,
                       replacement(*other, scale, scores),
                       shownRanges(condition, hides)});
    return scores;
  }
  return {};
}

/// Steps over a factor per row of the scores, which the queries can absorb.
Value AttentionScores::stepRowScale(MulOp op) {
  for (unsigned i = 0; i < 2 && !rowScale; ++i) {
    Value scores = op->getOperand(i), factor = op->getOperand(1 - i);
    if (scores.getType() != op.getY().getType() || shapeOf(factor).empty() ||
        shapeOf(factor).back() != 1 || !reachesProduct(scores))
      continue;
    rowScale = factor;
    scaledShape = leadingShape(scores);
    return scores;
  }
  return {};
}

/// Returns the scores from which `op` computes its result, recording scale or
/// mask; null if `op` is not understood.
Value AttentionScores::step(Operation *op) {
  if (Value x = takeScale(op, scale))
    return x;
  if (isFloatCast(op) || keepsMatrices(op))
    return op->getOperand(0);
  if (auto mul = dyn_cast<MulOp>(op))
    return stepRowScale(mul);
  // A mask would have to be scaled by the same factor.
  if (rowScale)
    return {};
  if (auto add = dyn_cast<AddOp>(op))
    return stepBias(add);
  if (auto where = dyn_cast<WhereOp>(op))
    return stepSelection(where);
  return {};
}

bool AttentionScores::follow(Value value, unsigned readers) {
  for (; Operation *def = value.getDefiningOp(); readers = 1) {
    if (!value.hasNUses(readers))
      return false;
    if (shapeOf(value).size() == 4)
      batchAndHeads = leadingShape(value);
    product = dyn_cast<MatmulOp>(def);
    if (product)
      return true;
    value = step(def);
    if (!value)
      return false;
  }
  return false;
}
