//===- SharedHeads.cpp - Keys and values that heads share -----------------===//
//
//   expand(k: B×G×1×S×D, B×G×n×S×D) as B×(G·n)×S×D  ==>  k: B×G×S×D
//
// With grouped-query attention, the queries of a group read the same keys and
// values, so they need not be repeated.
//
//===----------------------------------------------------------------------===//

#include "compiler/transform/recognize/AttentionPatterns.h"
#include "dialects/nn/NN.h"

using namespace mlir;
using namespace frit;
using namespace frit::nn;

namespace {
struct ShareHeads : OpRewritePattern<AttentionOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(AttentionOp op,
                                PatternRewriter &rewriter) const override {
    Value k = unrepeated(op.getK()), v = unrepeated(op.getV());
    if (!k || !v || shapeOf(k)[1] != shapeOf(v)[1])
      return rewriter.notifyMatchFailure(op, "its keys are not repeated");
    NNBuilder b(op.getLoc(), rewriter);
    auto four = [&](Value x) {
      ArrayRef<int64_t> s = shapeOf(x);
      return b.reshape(x, {s[0], s[1], s[3], s[4]});
    };
    Value key = four(k), value = four(v);
    rewriter.modifyOpInPlace(op, [&] {
      op.getKMutable().assign(key);
      op.getVMutable().assign(value);
    });
    return success();
  }

private:
  static Value unrepeated(Value x) {
    auto reshape = x.getDefiningOp<ReshapeOp>();
    auto expand =
        reshape ? reshape.getX().getDefiningOp<ExpandOp>() : ExpandOp();
    if (!expand || shapeOf(expand.getX()).size() != 5)
      return {};
    ArrayRef<int64_t> from = shapeOf(expand.getX()), to = shapeOf(expand);
    ArrayRef<int64_t> merged = shapeOf(x);
    bool repeats = from[2] == 1 && from[0] == to[0] && from[1] == to[1] &&
                   from[3] == to[3] && from[4] == to[4] &&
                   merged[1] == to[1] * to[2] && merged[2] == to[3] &&
                   merged[3] == to[4];
    return repeats ? Value(expand.getX()) : Value();
  }
};
} // namespace

void frit::populateSharedHeads(RewritePatternSet &patterns) {
  patterns.add<ShareHeads>(patterns.getContext());
}
