//===- TileWeights.cpp - Put codes in the order of tensor cores -----------===//
//
//   %w = nn.dequantize %codes, %scales {code = "int4", to = bf16}
// ==>
//   %c = nn.transpose nn.reshape %codes        moves to @prepare
//   %s = nn.transpose nn.reshape %scales       moves to @prepare
//   %w = nn.dequantize %c, %s {code = "int4", tiled, to = bf16}
//
// for targets whose kernels read whole tiles (Quantized.h).
//
//===----------------------------------------------------------------------===//

#include "compiler/transform/Passes.h"
#include "compiler/transform/TargetRewritePass.h"
#include "dialects/nn/operators/Quantized.h"

namespace frit {
#define GEN_PASS_DEF_TILEWEIGHTS
#include "compiler/transform/Passes.h.inc"
} // namespace frit

using namespace mlir;
using namespace frit;
using namespace frit::nn;

namespace {
class TileWeights
    : public TargetRewritePass<frit::impl::TileWeightsBase<TileWeights>,
                               TiledWeightsRewrite> {
public:
  using TargetRewritePass::TargetRewritePass;

private:
  void run(Block &block) override {
    for (auto op : llvm::make_early_inc_range(block.getOps<DequantizeOp>())) {
      QuantizedMatrix matrix = describeQuantized(op);
      if (op.getTiled() || !hasWholeTiles(matrix))
        continue;
      NNBuilder b(op.getLoc(), op);
      Value offsets = matrix.offsets ? tileScales(b, matrix.offsets) : Value();
      Value tiled = DequantizeOp::create(
          b, tileCodes(b, matrix.codes), tileScales(b, matrix.scales), offsets,
          op.getCode(), op.getTo(), /*tiled=*/true);
      op.getY().replaceAllUsesWith(tiled);
      op.erase();
    }
  }
};
} // namespace

std::unique_ptr<Pass> frit::createTileWeights(const Target &target) {
  return std::make_unique<TileWeights>(target);
}
