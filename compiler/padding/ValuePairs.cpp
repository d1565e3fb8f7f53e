//===- ValuePairs.cpp - Values of a small model in a large one ------------===//
//
// An importer folds a constant of few elements, and drops a reshape that keeps
// the shape, so that models of two sizes have different operators:
//
//   1:  %y = nn.gather %table, %places       places folded: [[0, 1, 2, 3]]
//   64: %p = nn.expand %row {shape = [64, 4]}
//       %y = nn.gather %table, %p
//
//===----------------------------------------------------------------------===//

#include "compiler/padding/ValuePairs.h"

#include "compiler/padding/values/PaddedOperator.h"

#include <cmath>

using namespace mlir;
using namespace frit;
using namespace frit::nn;

/// Most operators between a constant and its use that are compared one by one.
static constexpr int kMostLevels = 200;
/// Most elements of a constant that are compared one by one.
static constexpr int64_t kMostCompared = int64_t(1) << 22;

bool frit::areAlike(Operation *small, Operation *large) {
  return small->getName() == large->getName() &&
         small->getNumResults() == large->getNumResults() &&
         small->getNumOperands() == large->getNumOperands();
}

bool ValuePairs::isCompared(Operation *op) {
  auto isConstant = [&](Value value) {
    return value.getDefiningOp() && constants.contains(value.getDefiningOp());
  };
  bool dependsOnConstants =
      isa<ConstantOp>(op) ||
      (isa<ElementwiseOp, StructuralOp, CompositeOp, ReshapeOp>(op) &&
       op->getNumOperands() > 0 && llvm::all_of(op->getOperands(), isConstant));
  if (dependsOnConstants)
    constants.insert(op);
  return dependsOnConstants || isa<ReshapeOp>(op);
}

/// Returns whether a slice skips no element between those that it takes.
static bool isAdjacent(SliceOp slice) {
  return llvm::all_of(slice.getSteps(), [](int64_t by) { return by == 1; });
}

bool ValuePairs::skipSlice(Operation *op) {
  auto slice = dyn_cast<SliceOp>(op);
  return slice && isAdjacent(slice) && slices.insert(op).second;
}

SliceOp ValuePairs::skippedSlice(Value value) const {
  auto slice = value.getDefiningOp<SliceOp>();
  return slice && slices.contains(slice) ? slice : SliceOp();
}

std::optional<PaddedValue> ValuePairs::find(Value small, Value large) {
  failure = nullptr;
  return search(small, large, kMostLevels);
}

static Value withoutViews(Value value) {
  while (auto view = value.getDefiningOp<ReshapeOp>())
    value = view.getX();
  return value;
}

std::optional<PaddedValue> ValuePairs::search(Value small, Value large,
                                              int levels) {
  if (auto found = known.find(small);
      found != known.end() && found->second.large == large)
    return found->second;
  if (levels == 0)
    return std::nullopt;
  if (auto found = pairs.find({small, large}); found != pairs.end()) {
    if (!found->second)
      failure = large.getDefiningOp();
    return found->second;
  }
  Operation *from = small.getDefiningOp(), *to = large.getDefiningOp();
  std::optional<PaddedValue> result;
  Value inSmall = withoutViews(small), inLarge = withoutViews(large);
  if (from && to && constants.contains(from) && constants.contains(to))
    result = findConstant(small, large, levels);
  bool isRankKept = shapeOf(small).size() == shapeOf(large).size();
  SliceOp sliceOfSmall = skippedSlice(small),
          sliceOfLarge = skippedSlice(large);
  if (!result && isRankKept && sliceOfSmall)
    result = findSlice(sliceOfSmall, large, levels);
  if (!result && isRankKept && sliceOfLarge)
    result = findInSlice(small, sliceOfLarge, levels);
  if (result) {
    failure = nullptr;
  } else if (inSmall != small || inLarge != large) {
    result = search(inSmall, inLarge, levels - 1);
    if (!result)
      if (auto rows = inSmall.getDefiningOp<GatherOp>(); rows && isRankKept)
        result = findRows(rows, inLarge, levels - 1);
    if (!result)
      return std::nullopt;
    result = padView(*result, small, large);
    if (!result)
      failure = to;
  } else if (sliceOfSmall || sliceOfLarge) {
    return std::nullopt;
  }
  if (!result && !failure)
    return std::nullopt;
  pairs.try_emplace({small, large}, result);
  return result;
}

