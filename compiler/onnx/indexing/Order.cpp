//===- Order.cpp - Prefix sums, and sorting of long dimensions ------------===//
//
// sort_places computes each result independently, in time quadratic in the
// dimension. Long dimensions are split into short ones:
//
// - Top k of few: the first k elements are among the first k of their blocks.
// - Sorting, and top k of many: sorted blocks are merged pairwise, and only the
//   first k of a pair are kept.
//
// Prefix sums stay whole, so that those of an open dimension may be padded:
// SplitPrefixSums does the same with them later.
//
//===----------------------------------------------------------------------===//

#include "compiler/onnx/indexing/Order.h"

#include <cmath>

using namespace mlir;
using namespace frit;
using namespace frit::importer;

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

Expr frit::importer::cumulate(Expr x, int64_t axis, const Cumulation &how) {
  Node &node = *x.node;
  SmallVector<NamedAttribute> attributes = {node.namedSigned("axis", axis)};
  UnitAttr unit = node.builder().getUnitAttr();
  if (how.isExclusive)
    attributes.push_back(node.named("exclusive", unit));
  if (how.isReverse)
    attributes.push_back(node.named("reverse", unit));
  return how.kind == nn::Combiner::sum ? x.apply<nn::CumSumOp>({}, attributes)
                                       : x.apply<nn::CumProdOp>({}, attributes);
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

/// As firstInOrder, along the last of three short dimensions.
static Expr firstOfShort(Expr x, int64_t k, bool isDescending) {
  Node &node = *x.node;
  SmallVector<NamedAttribute> attributes = {node.namedSigned("axis", 2)};
  if (isDescending)
    attributes.push_back(
        node.named("descending", node.builder().getUnitAttr()));
  Expr places = x.apply<nn::SortPlacesOp>({}, attributes);
  // One row of positions per k; exactly one element has each position.
  int64_t rows = x.size(0), blocks = x.size(1), size = x.size(2);
  Expr hit = places.reshape({rows, blocks, 1, size})
                 .equals(iota(node, places.element(), {1, 1, k, 1}, 2));
  Expr index = iota(node, places.element(), {1, 1, 1, size}, 3);
  return hit.select(index, index.number(0)).sum(3).reshape({rows, blocks, k});
}

Expr frit::importer::lastInOrder(Expr x, bool isDescending) {
  Type element = x.element();
  if (isa<FloatType>(element))
    return x.number(isDescending ? -INFINITY : NAN);
  unsigned bits = element.getIntOrFloatBitWidth();
  if (element.isUnsignedInteger())
    return x.number(isDescending ? 0 : -1);
  double least = -std::ldexp(1.0, int(bits) - 1);
  return x.number(isDescending ? least : -1 - least);
}

namespace {
/// Elements and their original indices.
struct IndexedElements {
  Expr keys, places; ///< without places, elements are where they were
};
} // namespace

/// Merges pairs of sorted blocks and keeps the first `k` elements.
static IndexedElements merge(const IndexedElements &sorted, int64_t k,
                             bool isDescending) {
  Node &node = *sorted.keys.node;
  int64_t rows = sorted.keys.size(0), pairs = sorted.keys.size(1) / 2;
  int64_t both = 2 * sorted.keys.size(2);
  auto inPairs = [&](Expr x) { return x.reshape({rows, pairs, both}); };
  Builder b = node.builder();
  SmallVector<NamedAttribute> attributes = {
      node.named("count", b.getI64IntegerAttr(std::min(both, k)))};
  if (isDescending)
    attributes.push_back(node.named("descending", b.getUnitAttr()));
  Expr keys = inPairs(sorted.keys);
  Expr from = keys.apply<nn::MergePlacesOp>({}, attributes);
  return {keys.gatherElements(from, 2),
          inPairs(sorted.places).gatherElements(from, 2)};
}

/// Splits rows into equal blocks, padded at the end.
static IndexedElements inBlocks(const IndexedElements &all, int64_t blocks,
                                bool isDescending) {
  int64_t rows = all.keys.size(0), length = all.keys.size(1);
  int64_t size = llvm::divideCeil(length, blocks);
  auto split = [&](Expr x, Value fill) {
    return x.pad(1, 0, blocks * size - length, fill)
        .reshape({rows, blocks, size});
  };
  Expr keys = split(all.keys, lastInOrder(all.keys, isDescending));
  return {keys,
          all.places ? split(all.places, all.places.number(0)) : all.places};
}

// Rows up to kLongest are sorted at once if that takes at most kMostCompared
// comparisons, which saves kernels; others in blocks.
static constexpr int64_t kLongest = 1024, kMostCompared = kLongest * kLongest;
// Each element of a block is compared with all others. Long blocks save
// kernels: they are worth their comparisons as long as few are taken.
static constexpr int64_t kBlock = 64, kMostTaken = 64;

/// Returns whether the first `k` of a row are found among those of its blocks.
static bool isReduced(int64_t length, int64_t k) {
  return length > kLongest && length / 8 >= k && k > 0 && k <= kMostTaken;
}

/// Returns whether rows are sorted in blocks that are merged.
static bool isMerged(int64_t rows, int64_t length, int64_t k) {
  return length > 2 * kBlock && k > 0 && rows > 0 &&
         length > kMostCompared / rows / length;
}

/// As firstInOrder, in blocks if so many rows are too long.
static Expr firstOfRows(Expr x, int64_t k, bool isDescending,
                        int64_t manyRows) {
  Node &node = *x.node;
  int64_t rows = x.size(0), length = x.size(1);
  // At first the places are those that elements have.
  IndexedElements first = {x, {node, {}}};
  auto sortBlocks = [&](int64_t blocks) {
    first = inBlocks(first, blocks, isDescending);
    int64_t size = first.keys.size(2), count = std::min(k, size);
    Expr taken = firstOfShort(first.keys, count, isDescending);
    Expr keys = first.keys.gatherElements(taken, 2);
    if (first.places) {
      first = {keys, first.places.gatherElements(taken, 2)};
      return;
    }
    Expr begins = iota(node, taken.element(), {1, blocks, 1}, 1) * double(size);
    first = {keys, blocks == 1 ? taken : taken + begins};
  };
  // Reduce the candidates: the first k of the row are among the first k of each
  // block.
  while (isReduced(length, k) && !node.failed) {
    int64_t blocks = llvm::divideCeil(length, std::max(4 * k, kBlock));
    sortBlocks(blocks);
    length = blocks * k;
    first = {first.keys.reshape({rows, length}),
             first.places.reshape({rows, length})};
  }
  int64_t blocks = 1;
  if (isMerged(manyRows, length, k))
    while (blocks * kBlock < length)
      blocks *= 2;
  sortBlocks(blocks);
  for (; blocks > 1 && !node.failed; blocks /= 2)
    first = merge(first, k, isDescending);
  return first.places.reshape({rows, k});
}

Expr frit::importer::firstInOrder(Expr x, int64_t k, bool isDescending) {
  Node &node = *x.node;
  if (!x || !node.hasOpenSizes())
    return firstOfRows(x, k, isDescending, x ? x.size(0) : 0);
  // Blocks are those of the variant that serves this size.
  ImportState &import = node.import();
  int64_t rows = import.choose(x.size(0)), length = x.size(1);
  int64_t whole = std::max(length, import.choose(length));
  int64_t taken = std::max(k, import.choose(k));
  if (taken > whole ||
      (!isReduced(whole, taken) && !isMerged(rows, whole, taken)))
    return firstOfRows(x, k, isDescending, rows);
  x = x.apply<nn::PadOp>(
      {lastInOrder(x, isDescending)},
      {node.named("low", ArrayRef<int64_t>{0, 0}),
       node.named("high", ArrayRef<int64_t>{0, whole - length})});
  Expr first = firstOfRows(x, taken, isDescending, rows);
  return taken == k ? first : first.slice(1, 0, k);
}
