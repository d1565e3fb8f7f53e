//===- SideRowDots.cpp - Dot products of rows in kernels of products ------===//
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

#include "compiler/transform/Graph.h"
#include "compiler/transform/fusion/SideKinds.h"
#include "dialects/nn/operators/Statistics.h"

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
  FusionOp product = productOf(throughReshapes(input));
  if (!product ||
      !isBefore(throughReshapes(dots.getInputs()[1 - index]), product) ||
      shapeOf(product.getResult(0)).back() % shapeOf(input).back() != 0)
    return {};
  return product;
}

/// Joins `dots` to the product that computes its input `index`, if a kernel
/// computes both.
static bool joinToProduct(FusionOp dots, unsigned index, SideKernels kernels) {
  FusionOp product = productOfDots(dots, index);
  if (!product)
    return false;
  NNBuilder before(dots.getLoc(), product);
  Value factor = before.reshape(throughReshapes(dots.getInputs()[1 - index]),
                                shapeOf(product.getResult(0)));
  int64_t width = shapeOf(dots.getInputs()[index]).back();
  FusionOp both = buildJoined(
      product, dots, factor, [&](NNBuilder &b, Value result, ValueRange more) {
        Value sums = RowDotsOp::create(b, result, more.front(), width).getY();
        return std::pair(result, sums);
      });
  if (!takeOrErase(both, kernels))
    return false;
  NNBuilder b(dots.getLoc(), dots);
  Value sums = b.reshape(both.getResult(1), shapeOf(dots.getResult(0)));
  dots.getResult(0).replaceAllUsesWith(sums);
  dots.erase();
  product.getResult(0).replaceAllUsesWith(both.getResult(0));
  product.erase();
  return true;
}

void frit::joinRowDots(Block &block, SideKernels kernels) {
  for (FusionOp fusion : llvm::to_vector(block.getOps<FusionOp>()))
    if (isDotProduct(fusion) && !joinToProduct(fusion, 0, kernels))
      joinToProduct(fusion, 1, kernels);
}
