//===- Movement.cpp - Operators that move elements ------------------------===//

#include "compiler/onnx/reader/Expr.h"
#include "compiler/onnx/reader/Hooks.h"

#include "dialects/nn/Fold.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;
using namespace frit;
using namespace frit::importer;

static Results transpose(Node &node) {
  Value x = node.input(0);
  if (!x)
    return {};
  SmallVector<int64_t> reversed =
      llvm::to_vector(llvm::reverse(llvm::seq<int64_t>(rankOf(x))));
  SmallVector<int64_t> perm = node.integers("perm").value_or(reversed);
  if (static_cast<int64_t>(perm.size()) != rankOf(x) ||
      !isPermutationVector(perm)) {
    node.error() << "perm is no permutation of the " << rankOf(x)
                 << " dimensions of its input";
    return {};
  }
  return {node.transpose(x, perm)};
}

static Results concat(Node &node) {
  if (!node.attribute("axis")) {
    node.error() << "has no axis";
    return {};
  }
  // Drop empty operands, such as the cache of a first step.
  Results xs;
  for (size_t i = 0; i < node.inputs().size(); ++i) {
    Value x = node.input(i);
    if (!x)
      return {};
    if (nn::tensorType(x).getNumElements())
      xs.push_back(x);
  }
  if (xs.empty())
    xs.assign(node.inputs().begin(), node.inputs().end());
  int64_t axis = node.axis(node.integer("axis", 0), rankOf(xs[0]));
  if (xs.size() == 1)
    return {xs[0]};
  return {node.concat(xs, axis)};
}

/// Returns whether `indices` are an arithmetic sequence in [0, size).
static bool isRun(ArrayRef<int64_t> indices, int64_t size) {
  auto isPlace = [&](int64_t index) { return index >= 0 && index < size; };
  if (indices.empty() || !llvm::all_of(indices, isPlace))
    return false;
  int64_t step = indices.size() > 1 ? indices[1] - indices[0] : 1;
  for (auto [i, index] : llvm::enumerate(indices))
    if (index != indices[0] + static_cast<int64_t>(i) * step)
      return false;
  return step != 0;
}

/// Gather. Constant indices in arithmetic sequence become a slice, as when
/// exporters take one of three stacked tensors.
static Results gather(Node &node) {
  Value x = node.input(0), indices = node.input(1);
  int64_t given = node.integer("axis", 0);
  if (!x || !indices)
    return {};
  int64_t axis = node.axis(given, rankOf(x));
  if (node.failed || !node.checkIndices(indices, nn::shapeOf(x)[axis]))
    return {};
  if (nn::constantValue(indices) && rankOf(indices) <= 1 &&
      node.dataShape(x)[axis].isKnown()) {
    auto places = node.integers(1);
    if (!places)
      return {};
    int64_t whole = nn::shapeOf(x)[axis];
    for (int64_t &place : *places)
      if (place < 0)
        place += whole;
    if (isRun(*places, whole)) {
      SmallVector<int64_t> starts(rankOf(x), 0), steps(rankOf(x), 1);
      SmallVector<int64_t> counts = sizes(x);
      starts[axis] = places->front();
      counts[axis] = places->size();
      if (places->size() > 1)
        steps[axis] = (*places)[1] - (*places)[0];
      Value y = x;
      if (counts != sizes(x) || steps[axis] != 1)
        y = node.create<nn::SliceOp>(x, {node.named("starts", starts),
                                         node.named("sizes", counts),
                                         node.named("steps", steps)});
      if (rankOf(indices) == 0)
        counts.erase(counts.begin() + axis);
      return {node.reshape(y, counts)};
    }
  }
  return {
      node.create<nn::GatherOp>({x, indices}, node.namedSigned("axis", axis))};
}

//===----------------------------------------------------------------------===//
// Slice
//===----------------------------------------------------------------------===//

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

