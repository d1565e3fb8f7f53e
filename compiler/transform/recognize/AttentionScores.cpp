//===- AttentionScores.cpp - From a softmax back to a product -------------===//

#include "compiler/transform/recognize/AttentionScores.h"

#include "compiler/transform/Graph.h"
#include "compiler/transform/recognize/MaskValue.h"
#include "dialects/nn/ScalarBuilder.h"

#include <limits>

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
  if (auto found = rangesOf(mask); found && !hides && addRanges(*found, scores))
    return;
  masks.push_back({mask, hides, leadingShape(scores)});
}

/// Adds to the ranges of keys that queries see. Returns false if the result
/// would have another form.
bool AttentionScores::addRanges(const MaskRanges &more, Value scores) {
  // Only where batch and heads are two dimensions is it plain which is which.
  if (more.batch != 1 && leadingShape(scores).size() != 2)
    return false;
  auto both = ranges ? intersect(*ranges, more) : more;
  if (!both)
    return false;
  ranges = std::move(both);
  return true;
}

/// Records a select between 0 and a number that hides scores, which is a bool
/// mask. Returns false if it is something else.
bool AttentionScores::stepSelectedBias(WhereOp bias, Value scores) {
  if (!bias || shapeOf(bias.getCondition()) != shapeOf(bias.getY()))
    return false;
  for (bool hides : {false, true}) {
    auto shown = numberOf(hides ? bias.getB() : bias.getA());
    auto hidden = numberOf(hides ? bias.getA() : bias.getB());
    if (shown != 0 || !hidden || !hidesAll(bias.getCondition(), hides, *hidden))
      continue;
    addMask(bias.getCondition(), hides, scores);
    return true;
  }
  return false;
}

/// Returns whether scores with `number` in their place, or added, count as
/// little as with -inf. Only -inf does so if a query may see no key: with a
/// finite number it gets an average of all.
bool AttentionScores::hidesAll(Value mask, bool hides, double number) const {
  if (auto inverse = mask.getDefiningOp<NotOp>())
    return hidesAll(inverse.getX(), !hides, number);
  return std::isinf(number) ? number < 0
                            : number * scale <= kMasked && !hides &&
                                  rangesOf(mask).has_value();
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

Value AttentionScores::stepSelection(WhereOp op) {
  for (bool hides : {false, true}) {
    Value scores = hides ? op.getB() : op.getA();
    auto other = numberOf(hides ? op.getA() : op.getB());
    if (!other || !(*other * scale <= kMasked) ||
        scores.getType() != op.getY().getType() || !reachesProduct(scores))
      continue;
    Value condition = op.getCondition();
    if (hidesAll(condition, hides, *other))
      addMask(condition, hides, scores);
    else
      masks.push_back({condition, hides, leadingShape(scores), /*scale=*/1,
                       /*isFinite=*/true});
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

/// Reshapes `mask`, which broadcasts to matrices with `leading` dimensions, to
/// batch×heads matrices in the same order; returns null on failure.
static Value maskFor(NNBuilder &b, Value mask, ArrayRef<int64_t> leading,
                     ArrayRef<int64_t> batchAndHeads) {
  if (leading == batchAndHeads)
    return mask;
  ArrayRef<int64_t> least = shapeOf(mask);
  while (least.size() > 2 && least.front() == 1)
    least = least.drop_front();
  if (least.size() <= 2)
    return b.reshape(mask, least);
  SmallVector<int64_t> shape(leading.size() + 2 - least.size(), 1);
  llvm::append_range(shape, least);
  ArrayRef<int64_t> rows = least.take_back(2);
  auto finish = [&](int64_t batch, int64_t heads) {
    return b.reshape(mask, {batch, heads, rows[0], rows[1]});
  };
  // Batch and heads are one dimension.
  if (leading.size() == 1)
    return leading[0] == ShapedType::getNumElements(batchAndHeads)
               ? finish(batchAndHeads[0], batchAndHeads[1])
               : Value();
  // Or each is several dimensions, which the mask has all of, or one matrix for
  // all.
  size_t split = 0;
  while (split < leading.size() &&
         (ShapedType::getNumElements(leading.take_front(split)) !=
              batchAndHeads[0] ||
          ShapedType::getNumElements(leading.drop_front(split)) !=
              batchAndHeads[1]))
    ++split;
  if (split == leading.size())
    return {};
  int64_t sizes[2];
  for (auto [part, size] : llvm::enumerate(sizes)) {
    ArrayRef<int64_t> whole =
        part ? leading.drop_front(split) : leading.take_front(split);
    auto own = MutableArrayRef(shape).slice(part ? split : 0, whole.size());
    bool repeats = llvm::all_of(own, [](int64_t n) { return n == 1; });
    size = repeats ? 1 : batchAndHeads[part];
    if (!repeats)
      llvm::copy(whole, own.begin());
  }
  if (shapeOf(mask) != ArrayRef(shape))
    mask = ExpandOp::create(b, mask, shape);
  return finish(sizes[0], sizes[1]);
}

bool AttentionScores::combineMasks(ArrayRef<int64_t> batchAndHeads) {
  constexpr double never = -std::numeric_limits<double>::infinity();
  // Finite numbers that hide scores lie beyond the range of 16 bits.
  auto work =
      cast<FloatType>(workType(tensorType(product.getY()).getElementType()));
  double lowest =
      APFloat::getLargest(work.getFloatSemantics(), /*Negative=*/true)
          .convertToDouble();
  Value allowed, bias;
  if (ranges && ranges->batch != 1 && ranges->batch != batchAndHeads[0])
    return false;
  causal = ranges && ranges->areCausal();
  if (ranges && !causal) {
    mask = buildRanges(b, *ranges);
    if (masks.empty())
      return true;
    allowed = RangeMaskOp::create(b, mask, ranges->keys);
  }
  auto hideByNever = [&] {
    if (allowed && bias)
      bias = WhereOp::create(b, allowed, bias, b.scalarLike(bias, never));
  };
  // In the order of the computation, from the product on.
  for (Mask &found : llvm::reverse(masks)) {
    Value value = maskFor(b, found.value, found.leading, batchAndHeads);
    if (!value)
      return false;
    if (tensorType(value).getElementType().isInteger(1)) {
      if (found.hides)
        value = NotOp::create(b, value);
      if (found.isFinite) {
        // Adding the lowest number leaves nothing of the score.
        bias = b.cast(bias ? bias : b.scalarLike(product.getY(), 0), work);
        hideByNever();
        allowed = {};
        bias = WhereOp::create(b, value, bias, b.scalarLike(bias, lowest));
      } else {
        allowed = allowed ? Value(AndOp::create(b, allowed, value)) : value;
      }
      continue;
    }
    if (found.scale != 1)
      value = b.mul(value, b.scalarLike(value, found.scale));
    if (bias && tensorType(bias).getElementType() !=
                    tensorType(value).getElementType()) {
      bias = b.cast(bias, work);
      value = b.cast(value, work);
    }
    bias = bias ? b.add(bias, value) : value;
  }
  hideByNever();
  mask = bias ? bias : allowed;
  return true;
}
