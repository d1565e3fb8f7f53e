//===- SideActivations.cpp - Activations in kernels of products -----------===//
//
//   %s = nn.fusion(%a, %b, %bias) { nn.matmul … nn.add … }
//   %g = nn.fusion(%s) { nn.gelu … }
//   … the backward pass reads %s
// ==>
//   %g, %s = nn.fusion(%a, %b, %bias) { nn.matmul … nn.add … nn.gelu … }
//
// The gradient of an activation reads the activation's operand, so the
// product's kernel has to store it, and a separate kernel for the activation
// would read it again. If nothing but the activation reads the operand, the
// fusion pass has already put both into one kernel.
//
// If all that the backward pass reads is GELU's slope there, the kernel stores
// that in place of the operand:
//
//   %d = nn.fusion(%dy, %w, %s) { %m = nn.matmul …  nn.gelu_grad %s, %m }
// ==>
//   %g, %t = nn.fusion(%a, %b, %bias) { … nn.gelu …  nn.gelu_slope … }
//   %d = nn.fusion(%dy, %w, %t) { %m = nn.matmul …  nn.mul %m, %t }
//
// GELU and its slope have most of their work in common, and a multiplication
// takes a tenth of the instructions of the gradient.
//
//===----------------------------------------------------------------------===//

#include "compiler/transform/fusion/SideKinds.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace frit;
using namespace frit::nn;

/// Returns the fusion of a product to whose whole result `activation` applies
/// one elementwise operator that keeps its type; else null.
static FusionOp productOfActivation(FusionOp activation) {
  Block &body = activation.getBody().front();
  Operation *op = &body.front();
  if (activation.getInputs().size() != 1 || activation.getNumResults() != 1 ||
      !isa<ElementwiseOp>(op) || op->getNumOperands() != 1 ||
      op->getNextNode() != body.getTerminator())
    return {};
  Value sum = activation.getInputs().front();
  return sum.getType() == activation.getResult(0).getType() ? productOf(sum)
                                                            : FusionOp();
}

/// Returns the gradients of `activation`, a GELU, that read `sum`, if other
/// kernels read it for nothing else; else none.
static SmallVector<GeluGradOp> gradientsOf(FusionOp activation, Value sum) {
  auto gelu = dyn_cast<GeluOp>(activation.getBody().front().front());
  SmallVector<GeluGradOp> gradients;
  for (OpOperand &use : sum.getUses()) {
    auto reader = dyn_cast<FusionOp>(use.getOwner());
    if (reader == activation)
      continue;
    if (!gelu || !reader)
      return {};
    Value read = reader.getBody().getArgument(use.getOperandNumber());
    for (Operation *op : read.getUsers()) {
      auto gradient = dyn_cast<GeluGradOp>(op);
      if (!gradient || gradient.getX() != read || gradient.getDy() == read ||
          gradient.getApproximate() != gelu.getApproximate())
        return {};
      gradients.push_back(gradient);
    }
  }
  return gradients;
}

/// Builds the fusion of both, which also yields the activation's operand or,
/// with `yieldsSlope`, GELU's slope there.
static FusionOp buildActivated(FusionOp product, FusionOp activation,
                               bool yieldsSlope) {
  Block &second = activation.getBody().front();
  auto apply = [&](NNBuilder &b, Value sum, ValueRange) {
    IRMapping map;
    map.map(second.getArgument(0), sum);
    Operation *applied = b.clone(second.front(), map);
    Value result = applied->getResult(0), beside = sum;
    b.setLoc(applied->getLoc());
    if (yieldsSlope)
      beside = GeluSlopeOp::create(b, sum,
                                   cast<GeluOp>(applied).getApproximateAttr());
    return std::pair(result, beside);
  };
  return buildJoined(product, activation, {}, apply);
}

/// Multiplies by the slope, which the fusion reads now, instead of computing
/// it.
static void readSlope(GeluGradOp gradient) {
  OpBuilder b(gradient);
  Value product =
      MulOp::create(b, gradient.getLoc(), gradient.getDy(), gradient.getX());
  gradient.replaceAllUsesWith(product);
  gradient.erase();
}

static void joinActivation(FusionOp activation, SideKernels kernels) {
  FusionOp product = productOfActivation(activation);
  if (!product)
    return;
  SmallVector<GeluGradOp> gradients =
      gradientsOf(activation, product.getResult(0));
  FusionOp both = buildActivated(product, activation, !gradients.empty());
  if (!takeOrErase(both, kernels))
    return;
  activation.getResult(0).replaceAllUsesWith(both.getResult(0));
  activation.erase();
  product.getResult(0).replaceAllUsesWith(both.getResult(1));
  product.erase();
  llvm::for_each(gradients, readSlope);
}

void frit::joinActivations(Block &block, SideKernels kernels) {
  for (FusionOp fusion : llvm::to_vector(block.getOps<FusionOp>()))
    joinActivation(fusion, kernels);
}
