//===- RowSlices.cpp - Slice before computing -----------------------------===//
//
//   %n = nn.layer_norm nn.add(%x, nn.matmul(%h, %w)) ...      1×197×768
//   %c = nn.slice %n {starts = [0, 0, 0], sizes = [1, 1, 768]}
// ==>
//   %g = nn.slice %h, %z = nn.slice %x ...
//   %c = nn.layer_norm nn.add(%z, nn.matmul(%g, %w)) ...      1×1×768
//
// A classifier reads one position of its encoder, so the last block need not
// compute the others. Applies if all readers are equal slices that keep at most
// half of the elements.
//
//===----------------------------------------------------------------------===//

#include "compiler/transform/Graph.h"
#include "compiler/transform/simplify/RowMovement.h"
#include "compiler/transform/simplify/SimplifyMovement.h"

using namespace mlir;
using namespace frit;
using namespace frit::nn;

namespace {
/// A slice whose operand is read only by it and equal slices.
class SharedSlice {
public:
  explicit SharedSlice(SliceOp op)
      : starts(op.getStarts()), sizes(op.getSizes()), steps(op.getSteps()),
        op(op) {}

  bool matches() const {
    auto type = resultType(op.getX().getDefiningOp());
    if (!type.hasStaticShape() ||
        2 * resultType(op).getNumElements() > type.getNumElements())
      return false;
    return llvm::all_of(op.getX().getUsers(), [&](Operation *user) {
      auto other = dyn_cast<SliceOp>(user);
      return other && other.getStarts() == ArrayRef(starts) &&
             other.getSizes() == ArrayRef(sizes) &&
             other.getSteps() == ArrayRef(steps);
    });
  }

  /// Returns whether the slice keeps all of dimension `d`.
  bool isWhole(size_t d) const {
    return sizes[d] == shapeOf(op.getX())[d] && starts[d] == 0 && steps[d] == 1;
  }

  /// Slices a tensor that broadcasts to the slice's operand.
  Value apply(OpBuilder &b, Value x) const {
    ArrayRef<int64_t> shape = shapeOf(x), full = shapeOf(op.getX());
    size_t added = full.size() - shape.size();
    SmallVector<int64_t> from(shape.size(), 0), size(shape),
        step(from.size(), 1);
    for (size_t d = 0; d < shape.size(); ++d) {
      if (shape[d] != full[added + d])
        continue;
      from[d] = starts[added + d];
      size[d] = sizes[added + d];
      step[d] = steps[added + d];
    }
    return b.createOrFold<SliceOp>(op.getLoc(), x, from, size, step);
  }

  /// Replaces all of the equal slices.
  void replace(PatternRewriter &rewriter, Value value) const {
    for (Operation *user : llvm::make_early_inc_range(op.getX().getUsers()))
      rewriter.replaceOp(user, value);
  }

  SmallVector<int64_t> starts, sizes, steps;

private:
  mutable SliceOp op;
};

/// Base of the patterns for slices of an `Op`'s result.
template <typename Op> struct SliceBefore : OpRewritePattern<SliceOp> {
  using OpRewritePattern<SliceOp>::OpRewritePattern;

  LogicalResult matchAndRewrite(SliceOp op,
                                PatternRewriter &rewriter) const override {
    auto producer = dyn_cast_or_null<Op>(op.getX().getDefiningOp());
    if (!producer)
      return failure();
    SharedSlice slice(op);
    if (!slice.matches())
      return rewriter.notifyMatchFailure(op, "others read more");
    // Insert before the first of the slices.
    rewriter.setInsertionPointAfter(producer);
    Value y = build(producer, slice, rewriter);
    if (!y)
      return rewriter.notifyMatchFailure(op, "it cuts what belongs together");
    slice.replace(rewriter, y);
    return success();
  }

  virtual Value build(Op producer, const SharedSlice &slice,
                      PatternRewriter &rewriter) const = 0;
};

/// Clones `op` with other operands and result shape.
Value cloneWith(Operation *op, ValueRange operands, ArrayRef<int64_t> shape,
                PatternRewriter &rewriter) {
  Operation *clone = rewriter.clone(*op);
  clone->setOperands(operands);
  clone->getResult(0).setType(resultType(op).clone(shape));
  return clone->getResult(0);
}

struct SliceBeforeElementwise : SliceBefore<ElementwiseOp> {
  using SliceBefore::SliceBefore;

