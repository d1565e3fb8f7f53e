//===- HalfRange.cpp - Clamp to fp16 without a look at all elements -------===//
//
//   %c = whether any element of %x is infinite
//   %m = nn.where %c, 64504, 65504
//   %y = nn.min nn.max(%x, nn.neg %m), %m
// ==>
//   %y = nn.min nn.max(%x, -65504), 65504
//
// So the T5s of transformers keep the sums of a residual stream finite, but
// only in fp16. 65504 is the largest number of fp16, so the results are equal
// if all elements are finite. Otherwise those beyond 64504 become 65504 or stay
// as they are. The condition would cost a sum of the whole tensor and a kernel
// for one number between any two layers.
//
//===----------------------------------------------------------------------===//

#include "compiler/transform/Graph.h"
#include "compiler/transform/recognize/ComposePatterns.h"
#include "dialects/nn/Casts.h"

#include <cmath>

using namespace mlir;
using namespace frit;
using namespace frit::nn;

static constexpr double kLargestHalf = 65504;

/// Returns the operand of a comparison `value` with `number`, else null.
template <typename Comparison>
static Value comparedWith(Value value, double number) {
  auto op = value.getDefiningOp<Comparison>();
  return op && isSplat(op.getB(), number) ? op.getA() : Value();
}

/// Returns whether `value` is not zero exactly if `x` has an infinite element.
static bool isAnyInfinite(Value value, Value x) {
  while (isa<IntegerType>(tensorType(value).getElementType())) {
    if (Value tested = comparedWith<EqualOp>(value, INFINITY)) {
      auto abs = tested.getDefiningOp<AbsOp>();
      return abs && beforeCasts(abs.getX()) == beforeCasts(x);
    }
    Operation *op = value.getDefiningOp();
    if (Value counted = comparedWith<GreaterOp>(value, 0)) {
      value = counted;
      continue;
    }
    auto reduce = dyn_cast_or_null<ReduceOp>(op);
    bool counts = reduce && (reduce.getKind() == Combiner::sum ||
                             reduce.getKind() == Combiner::max);
    if (!counts && !isa_and_nonnull<CastOp, ReshapeOp>(op))
      return false;
    value = op->getOperand(0);
  }
  return false;
}

namespace {
struct ClampToHalf : OpRewritePattern<MinOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(MinOp op,
                                PatternRewriter &rewriter) const override {
    auto max = op.getA().getDefiningOp<MaxOp>();
    auto most = beforeCasts(op.getB()).getDefiningOp<WhereOp>();
    if (!max || !most || !tensorType(op.getY()).getElementType().isF16())
      return rewriter.notifyMatchFailure(op, "no bounds that depend on data");
    auto neg = beforeCasts(max.getB()).getDefiningOp<NegOp>();
    if (!neg || beforeCasts(neg.getX()) != most.getY() ||
        !isSplat(most.getB(), kLargestHalf))
      return rewriter.notifyMatchFailure(op, "another range than fp16's");
    auto less = splatNumber(most.getA());
    if (!less || *less < 0.98 * kLargestHalf || *less > kLargestHalf ||
        !isAnyInfinite(most.getCondition(), max.getA()))
      return rewriter.notifyMatchFailure(op, "depends on another condition");
    NNBuilder b(op.getLoc(), rewriter);
    Value x = max.getA();
    Value least = b.scalarLike(x, -kLargestHalf);
    Value greatest = b.scalarLike(x, kLargestHalf);
    rewriter.replaceOpWithNewOp<MinOp>(op, MaxOp::create(b, x, least),
                                       greatest);
    return success();
  }
};
} // namespace

void frit::populateHalfRange(RewritePatternSet &patterns) {
  patterns.add<ClampToHalf>(patterns.getContext());
}
