//===- LayoutPatterns.cpp - Transposes that sink through operators --------===//
//
//   relu(first(x))               ==>  first(relu(x))
//   add(first(x), first(y))      ==>  first(add(x, y))
//   mul(first(x), c: k×1×1)      ==>  first(mul(x, c: k))
//   reduce(first(x), axes 2, 3)  ==>  first(reduce(x, axes 1, 2))
//
// where first(x) transposes n×spatial×c to n×c×spatial. The same holds for
// pools, concat, slice, gather, pad, softmax, means, and reshapes that keep n
// and c.
//
//===----------------------------------------------------------------------===//

#include "compiler/transform/layout/LayoutPatterns.h"
#include "compiler/transform/Graph.h"

using namespace mlir;
using namespace frit;
using namespace frit::nn;

SmallVector<int64_t> frit::toLast(int64_t rank) {
  SmallVector<int64_t> perm = {0};
  for (int64_t d = 2; d < rank; ++d)
    perm.push_back(d);
  perm.push_back(1);
  return perm;
}

SmallVector<int64_t> frit::toFirst(int64_t rank) {
  SmallVector<int64_t> perm = {0, rank - 1};
  for (int64_t d = 1; d < rank - 1; ++d)
    perm.push_back(d);
  return perm;
}

SmallVector<int64_t> frit::permuted(ArrayRef<int64_t> list,
                                    ArrayRef<int64_t> perm) {
  return llvm::map_to_vector(perm, [&](int64_t i) { return list[i]; });
}

Value frit::transposeToLast(NNBuilder &b, Value x) {
  return TransposeOp::create(b, x, toLast(tensorType(x).getRank()));
}

Value frit::transposeToFirst(NNBuilder &b, Value x) {
  return TransposeOp::create(b, x, toFirst(tensorType(x).getRank()));
}

Value frit::channelsLast(Value value) {
  auto transpose = value.getDefiningOp<TransposeOp>();
  int64_t rank = tensorType(value).getRank();
  if (!transpose || rank < 3 ||
      transpose.getPerm() != ArrayRef<int64_t>(toFirst(rank)))
    return {};
  return transpose.getX();
}

/// Returns the channels-last position of an axis of a channels-first tensor
/// with the rank of `x`.
static int64_t axisLast(Value x, int64_t axis) {
  return toFirst(tensorType(x).getRank())[axisOf(x, axis)];
}

/// Returns whether every transpose of this shape keeps the order of elements.
static bool keepsOrder(ArrayRef<int64_t> shape) {
  return llvm::count_if(shape, [](int64_t size) { return size != 1; }) <= 1;
}

/// Replaces `op` by a clone on `operands` with its result transposed back.
/// `edit` adapts the clone's attributes.
template <typename Op>
static LogicalResult sink(
    Op op, ValueRange operands, PatternRewriter &rewriter,
    llvm::function_ref<void(Op)> edit = [](Op) {}) {
  NNBuilder b(op->getLoc(), rewriter);
  auto clone = cast<Op>(b.clone(*op.getOperation()));
  clone->setOperands(operands);
  edit(clone);
  auto type = resultType(op);
  clone->getResult(0).setType(
      type.clone(permuted(type.getShape(), toLast(type.getRank()))));
  rewriter.replaceOp(op, transposeToFirst(b, clone->getResult(0)));
  return success();
}

namespace {
struct SinkElementwise : OpInterfaceRewritePattern<ElementwiseOp> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;

  LogicalResult matchAndRewrite(ElementwiseOp op,
                                PatternRewriter &rewriter) const override {
    auto type = resultType(op);
    int64_t rank = type.getRank();
    bool any = false;
    for (Value operand : op->getOperands()) {
      if (shapeOf(operand) == type.getShape() && channelsLast(operand))
        any = true;
      // Transposing weights is free; do not transpose other full-size operands.
      else if (shapeOf(operand) == type.getShape() &&
               !keepsOrder(type.getShape()) && !dependsOnConstants(operand))
        return rewriter.notifyMatchFailure(op, "an operand is not transposed");
    }
    if (!any)
      return failure();
    NNBuilder b(op->getLoc(), rewriter);
    SmallVector<Value> operands;
    for (Value operand : op->getOperands()) {
      Value x = channelsLast(operand);
      if (x && shapeOf(operand) == type.getShape()) {
        operands.push_back(x);
        continue;
      }
      ArrayRef<int64_t> shape = shapeOf(operand);
      if (!shape.empty()) {
        SmallVector<int64_t> full(rank - shape.size(), 1);
        llvm::append_range(full, shape);
        SmallVector<int64_t> last = permuted(full, toLast(rank));
        operand = b.reshape(operand, full);
        operand = keepsOrder(full) ? b.reshape(operand, last)
                                   : transposeToLast(b, operand);
      }
      operands.push_back(operand);
    }
    return sink<ElementwiseOp>(op, operands, rewriter);
  }
};

template <typename Pool> struct SinkPool : OpRewritePattern<Pool> {
  using OpRewritePattern<Pool>::OpRewritePattern;

  LogicalResult matchAndRewrite(Pool op,
                                PatternRewriter &rewriter) const override {
    Value x = channelsLast(op.getX());
    if (!x || op.getChannelsLast())
      return failure();
    return sink<Pool>(op, x, rewriter,
                      [](Pool pool) { pool.setChannelsLast(true); });
  }
};

