//===- ConvBatchNorms.cpp - Batch norms of pointwise convolutions ---------===//
//
//   %z = nn.conv %x, %w {channels_last}           %x: tensor<256x56x56x64xbf16>
//   %m = nn.batch_mean %z                         %w: tensor<256x1x1x64xbf16>
//   %v = nn.batch_variance %z, %m
//   %y = nn.batch_norm %z, %scale, %bias, %m, %v {batch_statistics}
// ==>
//   %y = nn.conv_batch_norm %x, %w, %scale, %bias {parts = 128}
//
// The gradient of the pair reads the convolution's operand instead of its
// result, which is wider, and does not store the result's gradient. The pass
// Decompose splits the forward operator into a convolution and statistics
// again, which the running statistics read too.
//
//===----------------------------------------------------------------------===//

#include "dialects/nn/rewrites/ConvBatchNorms.h"
#include "compiler/training/Passes.h"
#include "compiler/transform/Graph.h"
#include "compiler/transform/TargetRewritePass.h"
#include "dialects/nn/Casts.h"
#include "dialects/nn/contraction/Contraction.h"
#include "dialects/nn/operators/Statistics.h"

namespace frit {
#define GEN_PASS_DEF_CONVBATCHNORMS
#include "compiler/training/Passes.h.inc"
} // namespace frit

using namespace mlir;
using namespace frit;
using namespace frit::nn;

namespace {
class ConvBatchNorms
    : public TargetRewritePass<frit::impl::ConvBatchNormsBase<ConvBatchNorms>,
                               ConvBatchNormsRewrite> {
public:
  using TargetRewritePass::TargetRewritePass;

private:
  void run(Block &block) override {
    for (auto norm : llvm::make_early_inc_range(block.getOps<BatchNormOp>()))
      form(norm);
    eraseDead(block);
  }

  void form(BatchNormOp norm);
};
} // namespace

/// Returns the pointwise convolution that `norm` normalizes by the statistics
/// of its own result, if nothing but statistics reads that too; else null.
static ConvOp normalizedConv(BatchNormOp norm) {
  auto conv = norm.getX().getDefiningOp<ConvOp>();
  if (!conv || !norm.getBatchStatistics() || conv.getBias() || conv.getTf32())
    return {};
  auto info = describeConv(conv);
  if (!info || !pointwiseGemm(*info))
    return {};
  auto mean = beforeCasts(norm.getMean()).getDefiningOp<BatchMeanOp>();
  auto variance =
      beforeCasts(norm.getVariance()).getDefiningOp<BatchVarianceOp>();
  if (!mean || !variance || mean.getX() != conv.getY() ||
      variance.getX() != conv.getY() || variance.getMean() != mean.getY())
    return {};
  bool fits = llvm::all_of(conv->getUsers(), [&](Operation *user) {
    return user == norm || isa<BatchMeanOp, BatchVarianceOp>(user);
  });
  return fits ? conv : ConvOp();
}

void ConvBatchNorms::form(BatchNormOp norm) {
  ConvOp conv = normalizedConv(norm);
  int64_t parts = conv ? rewrite->parts(conv) : 0;
  if (!parts)
    return;
  OpBuilder b(norm);
  Value y = ConvBatchNormOp::create(b, fuseLocations({conv, norm}), conv.getX(),
                                    conv.getW(), norm.getScale(),
                                    norm.getBias(), norm.getEpsilon(), parts);
  norm.replaceAllUsesWith(y);
  norm.erase();
}

std::unique_ptr<Pass> frit::createConvBatchNorms(const Target &target) {
  return std::make_unique<ConvBatchNorms>(target);
}
