//===- QuantizedWeights.cpp - Operators on quantized weights --------------===//
//
//   nn.cast(nn.dequantize %c, %s : f32) : f16
// ==> nn.dequantize %c, %s : f16
//
//   nn.concat(nn.dequantize %a, %s; nn.dequantize %b, %t) along rows
// ==> nn.dequantize nn.concat(%a, %b), nn.concat(%s, %t)
//
//   nn.gather(nn.dequantize %c, %s; %rows)
// ==> nn.dequantize nn.gather(%c, %rows), nn.gather(%s, %rows)
//
//===----------------------------------------------------------------------===//

#include "compiler/transform/Graph.h"
#include "compiler/transform/simplify/SimplifyMovement.h"
#include "dialects/nn/operators/Quantized.h"

using namespace mlir;
using namespace frit;
using namespace frit::nn;

namespace {
struct CastWeight : OpRewritePattern<CastOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(CastOp op,
                                PatternRewriter &rewriter) const override {
    auto codes = op.getX().getDefiningOp<DequantizeOp>();
    // A second rounding is kept, unless it is the compiler's.
    bool isWide = codes && (codes.getTo().isF32() || op.getStorage());
    if (!isWide || !isa<Float16Type, BFloat16Type, Float32Type>(op.getTo()))
      return failure();
    rewriter.replaceOpWithNewOp<DequantizeOp>(
        op, codes.getCodes(), codes.getScales(), codes.getOffsets(),
        codes.getCode(), op.getTo(), codes.getTiled());
    return success();
  }
};

struct JoinWeights : OpRewritePattern<ConcatOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ConcatOp op,
                                PatternRewriter &rewriter) const override {
    auto first = op.getXs().front().getDefiningOp<DequantizeOp>();
    if (!first || op.getXs().size() < 2 || axisOf(op.getY(), op.getAxis()) != 0)
      return failure();
    SmallVector<Value> codes, scales, offsets;
    int64_t block = describeQuantized(first).block;
    for (Value x : op.getXs()) {
      auto part = x.getDefiningOp<DequantizeOp>();
      if (!part || part.getCode() != first.getCode() ||
          part.getTiled() != first.getTiled() ||
          describeQuantized(part).block != block ||
          !part.getOffsets() != !first.getOffsets() ||
          tensorType(part.getScales()).getElementType() !=
              tensorType(first.getScales()).getElementType())
        return failure();
      codes.push_back(part.getCodes());
      scales.push_back(part.getScales());
      if (part.getOffsets())
        offsets.push_back(part.getOffsets());
    }
    auto join = [&](ArrayRef<Value> parts) -> Value {
      if (parts.empty())
        return {};
      return ConcatOp::create(rewriter, op.getLoc(), parts, 0);
    };
    rewriter.replaceOpWithNewOp<DequantizeOp>(op, join(codes), join(scales),
                                              join(offsets), first.getCode(),
                                              first.getTo(), first.getTiled());
    return success();
  }
};

struct GatherWeight : OpRewritePattern<GatherOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(GatherOp op,
                                PatternRewriter &rewriter) const override {
    auto weight = op.getX().getDefiningOp<DequantizeOp>();
    if (!weight || weight.getTiled() || axisOf(op.getX(), op.getAxis()) != 0 ||
        !resultType(op).hasStaticShape())
      return failure();
    NNBuilder b(op.getLoc(), rewriter);
    int64_t count = tensorType(op.getIndices()).getNumElements();
    Value rows = b.reshape(op.getIndices(), {count});
    auto take = [&](Value of) -> Value {
      return of ? GatherOp::create(b, of, rows, 0).getY() : Value();
    };
    Value y = DequantizeOp::create(b, take(weight.getCodes()),
                                   take(weight.getScales()),
                                   take(weight.getOffsets()), weight.getCode(),
                                   weight.getTo(), /*tiled=*/false);
    rewriter.replaceOp(op, b.reshape(y, shapeOf(op.getY())));
    return success();
  }
};
} // namespace

void frit::populateQuantizedWeights(RewritePatternSet &patterns) {
  patterns.add<CastWeight, JoinWeights, GatherWeight>(patterns.getContext());
}
