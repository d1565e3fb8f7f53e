//===- BatchStatistics.cpp - Means and variances in one pass --------------===//
//
//   %m = nn.batch_mean %x {channels_last}      %x: tensor<256x56x56x64xbf16>
//   %v = nn.batch_variance %x, %m {channels_last}
// ==>
//   %r = nn.reshape %x : tensor<2048x392x64xbf16>
//   %p:2 = nn.fusion(%r) {        a part's mean, and its sum of squared
//     %k = nn.slice %r            deviations from it, shifted by its first row
//     %d = nn.sub %r, %k
//     %s = nn.reduce %d, %q = nn.reduce (nn.mul %d, %d)
//     nn.yield %k + %s / 392, %q - %s * %s / 392
//   }
//   %m, %v = nn.fusion(%p#0, %p#1) { … }
//
// Each part is read once. Shifting by one of its own elements keeps what the
// difference loses small, and the parts are merged by their means, so that the
// result is as precise as that of two passes: Chan, Golub and LeVeque,
// "Algorithms for Computing the Sample Variance", The American Statistician 37
// (1983), formulas 1.5 (shift) and 2.1 (merge).
//
//===----------------------------------------------------------------------===//

#include "compiler/transform/ColumnSums.h"
#include "compiler/transform/Graph.h"

using namespace mlir;
using namespace frit;
using namespace frit::nn;

namespace {
/// The operators that ask for statistics of one tensor.
struct Statistics {
  SmallVector<Operation *> means, variances;
  Operation *first = nullptr;

  void add(Operation *op, bool isMean) {
    (isMean ? means : variances).push_back(op);
    if (!first)
      first = op;
  }
};
} // namespace

using PartsOf = llvm::function_ref<int64_t(ReduceOp)>;

static int64_t countParts(NNBuilder &b, Value x, PartsOf partsOf) {
  SmallVector<int64_t> axes =
      llvm::to_vector(llvm::seq<int64_t>(tensorType(x).getRank() - 1));
  auto whole = b.reduce(x, Combiner::sum, axes).getDefiningOp<ReduceOp>();
  int64_t parts = partsOf(whole);
  whole.erase();
  return parts;
}

static void split(Value x, const Statistics &wanted, PartsOf partsOf) {
  NNBuilder b(wanted.first->getLoc(), wanted.first);
  int64_t channels = shapeOf(x).back(), parts = countParts(b, x, partsOf);
  int64_t rows = tensorType(x).getNumElements() / channels / parts;
  Type work = workType(tensorType(x).getElementType());
  Value grouped = b.reshape(x, {parts, rows, channels});

  SmallVector<Operation *> ops;
  auto own = [&](Value value) {
    ops.push_back(value.getDefiningOp());
    return value;
  };
  auto times = [&](Value value, double number) {
    return b.mul(value, b.scalarLike(value, number));
  };
  auto widen = [&](Value value) {
    return tensorType(value).getElementType() == work
               ? value
               : own(b.cast(value, work));
  };
  int64_t starts[] = {0, 0, 0}, sizes[] = {parts, 1, channels};
  int64_t steps[] = {1, 1, 1};
  Value shift = widen(own(SliceOp::create(b, grouped, starts, sizes, steps)));
  Value shifted = own(b.sub(widen(grouped), shift));
  Value sum = own(b.reduce(shifted, Combiner::sum, 1));
  Value squares = own(b.reduce(own(b.mul(shifted, shifted)), Combiner::sum, 1));
  Value meanShifted = own(times(sum, 1. / rows));
  Value partMean = own(b.add(shift, meanShifted));
  Value partSquares = own(b.sub(squares, own(b.mul(sum, meanShifted))));
  int64_t flat[] = {parts, channels};
  Value means = b.reshape(partMean, flat);
  Value deviations = b.reshape(partSquares, flat);

  ColumnSums columns(b);
  Value mean =
      columns.own(times(columns.reduce(means, Combiner::sum), 1. / parts));
  Value between = b.sub(means, mean);
  Value total;
  for (Value value : {between, b.mul(between, between)})
    total = columns.ownWide(value);
  total = columns.ownWide(times(total, rows));
  total = columns.ownWide(b.add(deviations, total));
  Value variance = columns.own(
      times(columns.reduce(total, Combiner::sum), 1. / (double(parts) * rows)));
  for (Operation *op : wanted.variances)
    columns.replace(op, variance);
  for (Operation *op : wanted.means)
    columns.replace(op, mean);
  createFusionOp(ops, ops.back()->getNextNode());
  columns.fuse();
  for (Operation *op : wanted.variances)
    op->erase();
  for (Operation *op : wanted.means)
    op->erase();
}

void frit::splitBatchStatistics(Block &block, PartsOf partsOf) {
  llvm::MapVector<Value, Statistics> wanted;
  for (Operation &op : block)
    if (isa<BatchMeanOp, BatchVarianceOp>(op))
      wanted[op.getOperand(0)].add(&op, isa<BatchMeanOp>(op));
  for (auto &[x, statistics] : wanted)
    split(x, statistics, partsOf);
}