  Value build(ElementwiseOp op, const SharedSlice &slice,
              PatternRewriter &rewriter) const override {
    SmallVector<Value> operands;
    for (Value operand : op->getOperands()) {
      if (!tensorType(operand).hasStaticShape())
        return {};
      operands.push_back(slice.apply(rewriter, operand));
    }
    return cloneWith(op, operands, slice.sizes, rewriter);
  }
};

template <typename Norm> struct SliceBeforeNorm : SliceBefore<Norm> {
  using SliceBefore<Norm>::SliceBefore;

  Value build(Norm op, const SharedSlice &slice,
              PatternRewriter &rewriter) const override {
    int64_t rank = shapeOf(op.getX()).size();
    int64_t axis = nn::axisOf(op.getX(), op.getAxis());
    for (int64_t d = axis; d < rank; ++d)
      if (!slice.isWhole(d))
        return {};
    SmallVector<Value> operands(op->getOperands());
    operands[0] = slice.apply(rewriter, operands[0]);
    return cloneWith(op, operands, slice.sizes, rewriter);
  }
};

/// Slices of rows become slices of the left operand.
struct SliceBeforeMatmul : SliceBefore<MatmulOp> {
  using SliceBefore::SliceBefore;

  Value build(MatmulOp op, const SharedSlice &slice,
              PatternRewriter &rewriter) const override {
    ArrayRef<int64_t> a = shapeOf(op.getA());
    if (op.getTransposeA() || shapeOf(op.getB()).size() != 2 || a.size() < 2 ||
        !slice.isWhole(a.size() - 1))
      return {};
    SmallVector<int64_t> starts(slice.starts), sizes(slice.sizes);
    sizes.back() = a.back();
    Value rows = SliceOp::create(rewriter, op.getLoc(), op.getA(), starts,
                                 sizes, slice.steps);
    return cloneWith(op, {rows, op.getB()}, slice.sizes, rewriter);
  }
};

/// Slices of queries, if what a query sees does not depend on its position.
struct SliceBeforeAttention : SliceBefore<AttentionOp> {
  using SliceBefore::SliceBefore;

  Value build(AttentionOp op, const SharedSlice &slice,
              PatternRewriter &rewriter) const override {
    if (op.getCausal() || op.getMask() || !slice.isWhole(0) ||
        !slice.isWhole(1) || !slice.isWhole(3))
      return {};
    SmallVector<int64_t> sizes(slice.sizes);
    sizes.back() = shapeOf(op.getQ()).back();
    Value q = SliceOp::create(rewriter, op.getLoc(), op.getQ(), slice.starts,
                              sizes, slice.steps);
    return cloneWith(op, {q, op.getK(), op.getV()}, slice.sizes, rewriter);
  }
};

/// Turns a view of a product's rows into a product of a view, so that its rows
/// can be sliced:
///
///   slice(matmul(x: 6304×768, w) as 197×32×768)
///     ==>  slice(matmul(x as 197×32×768, w))
struct ProductOfView : SliceBefore<ReshapeOp> {
  using SliceBefore::SliceBefore;

  Value build(ReshapeOp op, const SharedSlice &slice,
              PatternRewriter &rewriter) const override {
    auto found = findRowProduct(op.getX());
    SmallVector<int64_t> rows(shapeOf(op.getY()));
    if (!found || rows.back() != shapeOf(found->product.getY()).back())
      return {};
    NNBuilder b(op.getLoc(), rewriter);
    rows.back() = shapeOf(found->product.getA()).back();
    Value y = found->apply(b, b.reshape(found->product.getA(), rows));
    return slice.apply(b, y);
  }
};

/// Views that keep the sliced dimensions as they are.
struct SliceBeforeView : SliceBefore<ReshapeOp> {
  using SliceBefore::SliceBefore;

  Value build(ReshapeOp op, const SharedSlice &slice,
              PatternRewriter &rewriter) const override {
    ArrayRef<int64_t> from = shapeOf(op.getX()), to = shapeOf(op.getY());
    SmallVector<int64_t> starts(from.size(), 0), sizes(from);
    SmallVector<int64_t> steps(from.size(), 1);
    for (size_t d = 0; d < to.size(); ++d) {
      if (slice.isWhole(d))
        continue;
      // Find the dimension of the same size with as many elements after it.
      int64_t behind = 1, passed = 1;
      for (int64_t size : to.drop_front(d + 1))
        behind *= size;
      size_t s = from.size();
      while (s > 0 && (passed < behind || from[s - 1] == 1))
        passed *= from[--s];
      if (s == 0 || passed != behind || from[s - 1] != to[d])
        return {};
      starts[s - 1] = slice.starts[d];
      sizes[s - 1] = slice.sizes[d];
      steps[s - 1] = slice.steps[d];
    }
    // SimplifyMovement would move a splitting view back before the slice.
    if (splits(sizes, slice.sizes))
      return {};
    NNBuilder b(op.getLoc(), rewriter);
    return b.reshape(SliceOp::create(b, op.getX(), starts, sizes, steps),
                     slice.sizes);
  }
};
} // namespace

void frit::populateRowSlices(RewritePatternSet &patterns) {
  patterns.add<SliceBeforeElementwise, SliceBeforeNorm<LayerNormOp>,
               SliceBeforeNorm<RmsNormOp>, SliceBeforeMatmul,
               SliceBeforeAttention, ProductOfView, SliceBeforeView>(
      patterns.getContext());
}
