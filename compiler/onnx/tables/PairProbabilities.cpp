//===- PairProbabilities.cpp - Probabilities of pairs to those of classes -===//
//
// Wu, Lin and Weng, "Probability Estimates for Multi-class Classification by
// Pairwise Coupling", JMLR 5 (2004), algorithm 2, as LIBSVM and ONNX Runtime
// compute it. They stop where the gradient is near zero, so that results
// depend on the number of steps, also for two classes: 0.0025 is common.
//
//===----------------------------------------------------------------------===//

#include "compiler/onnx/tables/Tables.h"

using namespace mlir;
using namespace frit;
using namespace frit::importer;

/// Places pairs (0, 1), (0, 2), …, (1, 2), … in a matrix of classes: [rows,
/// class, other class]. The diagonal is zero.
static Expr matrixOf(Expr pairs, int64_t classes) {
  Node &node = *pairs.node;
  int64_t number = pairs.size(1), next = 0;
  SmallVector<int64_t> places(classes * classes, 2 * number);
  for (int64_t i = 0; i < classes; ++i)
    for (int64_t j = i + 1; j < classes; ++j, ++next) {
      places[i * classes + j] = next;
      places[j * classes + i] = number + next;
    }
  Value parts[] = {pairs, 1.0 - pairs, pairs.slice(1, 0, 1) * 0.0};
  Expr all = {node, node.concat(parts, 1)};
  return all.gather(table(node, {classes * classes}, places), 1)
      .reshape({pairs.size(0), classes, classes});
}

Expr frit::importer::couplePairs(Expr pairs, int64_t classes) {
  Node &node = *pairs.node;
  // LIBSVM allows 100 steps, but two to four are enough.
  constexpr int64_t most = 6;
  const double nearZero = 0.005 / static_cast<double>(classes);
  Type element = pairs.element();
  // 16 bits have no room for 1e-7.
  pairs = pairs.to(node.builder().getF64Type()).clamp(1e-7, 1 - 1e-7);
  Expr r = matrixOf(pairs, classes), turned = r.transpose({0, 2, 1});
  int64_t rows = r.size(0);
  Expr own = (r * r).sum({1}).reshape({rows, classes});
  SmallVector<double> diagonal(classes * classes, 0);
  for (int64_t t = 0; t < classes; ++t)
    diagonal[t * classes + t] = 1;
  Expr unit = table(node, r.element(), {classes, classes}, diagonal);
  // The least of pᵀQp, where p adds up to 1.
  Expr q = unit * own.reshape({rows, 1, classes}) - r * turned;
  Expr p = filled(node, r.element(), {rows, classes},
                  1 / static_cast<double>(classes));
  Expr goesOn = {node, {}};
  for (int64_t step = 0; step < most && !node.failed; ++step) {
    Expr qp =
        (q * p.reshape({rows, 1, classes})).sum({2}).reshape({rows, classes});
    Expr pqp = (p * qp).sum({1});
    Expr isFar = (qp - pqp).apply<nn::AbsOp>().reduce(nn::Combiner::max, {1}) >=
                 nearZero;
    goesOn = goesOn.value ? goesOn & isFar : isFar;
    Expr next = p;
    for (int64_t t = 0; t < classes; ++t) {
      Expr qOwn = own.slice(1, t, 1), qpOwn = qp.slice(1, t, 1);
      Expr change = (pqp - qpOwn) / qOwn, scale = change + 1.0;
      pqp = (pqp + change * (change * qOwn + 2.0 * qpOwn)) / (scale * scale);
      Expr line = q.slice(1, t, 1).reshape({rows, classes});
      qp = (qp + change * line) / scale;
      next = (next + change * unit.slice(0, t, 1)) / scale;
    }
    p = goesOn.select(next, p);
  }
  return p.to(element);
}
