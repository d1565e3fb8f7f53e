//===- Compose.cpp - Recognise composites, fold into products -------------===//
//
//   %c = nn.conv %x, %w ...
//   %n = nn.batch_norm %c, %scale, %bias, %mean, %variance ...
// ==>
//   %i = nn.mul %scale, nn.rsqrt(%variance + epsilon)
//   %v = nn.mul %w, nn.reshape(%i)
//   %b = nn.add nn.mul(%bias', %i), nn.sub(%bias, nn.mul(%mean, %i))
//   %n = nn.conv %x, %v, %b ...
//
// The operators on weights move to @prepare, so they run once at load. Other
// patterns here: a matmul absorbs a batch norm of its columns; constants that
// scale a convolution's channels, or are added to them, fold into its weights
// and bias, as does the bias of another convolution that is added; a transpose
// of the last two dimensions becomes a flag of the matmul that reads it.
// Activations and norms that exporters decomposed become one operator
// (ComposePatterns.cpp), as does attention (AttentionPatterns.cpp), whose masks
// are evaluated first if they are constant (ConstantMasks.cpp), whose
// projections are joined into one matmul (ProjectionPatterns.cpp) and which
// reads caches where they lie (CachesInPlace.cpp).
//
//===----------------------------------------------------------------------===//

#include "compiler/transform/Graph.h"
#include "compiler/transform/Passes.h"
#include "compiler/transform/recognize/AttentionPatterns.h"
#include "compiler/transform/recognize/CachesInPlace.h"
#include "compiler/transform/recognize/ComposePatterns.h"
#include "compiler/transform/recognize/MaskValue.h"
#include "compiler/transform/recognize/PositionMasks.h"
#include "compiler/transform/simplify/RowMovement.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace frit {
#define GEN_PASS_DEF_COMPOSE
#include "compiler/transform/Passes.h.inc"
} // namespace frit

using namespace mlir;
using namespace frit;
using namespace frit::nn;

/// Reshapes a vector of channels to broadcast against weights (channel first)
/// or results (channel second): adds dimensions of size 1 around it.
static Value besideSpatial(NNBuilder &b, Value vector, int64_t leading,
                           int64_t trailing) {
  SmallVector<int64_t> shape(leading, 1);
  shape.push_back(shapeOf(vector)[0]);
  shape.append(trailing, 1);
  return b.reshape(vector, shape);
}

/// Returns a batch norm's scale and offset per channel, in at least f32: its
/// parameters may be wider than what it normalizes.
static std::pair<Value, Value> affineOf(NNBuilder &b, BatchNormOp op) {
  Type work = workType(tensorType(op.getX()).getElementType());
  Value variance = b.cast(op.getVariance(), work);
  variance = b.add(variance,
                   b.scalarLike(variance, op.getEpsilon().convertToDouble()));
  Value factor =
      b.mul(b.cast(op.getScale(), work), RsqrtOp::create(b, variance));
  Value shift = b.mul(b.cast(op.getMean(), work), factor);
  return {factor, b.sub(b.cast(op.getBias(), work), shift)};
}

/// Folds `op`, which multiplies the channels of `conv` by `factor` and then
/// adds `offset` (either may be null), into the convolution. They may be wider
/// than the weights, which are rounded once.
static void foldAffine(Operation *op, ConvOp conv, Value factor, Value offset,
                       NNBuilder &b, PatternRewriter &rewriter) {
  Value w = conv.getW(), bias = conv.getBias();
  Type narrow = tensorType(w).getElementType();
  Type wide = tensorType(factor ? factor : offset).getElementType();
  if (bias)
    bias = b.cast(bias, wide);
  if (factor) {
    w = b.mul(b.cast(w, wide),
              besideSpatial(b, factor, 0, tensorType(w).getRank() - 1));
    w = b.cast(w, narrow);
    bias = bias ? b.mul(bias, factor) : bias;
  }
  if (offset)
    bias = bias ? b.add(bias, offset) : offset;
  if (bias)
    bias = b.cast(bias, narrow);
  auto folded = cast<ConvOp>(rewriter.clone(*conv));
  folded->setLoc(fuseLocations({conv, op}));
  folded->setOperands({conv.getX(), w});
  if (bias)
    folded.getBiasMutable().assign(bias);
  rewriter.replaceOp(op, folded);
  rewriter.eraseOp(conv);
}

