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

std::optional<PaddedGather> frit::padGather(GatherOp small, GatherOp large,
                                            const PaddedValue &x,
                                            EvaluatedConstants &evaluated) {
  Value from = small.getIndices(), to = large.getIndices();
  int64_t axis = axisOf(small.getX(), small.getAxis());
  if (axis != axisOf(large.getX(), large.getAxis()) || x.anywhere ||
      !areLeading(x.places) || !mayLead(from.getType(), to.getType()) ||
      tensorType(from).getNumElements() > kMostIndices)
    return std::nullopt;
  auto [it, isNew] = evaluated.try_emplace(to);
  if (isNew)
    it->second = evaluateConstant(to);
  std::optional<ConstantValue> indices = evaluateConstant(from);
  if (!it->second || it->second->readsWeights || !indices ||
      indices->readsWeights)
    return std::nullopt;
  const ConstantElements &a = indices->elements, &b = it->second->elements;
  auto last = static_cast<float>(shapeOf(small.getX())[axis] - 1);
  bool isRight = true, isLimited = false;
  forEachLine(shapeOf(from), {&a.places, &b.places},
              [&](auto at, int64_t count, auto steps) {
                for (int64_t i = 0; i < count; ++i) {
                  float own = (*a.data)[at[0] + i * steps[0]];
                  float other = (*b.data)[at[1] + i * steps[1]];
                  // Negative ones count from the end.
                  isRight &= own >= 0 && own <= last && other >= 0 &&
                             own == std::min(other, last);
                  isLimited |= own != other;
                }
              });
  auto result = leadingValue(small.getY(), large.getY());
  if (!isRight || !result)
    return std::nullopt;
  result->content = {x.content.inside, x.content.all(), {}, {}};
  return PaddedGather{*result, isLimited};
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
