//===- AttentionScores.cpp - From a softmax back to a product -------------===//

#include "compiler/transform/recognize/AttentionScores.h"

#include "compiler/transform/Graph.h"
#include "compiler/transform/recognize/MaskValue.h"
#include "dialects/nn/ScalarBuilder.h"
#include "dialects/nn/constants/ConstantValues.h"

#include <cmath>
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

/// Returns the lowest number of a float type.
static double lowestOf(Type type) {
  return APFloat::getLargest(cast<FloatType>(type).getFloatSemantics(),
                             /*Negative=*/true)
      .convertToDouble();
}

/// Returns the type in which scores of the type of `like` are masked.
static Type maskType(Value like) {
  return workType(tensorType(like).getElementType());
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

/// Returns whether all elements of a value are known and larger than those that
/// hide keys.
static bool isLarge(Value value) {
  auto known = evaluateConstant(value);
  return known && llvm::all_of(known->elements.distinct(),
                               [](float x) { return x > kMasked; });
}

/// Returns whether a mask is added that hides nothing: it has no large negative
/// element, or is computed from what trains and from constants without one,
/// such as a bias for relative positions.
static bool hidesNothing(Value mask) {
  if (!isFloat(mask))
    return false;
  if (mayEvaluate(mask))
    return isLarge(mask);
  SmallVector<Value> work = {mask};
  llvm::DenseSet<Value> seen;
  while (!work.empty()) {
    Value value = work.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    if (auto constant = value.getDefiningOp<ConstantOp>()) {
      if (isFloat(value) && !isLarge(value))
        return false;
    } else if (Operation *def = value.getDefiningOp()) {
      llvm::append_range(work, def->getOperands());
    } else if (!isParameter(value)) {
      return false;
    }
  }
  return true;
}

/// Adds masks that hide keys by a finite number to the ranges, if no query can
/// tell their number from -inf. It can if another mask hides all keys that they
/// show it: the keys with the largest sum of numbers share its weights then.
void AttentionScores::joinFiniteRanges() {
  if (llvm::any_of(masks, [](const Mask &mask) {
        return !mask.ranges && (mask.number || !hidesNothing(mask.value));
      }))
    return;
  auto isJoined = [&](const Mask &mask) {
    return mask.ranges && addRanges(*mask.ranges, mask.leading);
  };
  // Those that cannot be joined act as others do.
  auto before = ranges;
  SmallVector<Mask> left;
  for (const Mask &mask : masks)
    if (!isJoined(mask))
      left.push_back(mask);
  if (llvm::any_of(left, [](const Mask &mask) { return mask.ranges; }))
    ranges = before;
  else
    masks = std::move(left);
}

/// Chooses the numbers that are added where a condition replaces scores by a
/// finite one. Returns false if only a replacement gives the model's results.
bool AttentionScores::chooseNumbers() {
  const double lowest = lowestOf(maskType(product.getY()));
  const Mask *first =
      llvm::find_if(masks, [](const Mask &mask) { return bool(mask.number); });
  // If no query sees more than one number, what it is does not matter.
  const bool isAlone = llvm::all_of(masks, [&](const Mask &mask) {
    return mask.number ? mask.number == first->number
                       : !isFloat(mask.value) || hidesNothing(mask.value);
  });
  for (Mask &mask : masks) {
    if (!mask.number)
      continue;
    if (isAlone)
      mask.number = lowest;
    // f32 rounds the sum with a score of up to 32 to the number.
    else if (*mask.number > -1e9)
      return false;
  }
  return true;
}

bool AttentionScores::combineMasks(ArrayRef<int64_t> batchAndHeads) {
  constexpr double never = -std::numeric_limits<double>::infinity();
  // Finite numbers that hide scores lie beyond the range of 16 bits.
  Type work = maskType(product.getY());
  Value allowed, bias;
  joinFiniteRanges();
  if (!chooseNumbers())
    return false;
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
      if (found.number) {
        // Adding a number so low leaves nothing of the score.
        bias = b.cast(bias ? bias : b.scalarLike(product.getY(), 0), work);
        hideByNever();
        allowed = {};
        bias =
            WhereOp::create(b, value, bias, b.scalarLike(bias, *found.number));
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
