//===- Compose.cpp - Composites recognised, contractions extended ---------===//
//
//   %c = nn.conv %x, %w ...
//   %n = nn.batch_norm %c, %scale, %bias, %mean, %variance ...
// ==>
//   %i = nn.mul %scale, nn.rsqrt(%variance + epsilon)
//   %v = nn.mul %w, nn.reshape(%i)
//   %b = nn.add nn.mul(nn.sub(%bias', %mean), %i), %bias
//   %n = nn.conv %x, %v, %b ...
//
// The operators on weights move to @prepare, so they run once at load. Likewise
// a constant added to a convolution's channels joins its bias, as does that of
// another convolution which is added to it, a transpose of the last two
// dimensions becomes a flag of the matmul that reads it, and activations and
// norms that exporters wrote out become one operator (ComposePatterns.cpp), as
// does attention (AttentionPatterns.cpp), whose queries, keys and values then
// come from one product (ProjectionPatterns.cpp).
//
//===----------------------------------------------------------------------===//

#include "compiler/transform/AttentionPatterns.h"
#include "compiler/transform/ComposePatterns.h"
#include "compiler/transform/Graph.h"
#include "compiler/transform/Passes.h"
#include "compiler/transform/RowMovement.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace frit {
#define GEN_PASS_DEF_COMPOSE
#include "compiler/transform/Passes.h.inc"
} // namespace frit

using namespace mlir;
using namespace frit;
using namespace frit::nn;

/// A vector of channels with trailing dimensions of size 1, to broadcast
/// against weights (channel first) or results (channel second).
static Value besideSpatial(NNBuilder &b, Value vector, int64_t leading,
                           int64_t trailing) {
  SmallVector<int64_t> shape(leading, 1);
  shape.push_back(shapeOf(vector)[0]);
  shape.append(trailing, 1);
  return b.reshape(vector, shape);
}

namespace {
struct FoldBatchNorm : OpRewritePattern<BatchNormOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(BatchNormOp op,
                                PatternRewriter &rewriter) const override {
    auto conv = op.getX().getDefiningOp<ConvOp>();
    if (!conv || !conv->hasOneUse() || conv.getChannelsLast())
      return rewriter.notifyMatchFailure(op, "no convolution of its own");
    if (!llvm::all_of(op->getOperands().drop_front(),
                      [](Value v) { return dependsOnConstants(v); }) ||
        !llvm::all_of(conv->getOperands().drop_front(),
                      [](Value v) { return dependsOnConstants(v); }))
      return rewriter.notifyMatchFailure(op, "parameters are computed");

    NNBuilder b(op.getLoc(), rewriter);
    Value variance = b.add(
        op.getVariance(),
        b.scalarLike(op.getVariance(), op.getEpsilon().convertToDouble()));
    Value inverse = b.mul(op.getScale(), RsqrtOp::create(b, variance));
    Value w = conv.getW();
    w = b.mul(w, besideSpatial(b, inverse, 0, tensorType(w).getRank() - 1));
    Value bias = conv.getBias() ? b.sub(conv.getBias(), op.getMean())
                                : NegOp::create(b, op.getMean());
    bias = b.add(b.mul(bias, inverse), op.getBias());
    auto folded = cast<ConvOp>(rewriter.clone(*conv));
    folded->setLoc(fuseLocations({conv, op}));
    folded->setOperands({conv.getX(), w, bias});
    rewriter.replaceOp(op, folded);
    rewriter.eraseOp(conv);
    return success();
  }
};

struct FoldBias : OpRewritePattern<AddOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(AddOp op,
                                PatternRewriter &rewriter) const override {
    for (unsigned i = 0; i < 2; ++i) {
      auto conv = op->getOperand(i).getDefiningOp<ConvOp>();
      Value addend = op->getOperand(1 - i);
      if (!conv || !conv->hasOneUse() || conv.getChannelsLast() ||
          conv.getY().getType() != op.getY().getType() ||
          !dependsOnConstants(addend))
        continue;
      int64_t channels = shapeOf(conv.getW())[0];
      SmallVector<int64_t> perChannel(tensorType(conv.getW()).getRank() - 1, 1);
      perChannel[0] = channels;
      ArrayRef<int64_t> shape = shapeOf(addend);
      while (!shape.empty() && shape.front() == 1 &&
             shape.size() > perChannel.size())
        shape = shape.drop_front();
      if (shape != ArrayRef(perChannel))
        continue;
      NNBuilder b(op.getLoc(), rewriter);
      Value bias = b.reshape(addend, {channels});
      if (conv.getBias())
        bias = b.add(conv.getBias(), bias);
      auto folded = cast<ConvOp>(rewriter.clone(*conv));
      folded->setLoc(fuseLocations({conv, op}));
      folded->setOperands({conv.getX(), conv.getW(), bias});
      rewriter.replaceOp(op, folded);
      rewriter.eraseOp(conv);
      return success();
    }
    return failure();
  }
};

/// Two convolutions that are added need one bias only, and may then be one
/// kernel.
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

/// A matmul reads its operands' last two dimensions either way round. What is
/// left of the transpose keeps the last dimension in place, which is cheaper,
/// and often nothing is left.
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

/// A scaled transpose is a transpose of what is scaled, which the matmul behind
/// it can take.
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
    set.add<FoldBatchNorm, FoldBias, MergeBiases, FoldTranspose,
            TransposeAfterScale>(context);
    populateRecognition(set);
    populatePatches(set);
    populateRotary(set);
    populateAttention(set);
    populateProjections(set);
    populateRowTransposes(set);
    patterns = std::move(set);
    return success();
  }

  void runOnOperation() override {
    GreedyRewriteConfig config;
    config.enableConstantCSE(false);
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (failed(applyPatternsGreedily(function, patterns, config)))
        return signalPassFailure();
  }

private:
  FrozenRewritePatternSet patterns;
};
} // namespace
