//===- Ranking.cpp - TopK, Hardmax and running sums -----------------------===//

#include "compiler/onnx/indexing/Order.h"
#include "compiler/onnx/reader/Hooks.h"

#include "dialects/nn/Fold.h"

using namespace mlir;
using namespace frit;
using namespace frit::importer;

/// Imports TopK. If k depends on the data, its upper bound is computed and the
/// first k entries are valid.
static Results topK(Node &node) {
  Expr x = input(node, 0);
  bool isData =
      node.opset >= 10 && node.has(1) && !nn::constantValue(node.input(1));
  Size wanted = 0;
  if (!isData)
    wanted =
        node.opset < 10 ? node.integer("k", 0) : node.integer(1).value_or(0);
  int64_t axis = node.integer("axis", -1);
  bool largest = node.integer("largest", 1);
  node.ignore("sorted");
  if (!x)
    return {};
  axis = node.axis(axis, x.rank());
  int64_t size = x.rank() ? x.size(axis) : 0, k = wanted.constant;
  if (node.failed || k < 0 || k > size) {
    if (!node.failed)
      node.error() << "cannot pick " << k << " of " << size << " elements";
    return {};
  }
  DataShape shape = node.dataShape(x);
  if (isData) {
    DataSizes &sizes = node.dataSizes();
    auto number = sizes.anyElementsOf(node, node.input(1));
    if (!number || number->size() != 1) {
      node.error() << "needs one number of elements to pick";
      return {};
    }
    wanted =
        sizes.largest(node, 0, sizes.least(node, number->front(), shape[axis]));
    if (!wanted.isKnown())
      wanted = node.count(sizes.valueOf(node, wanted), sizes.mostOf(wanted));
    k = sizes.mostOf(wanted);
  } else if (!shape[axis].isKnown()) {
    // At most as many as there are.
    wanted = node.dataSizes().least(node, wanted, shape[axis]);
  }
  shape[axis] = wanted;
  x = {node, node.masked(x, lastInOrder(x, largest))};
  // Move the sorted axis last.
  auto perm = llvm::to_vector(llvm::seq<int64_t>(x.rank())), back = perm;
  perm.erase(perm.begin() + axis);
  perm.push_back(axis);
  back.pop_back();
  back.insert(back.begin() + axis, x.rank() - 1);
  bool moves = axis != x.rank() - 1;
  Expr lines = moves ? x.transpose(perm) : x;
  auto form = lines.shape();
  int64_t rows = product(ArrayRef(form).drop_back());
  form.back() = k;
  Expr indices =
      firstInOrder(lines.reshape({rows, size}), k, largest).reshape(form);
  if (moves)
    indices = indices.transpose(back);
  return {node.marked(x.gatherElements(indices, axis), shape),
          node.marked(indices, shape)};
}

/// Builds 1 at the first maximum, otherwise 0.
static Results hardmax(Node &node) {
  Expr x = input(node, 0);
  int64_t given = node.integer("axis", node.opset < 13 ? 1 : -1);
  if (!x)
    return {};
  auto shape = x.shape();
  int64_t axis = node.axis(given, x.rank());
  if (node.failed)
    return {};
  if (product(shape) == 0)
    return {x};
  // Before opset 13 it spans all dimensions from the axis on.
  Expr rows = x;
  if (node.opset < 13) {
    rows = x.reshape({product(ArrayRef(shape).take_front(axis)),
                      product(ArrayRef(shape).drop_front(axis))});
    axis = 1;
  }
  Expr best = rows.apply<nn::ArgMaxOp>({}, node.namedSigned("axis", axis));
  SmallVector<int64_t> line(rows.rank(), 1);
  line[axis] = rows.size(axis);
  Expr hot = best.equals(iota(node, best.element(), line, axis));
  return {hot.to(x.element()).reshape(shape)};
}

static Results cumulative(Node &node, nn::Combiner kind) {
  Expr x = input(node, 0);
  auto axis = node.integer(1);
  bool exclusive = node.integer("exclusive", 0);
  bool reverse = node.integer("reverse", 0);
  if (!x || !axis)
    return {};
  *axis = node.axis(*axis, x.rank());
  if (node.failed)
    return {};
  return {cumulate(x, *axis, {kind, exclusive, reverse})};
}

static Results cumSum(Node &node) {
  return cumulative(node, nn::Combiner::sum);
}
static Results cumProd(Node &node) {
  return cumulative(node, nn::Combiner::prod);
}

ArrayRef<Hook> frit::importer::rankingHooks() {
  static constexpr Hook hooks[] = {
      {"TopK", 1, 1, 2, topK, takesCounts},
      {"Hardmax", 1, 1, 1, hardmax},
      {"CumSum", 11, 2, 2, cumSum, takesCounts},
      {"CumProd", 1, 2, 2, cumProd, takesCounts},
  };
  return hooks;
}