template <typename Reduce> struct SinkReduce : OpRewritePattern<Reduce> {
  using OpRewritePattern<Reduce>::OpRewritePattern;

  LogicalResult matchAndRewrite(Reduce op,
                                PatternRewriter &rewriter) const override {
    Value x = channelsLast(op.getX());
    if (!x)
      return failure();
    return sink<Reduce>(op, x, rewriter, [&](Reduce reduce) {
      SmallVector<int64_t> axes;
      for (int64_t axis : op.getAxes())
        axes.push_back(axisLast(x, axis));
      llvm::sort(axes);
      reduce.setAxes(axes);
    });
  }
};

struct SinkConcat : OpRewritePattern<ConcatOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ConcatOp op,
                                PatternRewriter &rewriter) const override {
    auto operands = llvm::map_to_vector(op.getXs(), channelsLast);
    if (llvm::is_contained(operands, nullptr))
      return failure();
    return sink<ConcatOp>(op, operands, rewriter, [&](ConcatOp concat) {
      concat.setAxis(axisLast(op.getY(), op.getAxis()));
    });
  }
};

/// Gathers by one vector of indices, as nearest-neighbour resizing uses.
struct SinkGather : OpRewritePattern<GatherOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(GatherOp op,
                                PatternRewriter &rewriter) const override {
    Value x = channelsLast(op.getX());
    if (!x || shapeOf(op.getIndices()).size() != 1)
      return failure();
    return sink<GatherOp>(
        op, {x, op.getIndices()}, rewriter,
        [&](GatherOp gather) { gather.setAxis(axisLast(x, op.getAxis())); });
  }
};

struct SinkSoftmax : OpRewritePattern<SoftmaxOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(SoftmaxOp op,
                                PatternRewriter &rewriter) const override {
    Value x = channelsLast(op.getX());
    if (!x)
      return failure();
    return sink<SoftmaxOp>(op, x, rewriter, [&](SoftmaxOp softmax) {
      softmax.setAxis(axisLast(x, op.getAxis()));
    });
  }
};

struct SinkSlice : OpRewritePattern<SliceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(SliceOp op,
                                PatternRewriter &rewriter) const override {
    Value x = channelsLast(op.getX());
    if (!x)
      return failure();
    auto perm = toLast(tensorType(x).getRank());
    return sink<SliceOp>(op, x, rewriter, [&](SliceOp slice) {
      slice.setStarts(permuted(op.getStarts(), perm));
      slice.setSizes(permuted(op.getSizes(), perm));
      slice.setSteps(permuted(op.getSteps(), perm));
    });
  }
};

struct SinkPad : OpRewritePattern<PadOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(PadOp op,
                                PatternRewriter &rewriter) const override {
    Value x = channelsLast(op.getX());
    if (!x)
      return failure();
    auto perm = toLast(tensorType(x).getRank());
    SmallVector<Value> operands(op->getOperands());
    operands[0] = x;
    return sink<PadOp>(op, operands, rewriter, [&](PadOp pad) {
      pad.setLow(permuted(op.getLow(), perm));
      pad.setHigh(permuted(op.getHigh(), perm));
    });
  }
};

/// Reshapes of the spatial dimensions only.
struct SinkReshape : OpRewritePattern<ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ReshapeOp op,
                                PatternRewriter &rewriter) const override {
    Value x = channelsLast(op.getX());
    ArrayRef<int64_t> from = shapeOf(op.getX()), to = shapeOf(op.getY());
    if (!x || to.size() < 3 || from.take_front(2) != to.take_front(2))
      return failure();
    NNBuilder b(op.getLoc(), rewriter);
    Value y = b.reshape(x, permuted(to, toLast(to.size())));
    rewriter.replaceOp(op, transposeToFirst(b, y));
    return success();
  }
};

/// Decomposes batch norm by known statistics, so that the transpose can sink
/// through its elementwise operators. Batch norm by batch statistics stays
/// whole.
struct OpenBatchNorm : OpRewritePattern<BatchNormOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(BatchNormOp op,
                                PatternRewriter &rewriter) const override {
    Value x = channelsLast(op.getX());
    if (!x || op.getChannelsLast())
      return failure();
    NNBuilder b(op.getLoc(), rewriter);
    if (op.getBatchStatistics()) {
      SmallVector<Value> operands(op->getOperands());
      operands[0] = x;
      return sink<BatchNormOp>(op, operands, rewriter, [](BatchNormOp norm) {
        norm.setChannelsLast(true);
      });
    }
    rewriter.replaceOp(op, op.decompose(b));
    return success();
  }
};
/// Statistics of channels do not depend on the layout.
template <typename Op> struct SinkStatistic : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    Value x = channelsLast(op.getX());
    if (!x || op.getChannelsLast())
      return failure();
    rewriter.modifyOpInPlace(op, [&] {
      op.getXMutable().assign(x);
      op.setChannelsLast(true);
    });
    return success();
  }
};
} // namespace

void frit::populateLayout(RewritePatternSet &patterns) {
  MLIRContext *context = patterns.getContext();
  patterns.add<SinkElementwise, SinkPool<MaxPoolOp>, SinkPool<AvgPoolOp>,
               SinkReduce<ReduceOp>, SinkReduce<ReduceMeanOp>, SinkConcat,
               SinkSoftmax, SinkGather, SinkSlice, SinkPad, SinkReshape,
               OpenBatchNorm, SinkStatistic<BatchMeanOp>,
               SinkStatistic<BatchVarianceOp>>(context);
  TransposeOp::getCanonicalizationPatterns(patterns, context);
}
