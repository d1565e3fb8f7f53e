//===- DataDependent.cpp - Operators with data-dependent shapes -----------===//
//
// Selected elements are compacted to the front. The prefix sum of the mask
// counts the selected elements up to each index. Result j comes from the first
// index where that sum exceeds j, which each j finds by binary search. Unlike a
// scatter (Blelloch, Prefix Sums and Their Applications, 1990), this needs no
// order between threads.
//
//===----------------------------------------------------------------------===//

#include "compiler/onnx/bounded/DataDependent.h"
#include "compiler/onnx/indexing/Order.h"

using namespace mlir;
using namespace frit;
using namespace frit::importer;

/// Maximum elements of a slice that Unique compares; it sorts by each of them.
static constexpr int64_t mostKeys = 64;

static Type i64Of(Node &node) { return node.builder().getI64Type(); }

/// Returns 0, 1, 2, ….
static Expr places(Node &node, int64_t count) {
  return iota(node, i64Of(node), count, 0);
}

Ones frit::importer::findOnes(Expr mask) {
  Node &node = *mask.node;
  int64_t length = mask.size(0);
  Expr sums = cumulate(mask, 0), result = places(node, length);
  Expr total = sums.slice(0, length - 1, 1).reshape({});
  Expr passed = sums.apply<nn::SearchSortedOp>({result});
  return {(result < total).select(passed, passed.number(0)), total};
}

/// As findOnes, with the number of ones as the length of the node's results.
static std::pair<Expr, Size> countOnes(Expr mask) {
  Ones ones = findOnes(mask);
  return {ones.indices, mask.node->count(ones.total, mask.size(0))};
}

/// Finds the nonzero elements among the first `length` of x, or reuses the
/// result of another node.
static std::pair<Expr, Size> countNonZero(Expr x, int64_t length) {
  Node &node = *x.node;
  ImportState::Places known = node.places(x, length);
  if (!known.indices) {
    Expr all = {node, node.masked(x, x.number(0))};
    Expr flat = all.reshape(nn::tensorType(all).getNumElements());
    Expr mask = x.element().isInteger(1)
                    ? flat
                    : flat.equals(flat.number(0)).logicalNot();
    auto [indices, count] = countOnes(mask.slice(0, 0, length).to(i64Of(node)));
    known = node.places(x, length) = {indices, count};
  }
  return {Expr(node, known.indices), known.count};
}

static Expr markedAlong(Expr x, int64_t axis, const Size &count) {
  return {*x.node, x.node->markedAlong(x, axis, count)};
}

/// Builds the indices of nonzero elements, one column each.
Results frit::importer::dataDependentNonZero(Node &node) {
  Expr x = input(node, 0);
  if (!x)
    return {};
  auto shape = x.shape();
  if (shape.empty())
    shape.push_back(1);
  int64_t length = product(shape), rank = shape.size();
  if (length == 0)
    return {table(node, {rank, 0}, ArrayRef<int64_t>())};
  auto [indices, count] = countNonZero(x, length);
  SmallVector<Value> rows;
  int64_t stride = length;
  for (int64_t size : shape) {
    stride /= size;
    Expr row = (indices / static_cast<double>(stride))
                   .mod(indices.number(static_cast<double>(size)));
    rows.push_back(row.reshape({1, length}));
  }
  Expr all = {node, rows.size() == 1 ? rows[0] : node.concat(rows, 0)};
  return {markedAlong(all, 1, count)};
}

Results frit::importer::dataDependentCompress(Expr x, Expr condition,
                                              int64_t axis) {
  int64_t length = std::min(condition.size(0), x.size(axis));
  if (length == 0)
    return {x.slice(axis, 0, 0)};
  auto [indices, count] = countNonZero(condition, length);
  return {markedAlong(x.gather(indices, axis), axis, count)};
}

//===----------------------------------------------------------------------===//
// Unique
//===----------------------------------------------------------------------===//

/// Returns the indices that sort a vector stably.
static Expr orderOf(Expr keys) {
  int64_t length = keys.size(0);
  return firstInOrder(keys.reshape({1, length}), length,
                      /*isDescending=*/false)
      .reshape(length);
}

/// Returns the indices that sort the rows of a table: sorts stably by each
/// column, the last one first.
static Expr orderOfRows(Expr table) {
  int64_t rows = table.size(0), column = table.size(1);
  auto keys = [&] { return table.slice(1, --column, 1).reshape(rows); };
  Expr order = orderOf(keys());
  while (column > 0)
    order = order.gather(orderOf(keys().gather(order, 0)), 0);
  return order;
}

/// Sorts the rows, so that equal ones are adjacent. As the sort is stable, the
/// first of them is the first in x.
Results frit::importer::dataDependentUnique(Node &node) {
  Expr x = input(node, 0);
  bool hasAxis = node.attribute("axis");
  int64_t axis = node.integer("axis", 0);
  bool sorts = node.integer("sorted", 1);
  if (!x)
    return {};
  if (!hasAxis)
    x = x.reshape(nn::tensorType(x).getNumElements());
  axis = node.axis(axis, x.rank());
  if (node.failed)
    return {};
  int64_t rows = x.size(axis);
  if (nn::tensorType(x).getNumElements() == 0) {
    node.error() << "has no elements";
    return {};
  }
  int64_t keys = nn::tensorType(x).getNumElements() / rows;
  if (keys > mostKeys) {
    node.error() << "slices of " << keys << " elements cannot be sorted, but "
                 << "of up to " << mostKeys << fixInputsHint(x);
    return {};
  }
  auto perm = llvm::to_vector(llvm::seq<int64_t>(x.rank()));
  perm.erase(perm.begin() + axis);
  perm.insert(perm.begin(), axis);
  Expr table = (axis ? x.transpose(perm) : x).reshape({rows, keys});
  if (table.element().isInteger(1))
    table = table.to(i64Of(node));

  Expr order = orderOfRows(table), at = places(node, rows);
  Expr place = orderOf(order);
  Expr sorted = table.gather(order, 0);
  Expr previous = sorted.gather((at - 1.0).max(at.number(0)), 0);
  Expr differs = sorted.equals(previous).logicalNot().to(i64Of(node));
  Expr isNew = differs.reduce(nn::Combiner::max, {1}).reshape(rows);
  isNew = isNew.max(at.equals(at.number(0)).to(i64Of(node)));
  Expr group = cumulate(isNew, 0) - 1.0;

  auto number = static_cast<double>(rows);
  Ones starts = findOnes(isNew);
  Expr next = at + 1.0;
  Expr end = starts.indices.gather(next.min(next.number(number - 1)), 0);
  end = (next < starts.total).select(end, end.number(number));
  Expr sizes = end - starts.indices;
  Expr back = group.gather(place, 0);
  if (sorts) {
    Size count = node.count(starts.total, rows);
    Expr firsts = order.gather(starts.indices, 0);
    return {markedAlong(x.gather(firsts, axis), axis, count),
            markedAlong(firsts, 0, count), back, markedAlong(sizes, 0, count)};
  }
  // Renumber the groups in the order of their first rows in x.
  Expr isFirst = isNew.gather(place, 0);
  auto [firsts, count] = countOnes(isFirst);
  Expr seen = cumulate(isFirst, 0) - 1.0;
  Expr renumbered = seen.gather(order.gather(starts.indices, 0), 0);
  return {markedAlong(x.gather(firsts, axis), axis, count),
          markedAlong(firsts, 0, count), renumbered.gather(back, 0),
          markedAlong(sizes.gather(back.gather(firsts, 0), 0), 0, count)};
}
