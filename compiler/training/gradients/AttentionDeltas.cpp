//===- AttentionDeltas.cpp - Sums that gradients of attention need --------===//
//
//   %g = nn.attention_grad %q, %k, %v, %y, %dy, %stats
// ==>
//   %0 = nn.transpose %y                    batch × queries × heads × size
//   %1 = nn.transpose %dy
//   %2 = nn.reduce (%0 · %1) along the size
//   %delta = nn.transpose %2                batch × heads × queries
//   %g = nn.attention_grad %q, %k, %v, %delta, %dy, %stats
//
// y is usually stored with the heads of a position side by side, as the next
// product reads it, and dy comes that way. So the sums are computed there, and
// the transposes vanish. If a product computes dy, its kernel may compute them
// (SideRowDots.cpp).
//
//===----------------------------------------------------------------------===//

#include "dialects/nn/rewrites/AttentionDeltas.h"
#include "compiler/training/Passes.h"
#include "compiler/transform/TargetRewritePass.h"

namespace frit {
#define GEN_PASS_DEF_ATTENTIONDELTAS
#include "compiler/training/Passes.h.inc"
} // namespace frit

using namespace mlir;
using namespace frit;
using namespace frit::nn;

namespace {
class AttentionDeltas
    : public TargetRewritePass<frit::impl::AttentionDeltasBase<AttentionDeltas>,
                               AttentionDeltasRewrite> {
public:
  using TargetRewritePass::TargetRewritePass;

private:
  void run(Block &block) override;
};
} // namespace

/// Builds the sums of y · dy.
static Value buildDelta(AttentionGradOp gradient) {
  NNBuilder b(gradient.getLoc(), gradient.getOperation());
  Type type = tensorType(gradient.getStats()).getElementType();
  auto read = [&](Value x) {
    Value rows = TransposeOp::create(b, x, ArrayRef<int64_t>{0, 2, 1, 3});
    return b.cast(rows, type);
  };
  Value y = read(gradient.getY()), dy = read(gradient.getDy());
  Value products = b.mul(y, dy);
  ArrayRef<int64_t> shape = shapeOf(products);
  Value sums = b.reshape(b.reduce(products, Combiner::sum, 3),
                         {shape[0], shape[1], shape[2]});
  return TransposeOp::create(b, sums, ArrayRef<int64_t>{0, 2, 1});
}

void AttentionDeltas::run(Block &block) {
  for (auto gradient : block.getOps<AttentionGradOp>())
    if (!hasDelta(gradient) && rewrite->takes(gradient))
      gradient.getYMutable().assign(buildDelta(gradient));
}

std::unique_ptr<Pass> frit::createAttentionDeltas(const Target &target) {
  return std::make_unique<AttentionDeltas>(target);
}