/// Compares a slice of the small model with the whole of which it is a part.
std::optional<PaddedValue> ValuePairs::findSlice(SliceOp small, Value large,
                                                 int levels) {
  auto whole = search(small.getX(), large, levels - 1);
  if (!whole || whole->anywhere || !areLeading(whole->places))
    return std::nullopt;
  auto result = leadingValue(small.getY(), large);
  if (!result)
    return std::nullopt;
  for (auto [part, start] : llvm::zip_equal(result->places, small.getStarts()))
    part.front().offset = start;
  result->content = {whole->content.inside, whole->content.all(), {}, {}};
  return result;
}

/// Compares a value of the small model with what the large model cuts from a
/// longer one, as where a convolution gives one element more than is wanted for
/// an even length.
std::optional<PaddedValue> ValuePairs::findInSlice(Value small, SliceOp large,
                                                   int levels) {
  auto result = search(small, large.getX(), levels - 1);
  if (!result)
    return std::nullopt;
  result->large = large.getY();
  if (result->anywhere)
    return result;
  for (auto [dim, start, size, whole] :
       llvm::zip_equal(result->places, large.getStarts(), large.getSizes(),
                       shapeOf(large.getX()))) {
    if (start == 0 && size == whole)
      continue;
    if (start != 0 || dim.size() != 1 ||
        dim.front().offset + dim.front().small > size)
      return std::nullopt;
    dim.front().large = size;
  }
  return result;
}

