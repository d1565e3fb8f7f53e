//===- AttentionScores.cpp - From a softmax back to a product -------------===//

#include "compiler/transform/recognize/AttentionScores.h"

#include "compiler/transform/Graph.h"
#include "compiler/transform/recognize/MaskValue.h"

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

/// Returns whether `value` comes from a product through operators that step()
/// understands.
bool AttentionScores::reaches(Value value, unsigned depth) const {
  Operation *def = value.getDefiningOp();
  if (!def || !def->hasOneUse() || depth == 0)
    return false;
  if (isa<MatmulOp>(def))
    return true;
  double ignored = 1;
  if (Value x = takeScale(def, ignored))
    return reaches(x, depth - 1);
  if (isFloatCast(def) || keepsMatrices(def))
    return reaches(def->getOperand(0), depth - 1);
  if (isa<AddOp, MulOp, WhereOp>(def))
    return llvm::any_of(def->getOperands(), [&](Value operand) {
      return operand.getType() == def->getResult(0).getType() &&
             reaches(operand, depth - 1);
    });
  return false;
}

/// Returns whether `mask` hides nothing, or is causal, which is then recorded.
bool AttentionScores::isKnownMask(Value mask, Value scores, double scale) {
  MaskKind kind = kindOfMask(mask, scale);
  if (kind == MaskKind::causal &&
      shapeOf(mask).take_back(2) != shapeOf(scores).take_back(2))
    return false;
  causal |= kind == MaskKind::causal;
  return kind != MaskKind::other;
}

Value AttentionScores::stepBias(AddOp op) {
  for (unsigned i = 0; i < 2; ++i) {
    Value scores = op->getOperand(i), bias = op->getOperand(1 - i);
    if (scores.getType() != op.getY().getType() || !reaches(scores))
      continue;
    if (isKnownMask(bias, scores, scale))
      return scores;
    // A select between 0 and -infinity is a boolean mask.
    auto where = bias.getDefiningOp<WhereOp>();
    constexpr double never = -std::numeric_limits<double>::infinity();
    if (where && numberOf(where.getA()) == 0 &&
        numberOf(where.getB()) == never &&
        shapeOf(where.getCondition()) == shapeOf(bias))
      masks.push_back({where.getCondition(), false, leadingShape(scores)});
    else if (where && numberOf(where.getB()) == 0 &&
             numberOf(where.getA()) == never &&
             shapeOf(where.getCondition()) == shapeOf(bias))
      masks.push_back({where.getCondition(), true, leadingShape(scores)});
    else
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
        scores.getType() != op.getY().getType() || !reaches(scores))
      continue;
    Value condition = op.getCondition();
    Value allowed = hides ? NotOp::create(b, condition) : condition;
    if (isKnownMask(allowed, scores))
      return scores;
    // With a finite number instead of -infinity, a query that sees no key gets
    // an average of all, so keep it as a bias.
    if (*other != -std::numeric_limits<double>::infinity()) {
      Value zero = b.scalarLike(scores, 0);
      Value low = b.scalarLike(scores, *other);
      Value bias = WhereOp::create(b, allowed, zero, low);
      masks.push_back({bias, false, leadingShape(scores), scale});
      return scores;
    }
    masks.push_back({condition, hides, leadingShape(scores)});
    return scores;
  }
  return {};
}

/// Steps over a factor per row of the scores, which the queries can absorb.
Value AttentionScores::stepRowScale(MulOp op) {
  for (unsigned i = 0; i < 2 && !rowScale; ++i) {
    Value scores = op->getOperand(i), factor = op->getOperand(1 - i);
    if (scores.getType() != op.getY().getType() || shapeOf(factor).empty() ||
        shapeOf(factor).back() != 1 || !reaches(scores))
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

bool AttentionScores::follow(Value value) {
  while (Operation *def = value.getDefiningOp()) {
    if (!def->hasOneUse())
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
  Value allowed, bias;
  for (Mask &found : masks) {
    Value value = maskFor(b, found.value, found.leading, batchAndHeads);
    if (!value)
      return false;
    if (tensorType(value).getElementType().isInteger(1)) {
      if (found.hides)
        value = NotOp::create(b, value);
      allowed = allowed ? Value(AndOp::create(b, allowed, value)) : value;
      continue;
    }
    if (found.scale != 1)
      value = b.mul(value, b.scalarLike(value, found.scale));
    if (bias)
      bias = b.cast(bias, tensorType(value).getElementType());
    bias = bias ? b.add(bias, value) : value;
  }
  if (allowed && bias)
    bias = WhereOp::create(b, allowed, bias, b.scalarLike(bias, never));
  mask = bias ? bias : allowed;
  return true;
}
