//===- AttentionMasks.cpp - Combine the masks of attention's scores -------===//

#include "compiler/transform/Graph.h"
#include "compiler/transform/recognize/AttentionScores.h"
#include "dialects/nn/ScalarBuilder.h"
#include "dialects/nn/constants/ConstantValues.h"

#include <limits>

using namespace mlir;
using namespace frit;
using namespace frit::nn;

double frit::lowestOf(Type type) {
  return APFloat::getLargest(cast<FloatType>(type).getFloatSemantics(),
                             /*Negative=*/true)
      .convertToDouble();
}

Type frit::maskType(Value like) {
  return workType(tensorType(like).getElementType());
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
