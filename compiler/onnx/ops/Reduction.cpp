//===- Reduction.cpp - Reductions -----------------------------------------===//
//
// Squares, exponentials and sums on the way to a result are f32 for 16-bit
// floats: they may overflow where the result does not.
//
//===----------------------------------------------------------------------===//

#include "compiler/onnx/reader/Expr.h"
#include "compiler/onnx/reader/Hooks.h"

#include <limits>

using namespace mlir;
using namespace frit;
using namespace frit::importer;

/// The reduced axes (all by default), and whether they stay with size 1.
struct Reduction {
  SmallVector<int64_t> axes;
  bool keeps = true;
};

static std::optional<Reduction> readReduction(Node &node) {
  Value x = node.input(0);
  Reduction r;
  r.keeps = node.integer("keepdims", 1);
  bool emptyMeansNone = node.integer("noop_with_empty_axes", 0);
  auto given = node.has(1) ? node.integers(1) : node.integers("axes");
  if (!x || node.failed)
    return std::nullopt;
  if (given && !given->empty())
    r.axes = node.axes(*given, rankOf(x));
  else if (!emptyMeansNone)
    r.axes = llvm::to_vector(llvm::seq<int64_t>(rankOf(x)));
  if (node.failed)
    return std::nullopt;
  return r;
}

/// Drops the reduced axes of `y` unless they stay.
static Results finish(Node &node, Value y, const Reduction &r) {
  if (r.keeps || !y)
    return {y};
  SmallVector<int64_t> shape;
  for (auto [i, size] : llvm::enumerate(nn::shapeOf(y)))
    if (!llvm::is_contained(r.axes, i))
      shape.push_back(size);
  return {node.reshape(y, shape)};
}

static Value sum(Node &node, Value x, const Reduction &r) {
  return r.axes.empty() ? x : node.reduce(x, nn::Combiner::sum, r.axes);
}

/// Returns the node's input in the type that it is computed in.
static Expr wideInput(Node &node) {
  Expr x = input(node, 0);
  return x.to(nn::workType(x.element()));
}

/// Rounds `y` to the type of the node's input, and finishes.
static Results round(Node &node, Expr y, const Reduction &r) {
  return finish(node, y.to(input(node, 0).element()), r);
}

template <nn::Combiner kind> static Results reduce(Node &node) {
  auto r = readReduction(node);
  if (!r)
    return {};
  Value x = node.input(0);
  if (r->axes.empty())
    return finish(node, x, *r);
  // The maximum of bools is their or, the minimum their and.
  Type element = elementOf(x);
  if (element.isInteger(1))
    x = node.cast(x, node.builder().getIntegerType(8, /*isSigned=*/false));
  return finish(node, node.cast(node.reduce(x, kind, r->axes), element), *r);
}

static Results mean(Node &node) {
  auto r = readReduction(node);
  if (!r)
    return {};
  Value x = node.input(0);
  if (!r->axes.empty())
    x = node.create<nn::ReduceMeanOp>(x, node.named("axes", r->axes));
  return finish(node, x, *r);
}

static Results l1(Node &node) {
  auto r = readReduction(node);
  if (!r)
    return {};
  Value size = node.create<nn::AbsOp>(node.input(0));
  return finish(node, sum(node, size, *r), *r);
}

static Expr square(Node &node) {
  Expr x = wideInput(node);
  return x * x;
}

static Results sumSquare(Node &node) {
  auto r = readReduction(node);
  if (!r)
    return {};
  return round(node, {node, sum(node, square(node), *r)}, *r);
}

static Results l2(Node &node) {
  auto r = readReduction(node);
  if (!r)
    return {};
  Value y = node.create<nn::SqrtOp>(sum(node, square(node), *r));
  return round(node, {node, y}, *r);
}

static Results logSum(Node &node) {
  auto r = readReduction(node);
  if (!r)
    return {};
  Value y = node.create<nn::LogOp>(sum(node, wideInput(node), *r));
  return round(node, {node, y}, *r);
}

/// Builds log Σ exp(x). Subtracts the maximum first, so that nothing overflows,
/// unless it is infinite: infinity less infinity is NaN.
static Results logSumExp(Node &node) {
  auto r = readReduction(node);
  if (!r)
    return {};
  if (r->axes.empty())
    return {node.input(0)};
  Value x = wideInput(node);
  Value most = node.reduce(x, nn::Combiner::max, r->axes);
  Value isInfinite = node.create<nn::EqualOp>(
      {node.create<nn::AbsOp>(most),
       node.scalar(x, std::numeric_limits<double>::infinity())});
  most = node.create<nn::WhereOp>({isInfinite, node.scalar(x, 0), most});
  Value rest = node.create<nn::ExpOp>(node.create<nn::SubOp>({x, most}));
  Value y = node.create<nn::AddOp>(
      {node.create<nn::LogOp>(sum(node, rest, *r)), most});
  return round(node, {node, y}, *r);
}

/// Builds (x - mean) / deviation.
static Results meanVariance(Node &node) {
  Expr x = wideInput(node);
  auto given = node.integers("axes").value_or(SmallVector<int64_t>{0, 2, 3});
  if (!x)
    return {};
  auto axes = node.axes(given, x.rank());
  auto mean = [&](Expr v) {
    return v.apply<nn::ReduceMeanOp>({}, node.named("axes", axes));
  };
  Expr centred = x - mean(x);
  Expr deviation = mean(centred * centred).apply<nn::SqrtOp>();
  return {(centred / (deviation + 1e-9)).to(input(node, 0).element())};
}

ArrayRef<Hook> frit::importer::reductionHooks() {
  static constexpr Hook hooks[] = {
      {"ReduceSum", 1, 1, 2, reduce<nn::Combiner::sum>, takesCounts},
      {"ReduceProd", 1, 1, 2, reduce<nn::Combiner::prod>, takesCounts},
      {"ReduceMax", 1, 1, 2, reduce<nn::Combiner::max>, takesCounts},
      {"ReduceMin", 1, 1, 2, reduce<nn::Combiner::min>, takesCounts},
      {"ReduceMean", 1, 1, 2, mean, takesCounts},
      {"ReduceL1", 1, 1, 2, l1, takesCounts},
      {"ReduceL2", 1, 1, 2, l2, takesCounts},
      {"ReduceSumSquare", 1, 1, 2, sumSquare, takesCounts},
      {"ReduceLogSum", 1, 1, 2, logSum, takesCounts},
      {"ReduceLogSumExp", 1, 1, 2, logSumExp, takesCounts},
      {"MeanVarianceNormalization", 9, 1, 1, meanVariance, takesCounts},
  };
  return hooks;
}
