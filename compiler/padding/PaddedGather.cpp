//===- PaddedGather.cpp - Selections from padded inputs -------------------===//
//
// Resizing 3 elements to 6 and 4 to 8, linearly, the second of two elements is
//
//   3:  0 0 1 1 2 2
//   4:  0 1 1 2 2 3 3 3    limited to 2: 0 1 1 2 2 2
//
// so that the small model's indices are the large one's, limited to the small
// one's last element.
//
//===----------------------------------------------------------------------===//

#include "compiler/padding/PaddedGather.h"

#include "dialects/nn/Fold.h"

using namespace mlir;
using namespace frit;
using namespace frit::nn;

/// Most indices that are compared.
static constexpr int64_t kMostIndices = int64_t(1) << 22;

/// Returns whether `isRight` holds for each index of the small model and the
/// one that takes its place in the large model. False if they are no constants.
static bool
compareIndices(Value small, Value large, EvaluatedConstants &evaluated,
               llvm::function_ref<bool(float own, float other)> isRight) {
  if (!mayLead(small.getType(), large.getType()))
    return false;
  auto [it, isNew] = evaluated.try_emplace(large);
  if (isNew)
    it->second = evaluateConstant(large);
  std::optional<ConstantValue> indices = evaluateConstant(small);
  if (!it->second || it->second->readsWeights || !indices ||
      indices->readsWeights)
    return false;
  const ConstantElements &a = indices->elements, &b = it->second->elements;
  // Repeated indices are compared once.
  SmallVector<int64_t> shape = a.distinctShape();
  for (auto [d, size] : llvm::enumerate(shape))
    if (b.places.strides[d] != 0)
      size = a.shape()[d];
  if (ShapedType::getNumElements(shape) > kMostIndices)
    return false;
  bool areRight = true;
  forEachLine(shape, {&a.places, &b.places},
              [&](auto at, int64_t count, auto steps) {
                for (int64_t i = 0; i < count; ++i)
                  areRight &= isRight((*a.data)[at[0] + i * steps[0]],
                                      (*b.data)[at[1] + i * steps[1]]);
              });
  return areRight;
}

std::optional<PaddedGather> frit::padGather(GatherOp small, GatherOp large,
                                            const PaddedValue &x,
                                            EvaluatedConstants &evaluated) {
  int64_t axis = axisOf(small.getX(), small.getAxis());
  if (axis != axisOf(large.getX(), large.getAxis()) || x.anywhere ||
      !areLeading(x.places))
    return std::nullopt;
  auto last = static_cast<float>(shapeOf(small.getX())[axis] - 1);
  bool isLimited = false;
  // Negative ones count from the end.
  bool isRight = compareIndices(small.getIndices(), large.getIndices(),
                                evaluated, [&](float own, float other) {
                                  isLimited |= own != other;
                                  return own >= 0 && own <= last &&
                                         other >= 0 &&
                                         own == std::min(other, last);
                                });
  auto result = leadingValue(small.getY(), large.getY());
  if (!isRight || !result)
    return std::nullopt;
  result->content = {x.content.inside, x.content.all(), {}, {}};
  return PaddedGather{*result, isLimited};
}

std::optional<PaddedValue> frit::padElements(GatherElementsOp small,
                                             GatherElementsOp large,
                                             const PaddedValue &x,
                                             EvaluatedConstants &evaluated) {
  int64_t axis = axisOf(small.getX(), small.getAxis());
  if (axis != axisOf(large.getX(), large.getAxis()) || x.anywhere ||
      x.places[axis].size() != 1)
    return std::nullopt;
  for (auto [dim, part] : llvm::enumerate(x.places))
    if (int64_t(dim) != axis && !isLeading(part))
      return std::nullopt;
  const SizePair part = x.places[axis].front();
  bool isRight = compareIndices(small.getIndices(), large.getIndices(),
                                evaluated, [&](float own, float other) {
                                  return own >= 0 && own < float(part.small) &&
                                         other == own + float(part.offset);
                                });
  auto result = leadingValue(small.getY(), large.getY());
  if (!isRight || !result)
    return std::nullopt;
  result->content = {x.content.inside, x.content.all(), {}, {}};
  return result;
}

/// Returns the operand that a clamp limits by a number, if that is `limit`.
template <class Op> static Value withoutLimit(Value value, int64_t limit) {
  auto op = value.getDefiningOp<Op>();
  if (!op)
    return {};
  for (unsigned i = 0; i < 2; ++i)
    if (auto number = nn::constantValue(op->getOperand(i), /*most=*/1))
      if (isa<IntegerType>(number.getElementType()) &&
          (*number.template value_begin<APInt>()).getSExtValue() == limit)
        return op->getOperand(1 - i);
  return {};
}

/// Returns whether a gather's indices are limited to what it reads from.
static bool isLimited(GatherOp gather) {
  int64_t last =
      shapeOf(gather.getX())[axisOf(gather.getX(), gather.getAxis())] - 1;
  Value below = withoutLimit<MinOp>(gather.getIndices(), last);
  return below && withoutLimit<MaxOp>(below, 0);
}

std::optional<PaddedValue> frit::padLimitedGather(GatherOp small,
                                                  GatherOp large,
                                                  const PaddedValue &x,
                                                  const PaddedValue &indices) {
  if (axisOf(small.getX(), small.getAxis()) !=
          axisOf(large.getX(), large.getAxis()) ||
      x.anywhere || !areLeading(x.places) ||
      (!indices.anywhere && !areLeading(indices.places)) || !isLimited(small) ||
      !isLimited(large))
    return std::nullopt;
  auto result = leadingValue(small.getY(), large.getY());
  if (result)
    result->content = {x.content.inside, x.content.all(), {}, {}};
  return result;
}
