//===- PatchPatterns.cpp - Convolutions over patches are products ---------===//
//
//   %y = nn.conv %x, %w, %b {strides = [16, 16]}     1×3×224×224, 768×3×16×16
// ==>
//   %p = nn.transpose nn.reshape(%x)                 1×14×14×3×16×16
//   %m = nn.matmul %p as 1×14×14×768, %w as 768×768 {transpose_b}
//   %y = nn.transpose nn.add(%m, %b)                 channels first again
//
// Applies if windows do not overlap and the input has few channels, as images
// do. A convolution would read such pixels in pieces too small for its kernels,
// so one transpose pays.
//
//===----------------------------------------------------------------------===//

#include "compiler/transform/Graph.h"
#include "compiler/transform/recognize/ComposePatterns.h"

using namespace mlir;
using namespace frit;
using namespace frit::nn;

/// With more channels than this, a convolution reads whole 16-byte units.
static constexpr int64_t kFewChannels = 7;

namespace {
struct PatchesToMatmul : OpRewritePattern<ConvOp> {
  using OpRewritePattern::OpRewritePattern;

  static bool isOverPatches(ConvOp op) {
    ArrayRef<int64_t> x = shapeOf(op.getX()), w = shapeOf(op.getW());
    if (!resultType(op).hasStaticShape() ||
        !tensorType(op.getX()).hasStaticShape() || op.getChannelsLast() ||
        op.getGroup() != 1 || x[1] > kFewChannels)
      return false;
    bool isWide = false;
    for (size_t d = 2; d < x.size(); ++d) {
      isWide |= w[d] > 1;
      if (op.getStrides()[d - 2] != w[d] || x[d] % w[d] != 0)
        return false;
    }
    return isWide && !llvm::is_contained(x, 0) &&
           llvm::all_of(op.getPads(), [](int64_t pad) { return pad == 0; }) &&
           llvm::all_of(op.getDilations(), [](int64_t d) { return d == 1; });
  }

  LogicalResult matchAndRewrite(ConvOp op,
                                PatternRewriter &rewriter) const override {
    if (!isOverPatches(op))
      return rewriter.notifyMatchFailure(op, "windows overlap, or are deep");
    ArrayRef<int64_t> x = shapeOf(op.getX()), w = shapeOf(op.getW());
    int64_t spatial = x.size() - 2, depth = 1;
    for (int64_t size : w.drop_front())
      depth *= size;
    // n×c×(places×window)…  ->  n×places…×c×window…
    SmallVector<int64_t> apart = {x[0], x[1]}, perm = {0}, rows = {x[0]};
    for (int64_t d = 0; d < spatial; ++d) {
      apart.append({x[d + 2] / w[d + 2], w[d + 2]});
      perm.push_back(2 + 2 * d);
      rows.push_back(x[d + 2] / w[d + 2]);
    }
    perm.push_back(1);
    for (int64_t d = 0; d < spatial; ++d)
      perm.push_back(3 + 2 * d);
    rows.push_back(depth);

    NNBuilder b(op.getLoc(), rewriter);
    Value patches = TransposeOp::create(b, b.reshape(op.getX(), apart), perm);
    Value filters = b.reshape(op.getW(), {w[0], depth});
    Value y = MatmulOp::create(b, b.reshape(patches, rows), filters,
                               /*transpose_a=*/false, /*transpose_b=*/true,
                               op.getTf32());
    if (op.getBias())
      y = b.add(y, op.getBias());
    SmallVector<int64_t> toFirst = {0, spatial + 1};
    for (int64_t d = 1; d <= spatial; ++d)
      toFirst.push_back(d);
    rewriter.replaceOpWithNewOp<TransposeOp>(op, y, toFirst);
    return success();
  }
};
} // namespace

void frit::populatePatches(RewritePatternSet &patterns) {
  patterns.add<PatchesToMatmul>(patterns.getContext());
}