static bool areConstant(ValueRange values) {
  return llvm::all_of(values, [](Value v) { return dependsOnConstants(v); });
}

namespace {
struct FoldBatchNorm : OpRewritePattern<BatchNormOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(BatchNormOp op,
                                PatternRewriter &rewriter) const override {
    auto conv = op.getX().getDefiningOp<ConvOp>();
    if (!conv || !conv->hasOneUse() || conv.getChannelsLast())
      return rewriter.notifyMatchFailure(op, "no convolution of its own");
    if (!areConstant(op->getOperands().drop_front()) ||
        !areConstant(conv->getOperands().drop_front()))
      return rewriter.notifyMatchFailure(op, "parameters are computed");
    NNBuilder b(op.getLoc(), rewriter);
    auto [factor, offset] = affineOf(b, op);
    foldAffine(op, conv, factor, offset, b, rewriter);
    return success();
  }
};

/// Folds a batch norm after a matmul, whose channels are columns; views that
/// keep rows may come in between.
struct FoldRowBatchNorm : OpRewritePattern<BatchNormOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(BatchNormOp op,
                                PatternRewriter &rewriter) const override {
    auto type = op.getY().getType();
    auto found = findRowProduct(op.getX());
    if (type.getRank() != 2 || !found || !op.getX().hasOneUse() ||
        shapeOf(found->product.getY()).back() != type.getShape().back() ||
        !areConstant(op->getOperands().drop_front()) ||
        !areConstant(found->product.getB()) ||
        (found->bias && !areConstant(found->bias)))
      return rewriter.notifyMatchFailure(op, "no product by a weight");
    NNBuilder b(op.getLoc(), rewriter);
    auto [factor, offset] = affineOf(b, op);
    MatmulOp product = found->product;
    Type narrow = type.getElementType();
    Type wide = tensorType(factor).getElementType();
    if (found->bias)
      offset = b.add(b.mul(b.cast(found->bias, wide), factor), offset);
    Value columns =
        product.getTransposeB() ? besideSpatial(b, factor, 0, 1) : factor;
    Value w = b.cast(b.mul(b.cast(product.getB(), wide), columns), narrow);
    b.setLoc(fuseLocations({product, op}));
    Value y = MatmulOp::create(b, product.getA(), w, product.getTransposeA(),
                               product.getTransposeB(), product.getTf32());
    rewriter.replaceOp(
        op, b.reshape(b.add(y, b.cast(offset, narrow)), type.getShape()));
    return success();
  }
};

/// Folds a constant per channel that is added to a convolution or multiplies
/// it.
template <typename Op> struct FoldChannels : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    for (unsigned i = 0; i < 2; ++i) {
      auto conv = op->getOperand(i).template getDefiningOp<ConvOp>();
      Value other = op->getOperand(1 - i);
      if (!conv || !conv->hasOneUse() || conv.getChannelsLast() ||
          conv.getY().getType() != op.getY().getType() ||
          !dependsOnConstants(other))
        continue;
      int64_t channels = shapeOf(conv.getW())[0];
      SmallVector<int64_t> perChannel(tensorType(conv.getW()).getRank() - 1, 1);
      perChannel[0] = channels;
      ArrayRef<int64_t> shape = shapeOf(other);
      while (!shape.empty() && shape.front() == 1 &&
             shape.size() > perChannel.size())
        shape = shape.drop_front();
      if (shape != ArrayRef(perChannel))
        continue;
      if (isa<MulOp>(op) && !areConstant(conv->getOperands().drop_front()))
        continue;
      NNBuilder b(op.getLoc(), rewriter);
      Value vector = b.reshape(other, {channels});
      bool adds = isa<AddOp>(op);
      foldAffine(op, conv, adds ? Value() : vector, adds ? vector : Value(), b,
                 rewriter);
      return success();
    }
    return failure();
  }
};

