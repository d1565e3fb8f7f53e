//===- LogSoftmax.cpp - Recognise the logarithm of a softmax --------------===//
//
//   %y = nn.log nn.softmax(%x)   ==>   %y = nn.log_softmax %x
//
// perhaps with views between the two. Where an element of the softmax rounds to
// 0, its logarithm would be -inf instead of some -90.
//
//===----------------------------------------------------------------------===//

#include "compiler/transform/recognize/ComposePatterns.h"
#include "dialects/nn/NN.h"

using namespace mlir;
using namespace frit;
using namespace frit::nn;

namespace {
struct RecogniseLogSoftmax : OpRewritePattern<LogOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(LogOp op,
                                PatternRewriter &rewriter) const override {
    SmallVector<Operation *> views;
    Operation *def = op.getX().getDefiningOp();
    for (; isa_and_nonnull<ReshapeOp, TransposeOp>(def);
         def = def->getOperand(0).getDefiningOp())
      views.push_back(def);
    auto softmax = dyn_cast_or_null<SoftmaxOp>(def);
    if (!softmax)
      return rewriter.notifyMatchFailure(op, "not of a softmax");
    Value y = LogSoftmaxOp::create(rewriter, op.getLoc(), softmax.getX(),
                                   softmax.getAxis());
    for (Operation *view : llvm::reverse(views)) {
      Operation *moved = rewriter.clone(*view);
      moved->setOperand(0, y);
      y = moved->getResult(0);
    }
    rewriter.replaceOp(op, y);
    return success();
  }
};
} // namespace

void frit::populateLogSoftmax(RewritePatternSet &patterns) {
  patterns.add<RecogniseLogSoftmax>(patterns.getContext());
}
