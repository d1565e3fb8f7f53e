//===- JoinRowDots.cpp - Fuse dot products of rows into products ----------===//
//
//   %dy = nn.fusion(%a, %b) { nn.matmul … }           16384 × 1024
//   %h = nn.reshape %dy                               16384 × 16 × 64
//   %d = nn.fusion(%y, %h) { nn.mul …, nn.reduce {axes = [2]} }
// ==>
//   %r = nn.reshape %y                                16384 × 1024
//   %dy, %d = nn.fusion(%a, %b, %r) { nn.matmul …, nn.row_dots {width = 64} }
//
// The gradient of attention needs the sums of y · dy of each query and head
// (AttentionDeltas.cpp). A separate kernel for them reads both tensors. The
// kernel of the product that computes dy has to read only y.
//
//===----------------------------------------------------------------------===//

#include "compiler/transform/fusion/JoinRowDots.h"
#include "compiler/transform/Graph.h"
#include "compiler/transform/Passes.h"
#include "compiler/transform/TargetRewritePass.h"
#include "dialects/nn/operators/Statistics.h"

namespace frit {
#define GEN_PASS_DEF_JOINROWDOTS
#include "compiler/transform/Passes.h.inc"
} // namespace frit

using namespace mlir;
using namespace frit;
using namespace frit::nn;

/// Returns whether a fusion only multiplies its two inputs and sums the result
/// along the last dimension, in the type of nn.row_dots.
static bool isDotProduct(FusionOp fusion) {
  Block &body = fusion.getBody().front();
  if (fusion.getNumResults() != 1 || body.getNumArguments() != 2)
    return false;
  auto reduce = body.getTerminator()->getOperand(0).getDefiningOp<ReduceOp>();
  if (!reduce || reduce.getKind() != Combiner::sum)
    return false;
  auto type = tensorType(reduce.getX());
  auto product = reduce.getX().getDefiningOp<MulOp>();
  if (!product || reduce.getAxes() != ArrayRef<int64_t>{type.getRank() - 1})
    return false;
  auto uncast = [](Value value) {
    auto cast = value.getDefiningOp<CastOp>();
    return cast ? cast.getX() : value;
  };
  Value a = uncast(product.getA()), b = uncast(product.getB());
  return isa<BlockArgument>(a) && isa<BlockArgument>(b) && a != b &&
         a.getType() == b.getType() && shapeOf(a) == type.getShape() &&
         workType(tensorType(a).getElementType()) == type.getElementType();
}

/// Returns the fusion of a product whose result's rows, in whole parts, are
/// input `index` of `dots`, if it may read the other input; else null.
static FusionOp productOfDots(FusionOp dots, unsigned index) {
  Value input = dots.getInputs()[index];
  auto product = throughReshapes(input).getDefiningOp<FusionOp>();
  if (!product || product.getNumResults() != 1 ||
      !isa<MatmulOp>(product.getAnchor()) ||
      !isBefore(throughReshapes(dots.getInputs()[1 - index]), product) ||
      shapeOf(product.getResult(0)).back() % shapeOf(input).back() != 0)
    return {};
  return product;
}

/// Builds the fusion of `product` that also computes dot products of parts of
/// `width` elements of its result and of `factor`.
static FusionOp buildBoth(FusionOp product, FusionOp dots, Value factor,
                          int64_t width) {
  NNBuilder b(dots.getLoc(), product);
  auto type = tensorType(product.getResult(0));
  SmallVector<Value> inputs(product.getInputs());
  inputs.push_back(b.reshape(throughReshapes(factor), type.getShape()));
  auto clone = cast<FusionOp>(b.clone(*product));
  Block &body = clone.getBody().front();
  Operation *yield = body.getTerminator();
  b.setInsertionPoint(yield);
  Value result = yield->getOperand(0);
  Value sums = RowDotsOp::create(b, result,
                                 body.addArgument(type, factor.getLoc()), width)
                   .getY();
  yield->setOperands({result, sums});
  b.setInsertionPoint(product);
  auto both =
      FusionOp::create(b, fuseLocations({product, dots}),
                       TypeRange{type, sums.getType()}, inputs, Schedule());
  both.getBody().takeBody(clone.getBody());
  clone.erase();
  return both;
}

namespace {
class JoinRowDots
    : public TargetRewritePass<frit::impl::JoinRowDotsBase<JoinRowDots>,
                               JoinRowDotsRewrite> {
public:
  using TargetRewritePass::TargetRewritePass;

private:
  void run(Block &block) override {
    for (FusionOp fusion : llvm::to_vector(block.getOps<FusionOp>()))
      if (isDotProduct(fusion) && !join(fusion, 0))
        join(fusion, 1);
    eraseDead(block);
  }

  /// Joins `dots` to the product that computes its input `index`, if one of the
  /// target's kernels computes both.
  bool join(FusionOp dots, unsigned index);
};
} // namespace

bool JoinRowDots::join(FusionOp dots, unsigned index) {
  FusionOp product = productOfDots(dots, index);
  if (!product)
    return false;
  FusionOp both = buildBoth(product, dots, dots.getInputs()[1 - index],
                            shapeOf(dots.getInputs()[index]).back());
  if (!rewrite->takes(both)) {
    both.erase();
    return false;
  }
  NNBuilder b(dots.getLoc(), dots);
  Value sums = b.reshape(both.getResult(1), shapeOf(dots.getResult(0)));
  dots.getResult(0).replaceAllUsesWith(sums);
  dots.erase();
  product.getResult(0).replaceAllUsesWith(both.getResult(0));
  product.erase();
  return true;
}

std::unique_ptr<Pass> frit::createJoinRowDots(const Target &target) {
  return std::make_unique<JoinRowDots>(target);
}