/// Compares the first rows of a table, which the small model gathers, with all
/// of them. The places are of the gather's dimensions, which may be more than
/// the table's.
std::optional<PaddedValue> ValuePairs::findRows(GatherOp small, Value large,
                                                int levels) {
  if (shapeOf(small.getX()).size() != shapeOf(large).size())
    return std::nullopt;
  ArrayRef<int64_t> shape = shapeOf(small.getIndices());
  std::optional<ConstantValue> rows = evaluateConstant(small.getIndices());
  if (axisOf(small.getX(), small.getAxis()) != 0 || !rows ||
      rows->readsWeights || shape.empty() ||
      ShapedType::getNumElements(shape) > kMostCompared)
    return std::nullopt;
  float next = 0;
  bool areFirst = true;
  forEachLine(
      shape, {&rows->elements.places}, [&](auto at, int64_t count, auto steps) {
        for (int64_t i = 0; i < count; ++i)
          areFirst &= (*rows->elements.data)[at[0] + i * steps[0]] == next++;
      });
  auto whole =
      areFirst ? search(small.getX(), large, levels - 1) : std::nullopt;
  if (!whole || whole->anywhere || !areLeading(whole->places) ||
      next > float(shapeOf(large).front()))
    return std::nullopt;
  failure = nullptr;
  PaddedValue result{large, {}, false, {}};
  result.content = {whole->content.inside, whole->content.all(), {}, {}};
  auto along = llvm::find_if(shape, [](int64_t size) { return size > 1; });
  size_t dim = along == shape.end() ? 0 : along - shape.begin();
  if (llvm::any_of(shape.drop_front(dim + 1),
                   [](int64_t size) { return size > 1; }))
    return std::nullopt;
  for (size_t i = 0; i < shape.size(); ++i)
    result.places.push_back(
        {{shape[i], i == dim ? shapeOf(large).front() : 1}});
  llvm::append_range(result.places, llvm::drop_begin(whole->places));
  return result;
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

/// Returns the join of all elements.
static AbstractValue numbersOf(const ConstantElements &elements) {
  AbstractValue numbers;
  for (float element : elements.distinct())
    numbers = numbers |
              (std::isnan(element) || element == INFINITY ? AbstractValue::any
               : element == -INFINITY                     ? AbstractValue::below
               : element > 0  ? AbstractValue::positive
               : element == 0 ? AbstractValue::notNegative
                              : AbstractValue::real);
  return numbers;
}

/// Compares operator by operator, and by elements where that fails or cannot
/// tell that they are numbers, as sin(x) / x where x may be 0.
std::optional<PaddedValue> ValuePairs::findConstant(Value small, Value large,
                                                    int levels) {
  Operation *from = small.getDefiningOp(), *to = large.getDefiningOp();
  std::optional<PaddedValue> compared;
  if (areAlike(from, to)) {
    SmallVector<PaddedValue, 3> operands;
    for (auto [a, b] : llvm::zip(from->getOperands(), to->getOperands()))
      if (auto operand = search(a, b, levels - 1))
        operands.push_back(*operand);
    if (operands.size() == from->getNumOperands())
      compared = compare(from, to, operands);
  }
  if (compared && compared->content.all().kind != AbstractValue::any)
    return compared;
  if (auto result = compareElements(small, large))
    return result;
  if (compared) {
    // As of weights, their present values count: sin(x) / x of a filter's.
    auto found = evaluated.find(large);
    if (found != evaluated.end() && found->second && !compared->anywhere)
      compared->content =
          PaddedContent::uniform(::numbersOf(found->second->elements));
    return compared;
  }
  // The large model needs all of a table.
  if (auto slice = dyn_cast<SliceOp>(from); slice && isAdjacent(slice))
    if (auto result = findSlice(slice, large, levels))
      return result;
  if (auto rows = dyn_cast<GatherOp>(from);
      rows && shapeOf(small).size() == shapeOf(large).size())
    if (auto result = findRows(rows, large, levels))
      return result;
  if (!failure)
    failure = to;
  return std::nullopt;
}

/// Returns whether two elements are equal up to rounding, since one may have
/// been folded and the other evaluated here.
static bool areClose(float x, float y) {
  return x == y ||
         std::abs(x - y) <= 1e-6f * std::min(std::abs(x), std::abs(y));
}

/// Returns whether the elements of `small` lead those of `large`.
static bool areLeading(const ConstantElements &small,
                       const ConstantElements &large) {
  SmallVector<int64_t> shape = small.distinctShape();
  for (auto [d, size] : llvm::enumerate(shape))
    if (large.places.strides[d] != 0)
      size = small.shape()[d];
  if (ShapedType::getNumElements(shape) > kMostCompared)
    return false;
  bool areEqual = true;
  forEachLine(shape, {&small.places, &large.places},
              [&](auto at, int64_t count, auto steps) {
                for (int64_t i = 0; i < count; ++i)
                  areEqual &= areClose((*small.data)[at[0] + i * steps[0]],
                                       (*large.data)[at[1] + i * steps[1]]);
              });
  return areEqual;
}

std::optional<PaddedValue> ValuePairs::compareElements(Value small,
                                                       Value large) {
  auto result = leadingValue(small, large);
  if (!result || result->anywhere)
    return std::nullopt;
  auto [it, isNew] = evaluated.try_emplace(large);
  if (isNew)
    it->second = evaluateConstant(large);
  // Weights may be replaced.
  if (!it->second || it->second->readsWeights)
    return std::nullopt;
  std::optional<ConstantValue> other = evaluateConstant(small);
  if (!other || other->readsWeights ||
      !::areLeading(other->elements, it->second->elements))
    return std::nullopt;
  result->content = PaddedContent::uniform(::numbersOf(it->second->elements));
  // Equal elements may be anywhere, folded or not.
  if (it->second->elements.distinct().size() == 1)
    return PaddedValue{large, {}, /*anywhere=*/true, result->content};
  return result;
}
