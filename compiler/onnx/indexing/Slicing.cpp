//===- Slicing.cpp - Slice and Split --------------------------------------===//

#include "compiler/onnx/indexing/Positions.h"
#include "compiler/onnx/reader/Expr.h"
#include "compiler/onnx/reader/Hooks.h"

#include "dialects/nn/Fold.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;
using namespace frit;
using namespace frit::importer;

static Value slice(Node &node, Value x, ArrayRef<int64_t> starts,
                   ArrayRef<int64_t> ends,
                   const std::optional<SmallVector<int64_t>> &givenAxes,
                   const std::optional<SmallVector<int64_t>> &givenSteps) {
  size_t count = starts.size();
  SmallVector<int64_t> axes =
      givenAxes.value_or(llvm::to_vector(llvm::seq<int64_t>(count)));
  SmallVector<int64_t> steps =
      givenSteps.value_or(SmallVector<int64_t>(count, 1));
  if (ends.size() != count || axes.size() != count || steps.size() != count) {
    node.error() << "starts, ends, axes and steps differ in length";
    return {};
  }
  SmallVector<int64_t> from(rankOf(x), 0), size = sizes(x), by(rankOf(x), 1);
  for (size_t i = 0; i < count; ++i) {
    int64_t d = node.axis(axes[i], rankOf(x));
    if (node.failed)
      return {};
    if (steps[i] == 0) {
      node.error() << "a step is 0";
      return {};
    }
    int64_t whole = nn::shapeOf(x)[d];
    // A step past the end acts like any longer one.
    int64_t step = std::clamp(steps[i], -whole - 1, whole + 1);
    int64_t least = step > 0 ? 0 : -1, most = step > 0 ? whole : whole - 1;
    auto place = [&](int64_t at) {
      return std::clamp(at < 0 ? at + whole : at, least, most);
    };
    int64_t start = place(starts[i]), end = place(ends[i]);
    // A start before the first element means the first.
    start = std::max<int64_t>(start, 0);
    int64_t span = step > 0 ? end - start : start - end;
    size[d] = span <= 0 ? 0 : llvm::divideCeil(span, std::abs(step));
    from[d] = size[d] ? start : 0;
    by[d] = step;
  }
  if (size == sizes(x) && llvm::all_of(by, [](int64_t s) { return s == 1; }))
    return x;
  return node.create<nn::SliceOp>(x, {node.named("starts", from),
                                      node.named("sizes", size),
                                      node.named("steps", by)});
}

static Results sliceByAttributes(Node &node) {
  Value x = node.input(0);
  auto starts = node.integers("starts"), ends = node.integers("ends");
  if (!x || !starts || !ends) {
    if (!node.failed)
      node.error() << "has no starts or ends";
    return {};
  }
  return {slice(node, x, *starts, *ends, node.integers("axes"), std::nullopt)};
}

/// Resolves a slice bound to a non-negative index, clamped to [least, most].
static Size placeIn(Node &node, Size at, const Size &whole, int64_t least,
                    const Size &most) {
  DataSizes &sizes = node.dataSizes();
  SizeRange range = sizes.rangeOf(at);
  Size fromEnd = DataSizes::plus(at, whole);
  if (range.most < 0) {
    // Always before the first element.
    at = sizes.mostOf(fromEnd) < least ? Size(least) : fromEnd;
  } else if (range.least < 0) {
    Expr number = {node, sizes.valueOf(node, at)};
    at = sizes.choose(node, number < 0.0, fromEnd, at);
  }
  return sizes.least(node, sizes.largest(node, least, at), most);
}

/// Slices one axis if its bounds or size depend on the data.
static Value sliceDataDependent(Node &node, Value x, int64_t axis,
                                const Size &start, const Size &end,
                                int64_t step) {
  DataSizes &sizes = node.dataSizes();
  Size whole = node.dataShape(x)[axis];
  Size last = DataSizes::plus(whole, -1);
  int64_t by = std::abs(step);
  bool isBack = step < 0;
  Size from =
      placeIn(node, start, whole, isBack ? -1 : 0, isBack ? last : whole);
  Size to = placeIn(node, end, whole, isBack ? -1 : 0, isBack ? last : whole);
  Size span = DataSizes::plus(isBack ? from : to,
                              DataSizes::times(isBack ? to : from, -1));
  Size count = sizes.quotient(
      node, DataSizes::plus(sizes.largest(node, 0, span), by - 1), by);
  return node.sliceTo(x, axis, from, count, step);
}

