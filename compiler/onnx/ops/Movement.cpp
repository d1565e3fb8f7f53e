//===- Movement.cpp - Operators that move elements ------------------------===//

#include "compiler/onnx/indexing/OpenPlaces.h"
#include "compiler/onnx/indexing/Positions.h"
#include "compiler/onnx/reader/Expr.h"
#include "compiler/onnx/reader/Hooks.h"

#include "dialects/nn/Fold.h"
#include "dialects/nn/constants/ConstantValues.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"

#include <limits>

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

/// Returns whether indices are constant and list 0 to `size` - 1 in order.
static bool listsAll(Value indices, int64_t size) {
  auto type = nn::tensorType(indices);
  if (size > mostInTable || type.getNumElements() != size || size == 0)
    return false;
  auto known = nn::evaluateConstant(indices);
  if (!known)
    return false;
  auto elements = nn::readElements(known->elements, type.getShape());
  return llvm::all_of(llvm::enumerate(elements), [](auto entry) {
    return entry.value() == float(entry.index());
  });
}

/// Imports Gather. Constant indices in arithmetic sequence become a slice.
/// Exporters take one of three stacked tensors this way.
static Results gather(Node &node) {
  Value x = node.input(0), indices = node.input(1);
  int64_t given = node.integer("axis", 0);
  if (!x || !indices)
    return {};
  int64_t axis = node.axis(given, rankOf(x));
  if (axis == 0)
    if (Value own = positionsFor(node, x, indices))
      indices = own;
  if (axis == 0)
    limitPositions(node, x, indices);
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
  // PyTorch's exporter gathers masks of attention from all positions in order.
  if (listsAll(indices, nn::shapeOf(x)[axis]) &&
      node.dataShape(x)[axis].isKnown()) {
    SmallVector<int64_t> shape = sizes(x);
    shape.erase(shape.begin() + axis);
    ArrayRef<int64_t> places = nn::shapeOf(indices);
    shape.insert(shape.begin() + axis, places.begin(), places.end());
    return {node.reshape(x, shape)};
  }
  return {
      node.create<nn::GatherOp>({x, indices}, node.namedSigned("axis", axis))};
}

//===----------------------------------------------------------------------===//
// Tile, Pad, Trilu
//===----------------------------------------------------------------------===//

/// Imports Tile: A×B repeated r and s times is 1×A×1×B expanded to r×A×s×B.
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
  auto isWhole = [&](int64_t d) {
    int64_t most = mode == "edge" ? std::numeric_limits<int64_t>::max()
                                  : nn::shapeOf(x)[d] - (mode == "reflect");
    return low[d] <= most && high[d] <= most && nn::shapeOf(x)[d] > 0;
  };
  auto dims = llvm::seq<int64_t>(rankOf(x));
  if (mode != "constant" && hasOpenLengths(node) && !isMarked(x) &&
      llvm::all_of(dims, isWhole)) {
    Expr y = {node, x};
    // A size that is a multiple needs no pads where others do.
    auto mayNeedPads = [&](int64_t d) {
      return node.computesPlaces() && d >= std::min<int64_t>(2, rankOf(x) - 1);
    };
    for (int64_t d : dims)
      if (low[d] || high[d] || mayNeedPads(d))
        y = padByIndices(y, d, low[d], high[d], mode);
    return y;
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
      {"Transpose", 1, 1, 1, transpose, takesCounts},
      {"Concat", 4, 1, -1, concat, takesCounts},
      {"Gather", 1, 2, 2, gather, takesCounts},
      {"Tile", 6, 2, 2, tile, takesCounts},
      {"Pad", 2, 1, 1, padByAttributes, takesCounts},
      {"Pad", 11, 2, 4, pad, takesCounts},
      {"Trilu", 14, 1, 2, trilu, takesCounts},
      {"DepthToSpace", 1, 1, 1, depthToSpace, takesCounts},
      {"SpaceToDepth", 1, 1, 1, spaceToDepth, takesCounts},
  };
  return hooks;
}