static Results split(Node &node) {
  Value x = node.input(0);
  if (!x)
    return {};
  int64_t axis = node.axis(node.integer("axis", 0), rankOf(x));
  if (node.failed)
    return {};
  if (!node.dataShape(x)[axis].isKnown()) {
    node.error() << "splits a tensor whose size depends on the data, of up to "
                 << nn::shapeOf(x)[axis] << " entries" << fixInputsHint(x);
    return {};
  }
  int64_t whole = nn::shapeOf(x)[axis];
  int64_t outputs = node.numOutputs();
  auto sizes = node.has(1) ? node.integers(1) : node.integers("split");
  if (node.failed)
    return {};
  if (node.integer("num_outputs", outputs) != outputs || outputs == 0) {
    node.error() << "num_outputs is not its number of outputs, " << outputs;
    return {};
  }
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

//===----------------------------------------------------------------------===//
// Tile, Pad, Trilu
//===----------------------------------------------------------------------===//

/// A×B repeated r and s times is 1×A×1×B expanded to r×A×s×B.
static Results tile(Node &node) {
  Value x = node.input(0);
  auto repeats = node.integers(1);
  if (!x || !repeats)
    return {};
  SmallVector<int64_t> apart, repeated, joined;
  if (static_cast<int64_t>(repeats->size()) != rankOf(x) ||
      llvm::any_of(*repeats, [](int64_t r) { return r < 0; })) {
    node.error() << "must have a repeat for every dimension";
    return {};
  }
  for (auto [size, repeat] : llvm::zip_equal(nn::shapeOf(x), *repeats)) {
    apart.append({1, size});
    repeated.append({repeat, size});
  }
  if (!countElements(repeated)) {
    node.error() << "its result is too large";
    return {};
  }
  for (auto [size, repeat] : llvm::zip_equal(nn::shapeOf(x), *repeats))
    joined.push_back(size * repeat);
  return {node.reshape(node.expand(node.reshape(x, apart), repeated), joined)};
}

static Value pad(Node &node, Value x, ArrayRef<int64_t> pads,
                 ArrayRef<int64_t> axes, Value value) {
  if (pads.size() != 2 * axes.size()) {
    node.error() << "must have two pads for every dimension, but has "
                 << pads.size() << " for " << axes.size();
    return {};
  }
  SmallVector<int64_t> low(rankOf(x), 0), high(rankOf(x), 0);
  for (auto [i, given] : llvm::enumerate(axes)) {
    int64_t d = node.axis(given, rankOf(x));
    if (node.failed)
      return {};
    low[d] = pads[i];
    high[d] = pads[i + axes.size()];
    int64_t whole = nn::shapeOf(x)[d];
    constexpr int64_t most = int64_t(1) << 42;
    if (low[d] < -whole || high[d] < -whole || low[d] > most ||
        high[d] > most || whole + low[d] + high[d] < 0) {
      node.error() << "cannot pad " << whole << " elements by " << low[d]
                   << " and " << high[d];
      return {};
    }
  }
  StringRef mode = node.string("mode", "constant");
  if (!llvm::is_contained({"constant", "edge", "reflect", "wrap"}, mode)) {
    node.error() << "mode '" << mode << "' is not supported";
    return {};
  }
  Results operands = {x};
  if (value)
    operands.push_back(node.reshape(value, {}));
  return node.create<nn::PadOp>(
      operands, {node.named("low", low), node.named("high", high),
                 node.named("mode", node.builder().getStringAttr(mode))});
}

static Results padByAttributes(Node &node) {
  Value x = node.input(0);
  auto pads = node.integers("pads");
  if (!x || !pads) {
    if (!node.failed)
      node.error() << "has no pads";
    return {};
  }
  double number = node.real("value", 0);
  Value value = number ? node.scalar(x, number) : Value();
  auto all = llvm::to_vector(llvm::seq<int64_t>(rankOf(x)));
  return {pad(node, x, *pads, all, value)};
}

static Results pad(Node &node) {
  Value x = node.input(0), value;
  auto pads = node.integers(1);
  if (!x || !pads)
    return {};
  if (node.has(2))
    value = node.input(2);
  auto axes = llvm::to_vector(llvm::seq<int64_t>(rankOf(x)));
  if (node.has(3)) {
    auto given = node.integers(3);
    if (!given)
      return {};
    axes = *given;
  }
  return {pad(node, x, *pads, axes, value)};
}

static Results trilu(Node &node) {
  Value x = node.input(0);
  int64_t k = node.has(1) ? node.integer(1).value_or(0) : 0;
  bool upper = node.integer("upper", 1);
  return {node.create<nn::TriluOp>(
      x, {node.named("k", node.builder().getI64IntegerAttr(k)),
          node.named("upper", node.builder().getBoolAttr(upper))})};
}

//===----------------------------------------------------------------------===//
// Depth and space
//===----------------------------------------------------------------------===//

/// Returns whether x is an image whose channels or sides the block divides.
static bool isImage(Node &node, Value x, int64_t block) {
  if (!x)
    return false;
  if (rankOf(x) == 4 && block > 0)
    return true;
  node.error() << "needs an image of 4 dimensions and a block size, but has "
               << nn::shapeText(nn::shapeOf(x)) << " and " << block;
  return false;
}

static Results depthToSpace(Node &node) {
  Value x = node.input(0);
  int64_t block = node.integer("blocksize", 0);
  StringRef mode = node.string("mode", "DCR");
  if (!isImage(node, x, block))
    return {};
  auto shape = nn::shapeOf(x);
  int64_t n = shape[0], c = shape[1], h = shape[2], w = shape[3];
  if (c % block || c / block % block) {
    node.error() << c << " channels are not a multiple of " << block << "x"
                 << block;
    return {};
  }
  int64_t depth = c / block / block;
  Value y;
  if (mode == "CRD")
    y = node.transpose(node.reshape(x, {n, depth, block, block, h, w}),
                       {0, 1, 4, 2, 5, 3});
  else
    y = node.transpose(node.reshape(x, {n, block, block, depth, h, w}),
                       {0, 3, 4, 1, 5, 2});
  return {
      node.reshape(y, {n, depth, product({h, block}), product({w, block})})};
}

static Results spaceToDepth(Node &node) {
  Value x = node.input(0);
  int64_t block = node.integer("blocksize", 0);
  StringRef mode = node.string("mode", "DCR");
  if (!isImage(node, x, block))
    return {};
  auto shape = nn::shapeOf(x);
  int64_t n = shape[0], c = shape[1], h = shape[2], w = shape[3];
  if (h % block || w % block) {
    node.error() << h << "x" << w << " is not a multiple of " << block;
    return {};
  }
  Value blocks = node.reshape(x, {n, c, h / block, block, w / block, block});
  Value y = mode == "CRD" ? node.transpose(blocks, {0, 1, 3, 5, 2, 4})
                          : node.transpose(blocks, {0, 3, 5, 1, 2, 4});
  return {
      node.reshape(y, {n, product({c, block, block}), h / block, w / block})};
}

ArrayRef<Hook> frit::importer::movementHooks() {
  static constexpr Hook hooks[] = {
      {"Transpose", 1, 1, 1, transpose, false, true},
      {"Concat", 4, 1, -1, concat, false, true},
      {"Gather", 1, 2, 2, gather, false, true},
      {"Slice", 1, 1, 1, sliceByAttributes, false, true},
      {"Slice", 10, 3, 5, slice, false, true},
      {"Split", 2, 1, 2, split, false, true},
      {"Tile", 6, 2, 2, tile, false, true},
      {"Pad", 2, 1, 1, padByAttributes, false, true},
      {"Pad", 11, 2, 4, pad, false, true},
      {"Trilu", 14, 1, 2, trilu, false, true},
      {"DepthToSpace", 1, 1, 1, depthToSpace, false, true},
      {"SpaceToDepth", 1, 1, 1, spaceToDepth, false, true},
  };
  return hooks;
}