static Results slice(Node &node) {
  Value x = node.input(0);
  std::optional<SmallVector<int64_t>> axes, steps;
  if (node.has(3))
    axes = node.integers(3);
  if (node.has(4))
    steps = node.integers(4);
  if (!x || !node.input(1) || !node.input(2) || node.failed)
    return {};
  bool isKnown =
      nn::constantValue(node.input(1)) && nn::constantValue(node.input(2));
  DataShape shape = node.dataShape(x);
  for (int64_t i = 0; isKnown && i < rankOf(x); ++i) {
    auto isCut = [&](int64_t axis) {
      return axis == i || axis == i - rankOf(x);
    };
    isKnown = shape[i].isKnown() || (axes && llvm::none_of(*axes, isCut)) ||
              (!axes && i >= nn::tensorType(node.input(1)).getNumElements());
  }
  if (isKnown) {
    auto starts = node.integers(1), ends = node.integers(2);
    if (starts && ends &&
        (!axes || (axes->size() == 1 && axes->front() == 0)) &&
        (!steps || (steps->size() == 1 && steps->front() == 1)))
      if (Value rows = rowsOfPositions(node, x, *starts, *ends))
        return {rows};
    return {node.failed ? Value()
                        : slice(node, x, *starts, *ends, axes, steps)};
  }
  auto starts = node.dataSizes().anyElementsOf(node, node.input(1));
  auto ends = node.dataSizes().anyElementsOf(node, node.input(2));
  size_t count = starts ? starts->size() : 0;
  if (!starts || !ends || ends->size() != count ||
      (axes && axes->size() != count) || (steps && steps->size() != count)) {
    node.error() << "starts, ends, axes and steps differ in length";
    return {};
  }
  for (size_t i = 0; i < count && x; ++i) {
    int64_t step = steps ? (*steps)[i] : 1;
    int64_t axis = node.axis(axes ? (*axes)[i] : i, rankOf(x));
    if (step == 0 && !node.failed)
      node.error() << "a step is 0";
    if (node.failed)
      return {};
    int64_t whole = nn::shapeOf(x)[axis];
    x = sliceDataDependent(node, x, axis, (*starts)[i], (*ends)[i],
                           std::clamp(step, -whole - 1, whole + 1));
  }
  return {x};
}

/// Splits an axis whose size, or that of its parts, depends on the data, as the
/// tokens of each expert of a mixture.
static Results splitDataDependent(Node &node, Value x, int64_t axis) {
  DataSizes &sizes = node.dataSizes();
  const Size whole = node.dataShape(x)[axis];
  int64_t outputs = node.numOutputs();
  std::optional<DataShape> parts;
  if (node.has(1))
    parts = sizes.anyElementsOf(node, node.input(1));
  else if (auto given = node.integers("split"))
    parts.emplace(given->begin(), given->end());
  bool areGiven = node.has(1) || parts;
  if (!areGiven) // equal parts, except for the last
    parts.emplace(
        outputs,
        sizes.quotient(node, DataSizes::plus(whole, outputs - 1), outputs));
  if (!parts || int64_t(parts->size()) != outputs) {
    if (!node.failed)
      node.error() << "needs a size for each of its " << outputs << " parts";
    return {};
  }
  Results results;
  Size start = 0, sum = 0;
  for (auto [i, part] : llvm::enumerate(*parts)) {
    Size rest = DataSizes::plus(whole, DataSizes::times(start, -1));
    sum = DataSizes::plus(sum, part);
    if (!areGiven)
      part = sizes.largest(node, 0, sizes.least(node, part, rest));
    else if (!part.isKnown() && int64_t(i) == outputs - 1)
      part = rest; // so that all parts together are known to be the whole
    else if (!part.isKnown())
      part = sizes.largest(node, 0, sizes.least(node, part, whole));
    results.push_back(node.sliceTo(x, axis, start, part, 1));
    if (node.failed)
      return {};
    start = DataSizes::plus(start, part);
  }
  if (areGiven) {
    Size rest = DataSizes::plus(whole, DataSizes::times(sum, -1));
    Expr number = {node, sizes.valueOf(node, rest)};
    node.import().addCheck(
        (number.number(0) - number * number).value,
        "node '" + node.fullName() +
            "' has parts that do not add up to the elements of axis " +
            std::to_string(axis));
  }
  return results;
}

static Results split(Node &node) {
  Value x = node.input(0);
  if (!x)
    return {};
  int64_t axis = node.axis(node.integer("axis", 0), rankOf(x));
  int64_t outputs = node.numOutputs();
  if (node.failed)
    return {};
  if (node.integer("num_outputs", outputs) != outputs || outputs == 0) {
    node.error() << "num_outputs is not its number of outputs, " << outputs;
    return {};
  }
  if (!node.dataShape(x)[axis].isKnown() ||
      (node.has(1) && !knownElements(node.input(1))))
    return splitDataDependent(node, x, axis);
  int64_t whole = nn::shapeOf(x)[axis];
  auto sizes = node.has(1) ? node.integers(1) : node.integers("split");
  if (node.failed)
    return {};
  if (!sizes) {
    // Equal parts, except for the last.
    int64_t part = llvm::divideCeil(whole, outputs);
    sizes.emplace(outputs, part);
    sizes->back() = whole - part * (outputs - 1);
  }
  int64_t sum = 0;
  bool fits = static_cast<int64_t>(sizes->size()) == outputs;
  for (int64_t size : *sizes) {
    fits &= size >= 0 && size <= whole;
    sum += fits ? size : 0;
  }
  if (!fits || sum != whole) {
    node.error() << "cannot split " << whole << " elements of axis " << axis
                 << " into " << outputs << " parts of "
                 << llvm::join(llvm::map_range(*sizes,
                                               [](int64_t size) {
                                                 return std::to_string(size);
                                               }),
                               ", ");
    return {};
  }
  Results parts;
  int64_t start = 0;
  for (int64_t size : *sizes) {
    parts.push_back(node.slice(x, axis, start, size));
    start += size;
  }
  return parts;
}

ArrayRef<Hook> frit::importer::slicingHooks() {
  static constexpr Hook hooks[] = {
      {"Slice", 1, 1, 1, sliceByAttributes, takesCounts},
      {"Slice", 10, 3, 5, slice, takesCounts},
      {"Split", 2, 1, 2, split, takesCounts},
  };
  return hooks;
}