/// Moves the biases of two added convolutions into one, so that both may share
/// a kernel.
struct MergeBiases : OpRewritePattern<AddOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(AddOp op,
                                PatternRewriter &rewriter) const override {
    std::array<ConvOp, 2> convs;
    for (auto [conv, operand] : llvm::zip(convs, op->getOperands())) {
      conv = operand.getDefiningOp<ConvOp>();
      if (!conv || !conv->hasOneUse() || !conv.getBias() ||
          operand.getType() != op.getY().getType() ||
          !dependsOnConstants(conv.getBias()))
        return failure();
    }
    NNBuilder b(op.getLoc(), rewriter);
    Value bias = b.add(convs[0].getBias(), convs[1].getBias());
    auto biased = cast<ConvOp>(rewriter.clone(*convs[0]));
    biased->setOperands({biased.getX(), biased.getW(), bias});
    rewriter.replaceOp(convs[0], biased);
    rewriter.modifyOpInPlace(convs[1],
                             [&] { convs[1].getBiasMutable().clear(); });
    return success();
  }
};

/// Folds a swap of the last two dimensions into a matmul's flag. The rest of
/// the transpose keeps the last dimension, which is cheaper, and is often
/// empty.
struct FoldTranspose : OpRewritePattern<MatmulOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(MatmulOp op,
                                PatternRewriter &rewriter) const override {
    for (unsigned i = 0; i < 2; ++i) {
      auto transpose = op->getOperand(i).getDefiningOp<TransposeOp>();
      if (!transpose || transpose.getPerm().size() < 2)
        continue;
      SmallVector<int64_t> perm(transpose.getPerm());
      if (perm[perm.size() - 2] != static_cast<int64_t>(perm.size()) - 1)
        continue;
      std::swap(perm[perm.size() - 2], perm.back());
      Value x = rewriter.createOrFold<TransposeOp>(transpose.getLoc(),
                                                   transpose.getX(), perm);
      rewriter.modifyOpInPlace(op, [&] {
        op->setOperand(i, x);
        if (i == 0)
          op.setTransposeA(!op.getTransposeA());
        else
          op.setTransposeB(!op.getTransposeB());
      });
      return success();
    }
    return failure();
  }
};

/// scale(transpose(x)) ==> transpose(scale(x)), so that the following matmul
/// can absorb the transpose.
struct TransposeAfterScale : OpRewritePattern<MulOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(MulOp op,
                                PatternRewriter &rewriter) const override {
    if (!op->hasOneUse() || !isa<MatmulOp>(*op->user_begin()))
      return failure();
    for (unsigned i = 0; i < 2; ++i) {
      auto transpose = op->getOperand(i).getDefiningOp<TransposeOp>();
      Value scale = op->getOperand(1 - i);
      if (!transpose || !transpose->hasOneUse() || !splatNumber(scale) ||
          tensorType(scale).getNumElements() != 1 ||
          op.getY().getType() != transpose.getY().getType())
        continue;
      NNBuilder b(op.getLoc(), rewriter);
      Value y = b.mul(transpose.getX(), b.reshape(scale, {}));
      rewriter.replaceOpWithNewOp<TransposeOp>(op, y, transpose.getPerm());
      return success();
    }
    return failure();
  }
};

class Compose : public frit::impl::ComposeBase<Compose> {
public:
  LogicalResult initialize(MLIRContext *context) override {
    RewritePatternSet set(context);
    set.add<FoldBatchNorm, FoldRowBatchNorm, FoldChannels<AddOp>,
            FoldChannels<MulOp>, MergeBiases, FoldTranspose,
            TransposeAfterScale>(context);
    populateRecognition(set);
    populatePatches(set);
    populateHalfRange(set);
    populateLogSoftmax(set);
    populateRotary(set);
    populateAttention(set);
    populateProjections(set);
    populateRowTransposes(set);
    populateExperts(set);
    patterns = std::move(set);
    return success();
  }

  void runOnOperation() override {
    GreedyRewriteConfig config;
    config.enableConstantCSE(false);
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (!function.isDeclaration())
        rewriteConstantMasks(function.front());
      if (failed(applyPatternsGreedily(function, patterns, config)))
        return signalPassFailure();
      if (function.isDeclaration())
        continue;
      readCachesInPlace(function.front());
      rewritePositionMasks(function.front());
      joinSiblings(function.front());
    }
  }

private:
  FrozenRewritePatternSet patterns;
};
} // namespace
