//===- Scatter.cpp - Scatter with many updates ----------------------------===//
//
// In scatter_elements every element searches all updates along the axis. If
// there are many, they are sorted by index, and every element finds its last
// one by binary search. Several updates of an element are then adjacent and are
// combined by a scan in log steps (Hillis and Steele, Data Parallel Algorithms,
// 1986). Results do not depend on the order of threads.
//
//===----------------------------------------------------------------------===//

#include "compiler/onnx/indexing/Scatter.h"
#include "compiler/onnx/indexing/Order.h"

using namespace mlir;
using namespace frit;
using namespace frit::importer;

/// Returns whether sorting `count` updates per row of x pays off.
static bool isLong(Expr x, int64_t count) {
  constexpr int64_t few = 128, mostLookedAt = 1 << 20;
  bool isLong = count > few && product(x.shape()) > mostLookedAt / count;
  return x.node->import().choose(isLong);
}

Expr frit::importer::combineUpdate(Expr x, Expr update, StringRef reduction) {
  return reduction == "add"   ? x + update
         : reduction == "mul" ? x * update
         : reduction == "max" ? x.max(update)
                              : x.min(update);
}

/// Combines updates with equal indices along dimension 1, up to each element.
static Expr combineUpTo(Expr updates, Expr places, StringRef reduction) {
  int64_t rows = places.size(0), count = places.size(1);
  for (int64_t step = 1; step < count; step *= 2) {
    auto before = [&](Expr x, Value fill) {
      return x.slice(1, 0, count - step).pad(1, step, 0, fill);
    };
    Expr isSame = places.equals(before(places, places.number(-1)))
                      .reshape({rows, count, 1});
    Expr others = before(updates, updates.number(0));
    updates = isSame.select(combineUpdate(others, updates, reduction), updates);
  }
  return updates;
}

/// Returns x[r, n, l] with updates[r, u, l] written at n = places[r, u].
static Expr scatterSorted(Expr x, Expr places, Expr updates,
                          StringRef reduction) {
  Node &node = *x.node;
  int64_t rows = x.size(0), size = x.size(1), length = x.size(2);
  int64_t count = places.size(1);
  auto all = static_cast<double>(size);
  // Updates out of range are sorted last.
  Expr from = fromFront(places, size);
  from = ((from >= 0.0) & (from < all)).select(from, from.number(all));
  Expr order = firstInOrder(from, count, /*isDescending=*/false);
  Expr sorted = from.gatherElements(order, 1);
  auto pick = [&](Expr of, Expr which) {
    int64_t picked = which.size(1);
    return of.gatherElements(
        which.reshape({rows, picked, 1}).expand({rows, picked, length}), 1);
  };
  updates = pick(updates, order);
  bool combines = reduction != "none";
  Type element = x.element(), work = nn::workType(element);
  if (combines)
    updates = combineUpTo(updates.to(work), sorted, reduction);

  Expr mine = iota(node, sorted.element(), {1, size}, 1).expand({rows, size});
  Expr upTo = sorted.apply<nn::SearchSortedOp>({mine});
  Expr last = (upTo - 1.0).max(upTo.number(0));
  Expr isHit = sorted.gatherElements(last, 1).equals(mine);
  Expr update = pick(updates, last);
  if (combines)
    update = combineUpdate(x.to(work), update, reduction).to(element);
  return isHit.reshape({rows, size, 1}).select(update, x);
}

Expr frit::importer::scatter(Expr x, Expr places, Expr updates, int64_t axis,
                             StringRef reduction) {
  Node &node = *x.node;
  auto lookedFor = [&] {
    return x.apply<nn::ScatterElementsOp>(
        {places, updates},
        {node.namedSigned("axis", axis),
         node.named("reduction", node.builder().getStringAttr(reduction))});
  };
  auto shape = x.shape(), given = updates.shape();
  int64_t along = axis < 0 ? axis + x.rank() : axis;
  if (!x || !places || !updates || along < 0 || along >= x.rank() ||
      places.shape() != given || given.size() != shape.size())
    return lookedFor();
  int64_t size = shape[along], count = given[along];
  auto others = given;
  others[along] = size;
  bool combines = reduction != "none";
  Type element = x.element();
  if (others != shape || element != updates.element() || !isLong(x, count) ||
      (combines && (nn::isSmall(element) || element.isInteger(1))))
    return lookedFor();

  // Move `axis` to the rows.
  int64_t before = product(ArrayRef(shape).take_front(along));
  int64_t after = product(ArrayRef(shape).drop_front(along + 1));
  auto inRows = [&](Expr of, int64_t n) {
    return of.reshape({before, n, after}).transpose({0, 2, 1});
  };
  int64_t rows = before * after;
  return scatterSorted(inRows(x, size).reshape({rows, size, 1}),
                       inRows(places, count).reshape({rows, count}),
                       inRows(updates, count).reshape({rows, count, 1}),
                       reduction)
      .reshape({before, after, size})
      .transpose({0, 2, 1})
      .reshape(shape);
}

Expr frit::importer::scatterRows(Expr x, Expr places, Expr updates,
                                 StringRef reduction) {
  int64_t size = x.size(0), length = x.size(1), count = places.size(0);
  Type element = x.element();
  if (!isLong(x, count) || element != updates.element() ||
      (reduction != "none" && (nn::isSmall(element) || element.isInteger(1))))
    return scatter(x, places.reshape({count, 1}).expand({count, length}),
                   updates, 0, reduction);
  return scatterSorted(x.reshape({1, size, length}), places.reshape({1, count}),
                       updates.reshape({1, count, length}), reduction)
      .reshape({size, length});
}
