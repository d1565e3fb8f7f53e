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
// If a convolution computes %x, its kernel takes the moments of parts as it
// stores them:
//
//   %x, %p = nn.fusion { nn.conv …, nn.column_moments … {height = 64} }
//
// If there are many parts, another kernel merges neighbouring ones before the
// last kernel merges all.
//
// Each part is read once. Shifting by one of the part's elements keeps
// cancellation small, and parts are merged by their means, so the result is as
// precise as that of two passes: Chan, Golub and LeVeque, "Algorithms for
// Computing the Sample Variance", The American Statistician 37 (1983), formulas
// 1.5 (shift) and 2.1 (merge).
//
// Moments of a group norm (nn.group_mean and nn.group_variance) are likewise
// merged from parts of samples. One kernel merges the parts of each sample and
// channel; sums of short rows then merge the channels of each group.
//
//===----------------------------------------------------------------------===//

#include "compiler/transform/Graph.h"
#include "compiler/transform/sums/ColumnSums.h"
#include "dialects/nn/operators/Statistics.h"
#include "dialects/nn/rewrites/SplitReductions.h"

using namespace mlir;
using namespace frit;
using namespace frit::nn;

namespace {
/// The operators that compute statistics of one tensor.
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

/// Maximum parts that the last kernel merges in the time of its launch.
static constexpr int64_t kMostParts = 2048;

using PartsOf = llvm::function_ref<int64_t(ReduceOp)>;

static int64_t countParts(NNBuilder &b, Value x, PartsOf partsOf) {
  SmallVector<int64_t> axes =
      llvm::to_vector(llvm::seq<int64_t>(tensorType(x).getRank() - 1));
  auto whole = b.reduce(x, Combiner::sum, axes).getDefiningOp<ReduceOp>();
  int64_t parts = partsOf(whole);
  whole.erase();
  return parts;
}

namespace {
/// Moments of parts of columns, each of `rows` rows.
struct PartMoments {
  Value means, squares; ///< tensor<parts x channels>; of deviations
  int64_t rows;

  int64_t parts() const { return shapeOf(means)[0]; }
  int64_t channels() const { return shapeOf(means)[1]; }
};

/// The operators of a kernel.
struct KernelOps {
  NNBuilder &b;
  SmallVector<Operation *> ops;

  Value own(Value value) {
    ops.push_back(value.getDefiningOp());
    return value;
  }
  Value times(Value value, double number) {
    return b.mul(value, b.scalarLike(value, number));
  }
  Value widen(Value value) {
    Type element = tensorType(value).getElementType(), work = workType(element);
    return element == work ? value : own(b.cast(value, work));
  }
  void close() { createFusionOp(ops, ops.back()->getNextNode()); }
};
} // namespace

/// Takes moments of `x` in a separate kernel.
static PartMoments takeMoments(NNBuilder &b, Value x, int64_t parts) {
  KernelOps kernel = {b, {}};
  int64_t channels = shapeOf(x).back();
  int64_t rows = tensorType(x).getNumElements() / channels / parts;
  Value grouped = b.reshape(x, {parts, rows, channels});
  auto own = [&](Value value) { return kernel.own(value); };
  int64_t starts[] = {0, 0, 0}, sizes[] = {parts, 1, channels};
  int64_t steps[] = {1, 1, 1};
  Value shift =
      kernel.widen(own(SliceOp::create(b, grouped, starts, sizes, steps)));
  Value shifted = own(b.sub(kernel.widen(grouped), shift));
  Value sum = own(b.reduce(shifted, Combiner::sum, 1));
  Value squares = own(b.reduce(own(b.mul(shifted, shifted)), Combiner::sum, 1));
  Value meanShifted = own(kernel.times(sum, 1. / rows));
  Value partMean = own(b.add(shift, meanShifted));
  Value partSquares = own(b.sub(squares, own(b.mul(sum, meanShifted))));
  int64_t flat[] = {parts, channels};
  PartMoments moments = {b.reshape(partMean, flat),
                         b.reshape(partSquares, flat), rows};
  kernel.close();
  return moments;
}

/// Takes moments in the kernel of `conv`, after the addition `add` if not null.
static PartMoments takeMoments(ConvOp conv, Operation *add, int64_t height) {
  Operation *last = add ? add : conv;
  NNBuilder b(conv.getLoc(), last->getNextNode());
  auto moments = ColumnMomentsOp::create(b, last->getResult(0), height);
  ArrayRef<int64_t> shape = shapeOf(moments.getY());
  auto half = [&](int64_t i) {
    int64_t starts[] = {i, 0, 0}, sizes[] = {1, shape[1], shape[2]};
    int64_t steps[] = {1, 1, 1};
    return b.reshape(SliceOp::create(b, moments.getY(), starts, sizes, steps),
                     shape.drop_front());
  };
  PartMoments halves = {half(0), half(1), height};
  SmallVector<Operation *> ops = {conv};
  if (add)
    ops.push_back(add);
  ops.push_back(moments);
  createFusionOp(ops, moments->getNextNode());
  return halves;
}

/// Merges each `count` neighbouring parts in a kernel.
static PartMoments mergeNeighbours(NNBuilder &b, const PartMoments &moments,
                                   int64_t count) {
  int64_t groups = moments.parts() / count;
  int64_t grouped[] = {groups, count, moments.channels()};
  int64_t flat[] = {groups, moments.channels()};
  KernelOps kernel = {b, {}};
  auto own = [&](Value value) { return kernel.own(value); };
  Value means = b.reshape(moments.means, grouped);
  Value squares = b.reshape(moments.squares, grouped);
  Value mean =
      own(kernel.times(own(b.reduce(means, Combiner::sum, 1)), 1. / count));
  Value between = own(b.sub(means, mean));
  Value total = own(kernel.times(own(b.mul(between, between)), moments.rows));
  total = own(b.reduce(own(b.add(squares, total)), Combiner::sum, 1));
  PartMoments merged = {b.reshape(mean, flat), b.reshape(total, flat),
                        moments.rows * count};
  kernel.close();
  return merged;
}

/// Merges all parts in one kernel, which also computes what follows.
static void mergeAll(NNBuilder &b, const PartMoments &moments,
                     const Statistics &wanted) {
  auto times = [&](Value value, double number) {
    return b.mul(value, b.scalarLike(value, number));
  };
  ColumnSums columns(b);
  Value mean = columns.own(times(columns.reduce(moments.means, Combiner::sum),
                                 1. / moments.parts()));
  Value between = b.sub(moments.means, mean);
  Value total;
  for (Value value : {between, b.mul(between, between)})
    total = columns.ownWide(value);
  total = columns.ownWide(times(total, moments.rows));
  total = columns.ownWide(b.add(moments.squares, total));
  Value variance =
      columns.own(times(columns.reduce(total, Combiner::sum),
                        1. / (double(moments.parts()) * moments.rows)));
  for (Operation *op : wanted.variances)
    columns.replace(op, variance);
  for (Operation *op : wanted.means)
    columns.replace(op, mean);
  columns.fuse();
  for (Operation *op : wanted.variances)
    op->erase();
  for (Operation *op : wanted.means)
    op->erase();
}

static void split(Value x, const Statistics &wanted, PartsOf partsOf,
                  const ColumnMomentsRewrite *rewrite) {
  NNBuilder b(wanted.first->getLoc(), wanted.first);
  auto conv = x.getDefiningOp<ConvOp>();
  int64_t height = rewrite && conv ? rewrite->height(conv, {}) : 0;
  PartMoments moments = height ? takeMoments(conv, nullptr, height)
                               : takeMoments(b, x, countParts(b, x, partsOf));
  if (moments.parts() > kMostParts)
    if (int64_t parts = countParts(b, moments.means, partsOf); parts > 1)
      moments = mergeNeighbours(b, moments, moments.parts() / parts);
  mergeAll(b, moments, wanted);
}

//===----------------------------------------------------------------------===//
// Moments of groups
//===----------------------------------------------------------------------===//

namespace {
/// A convolution whose kernel can take moments of a norm's operand.
struct MomentSource {
  ConvOp conv;
  Operation *add = nullptr; ///< fused after it
  Value shift;              ///< added after those, a number per channel
  int64_t height = 0;       ///< rows of a part; 0: there is no source
};
} // namespace

/// Finds the convolution that computes `x`, perhaps with a residual or a number
/// per sample and channel added, if its kernel can take moments of parts of
/// samples of `rows` rows.
static MomentSource findSource(Value x, int64_t rows,
                               const ColumnMomentsRewrite *rewrite) {
  if (!rewrite)
    return {};
  auto take = [&](ConvOp conv, Operation *add, Value shift) -> MomentSource {
    SmallVector<Operation *, 1> epilogue;
    if (add)
      epilogue.push_back(add);
    int64_t height = rewrite->height(conv, epilogue);
    if (!height || rows % height)
      return {};
    return {conv, add, shift, height};
  };
  if (auto conv = x.getDefiningOp<ConvOp>())
    return take(conv, nullptr, {});
  auto add = x.getDefiningOp<AddOp>();
  if (!add)
    return {};
  ArrayRef<int64_t> shape = shapeOf(x);
  SmallVector<int64_t> perSample(shape.size(), 1);
  perSample.front() = shape.front();
  perSample.back() = shape.back();
  for (auto [value, other] :
       {std::pair(add.getA(), add.getB()), std::pair(add.getB(), add.getA())}) {
    auto conv = value.getDefiningOp<ConvOp>();
    if (!conv)
      continue;
    if (shapeOf(other) == ArrayRef(perSample))
      return take(conv, nullptr, other);
    if (shapeOf(other) == shape && conv->hasOneUse())
      return take(conv, add, {});
  }
  return {};
}

/// Returns the moments of every sample's channels, one row per sample.
static PartMoments takeSampleMoments(NNBuilder &b, Value x, PartsOf partsOf,
                                     const ColumnMomentsRewrite *rewrite) {
  ArrayRef<int64_t> shape = shapeOf(x);
  int64_t samples = shape.front(), channels = shape.back();
  int64_t rows = tensorType(x).getNumElements() / samples / channels;
  if (MomentSource source = findSource(x, rows, rewrite); source.height) {
    PartMoments moments = takeMoments(source.conv, source.add, source.height);
    int64_t parts = rows / source.height;
    if (parts > 1)
      moments = mergeNeighbours(b, moments, parts);
    if (source.shift)
      moments.means =
          b.add(moments.means, b.reshape(b.cast(source.shift, b.getF32Type()),
                                         {samples, channels}));
    return moments;
  }
  Value flat = b.reshape(x, {samples, rows, channels});
  auto whole = b.reduce(flat, Combiner::sum, 1).getDefiningOp<ReduceOp>();
  int64_t parts = partsOf(whole);
  whole.erase();
  PartMoments moments = takeMoments(b, x, samples * parts);
  return parts > 1 ? mergeNeighbours(b, moments, parts) : moments;
}

static void splitGroups(Value x, int64_t groups, const Statistics &wanted,
                        PartsOf partsOf, const ColumnMomentsRewrite *rewrite) {
  NNBuilder b(wanted.first->getLoc(), wanted.first);
  PartMoments moments = takeSampleMoments(b, x, partsOf, rewrite);
  int64_t size = moments.channels() / groups;
  int64_t each[] = {moments.parts(), groups, size};
  auto times = [&](Value value, double number) {
    return b.mul(value, b.scalarLike(value, number));
  };
  Value means = b.reshape(moments.means, each);
  Value squares = b.reshape(moments.squares, each);
  Value mean = times(b.reduce(means, Combiner::sum, 2), 1. / size);
  Value between = b.sub(means, mean);
  Value total = b.add(squares, times(b.mul(between, between), moments.rows));
  Value variance = times(b.reduce(total, Combiner::sum, 2),
                         1. / (double(size) * moments.rows));
  auto replace = [&](ArrayRef<Operation *> ops, Value value) {
    for (Operation *op : ops) {
      op->getResult(0).replaceAllUsesWith(
          b.cast(value, resultType(op).getElementType()));
      op->erase();
    }
  };
  replace(wanted.variances, variance);
  replace(wanted.means, mean);
}

void frit::splitGroupStatistics(Block &block, PartsOf partsOf,
                                const ColumnMomentsRewrite *moments) {
  llvm::MapVector<std::pair<Value, int64_t>, Statistics> wanted;
  for (Operation &op : block) {
    if (auto mean = dyn_cast<GroupMeanOp>(op))
      wanted[{mean.getX(), mean.getGroups()}].add(&op, true);
    else if (auto variance = dyn_cast<GroupVarianceOp>(op))
      wanted[{variance.getX(), variance.getGroups()}].add(&op, false);
  }
  for (auto &[key, statistics] : wanted)
    splitGroups(key.first, key.second, statistics, partsOf, moments);
}

//===----------------------------------------------------------------------===//
// Moments of batches
//===----------------------------------------------------------------------===//

void frit::splitBatchStatistics(Block &block, PartsOf partsOf,
                                const ColumnMomentsRewrite *moments) {
  llvm::MapVector<Value, Statistics> wanted;
  for (Operation &op : block)
    if (isa<BatchMeanOp, BatchVarianceOp>(op))
      wanted[op.getOperand(0)].add(&op, isa<BatchMeanOp>(op));
  for (auto &[x, statistics] : wanted)
    split(x, statistics, partsOf, moments);
}
