//===- SideOutputs.cpp - Kernels store what later ones would read again ---===//
//
//   %y = nn.fusion(%a, %b) { nn.matmul … }
//   %s = nn.fusion(%y) { … }                 a statistic, or an activation
// ==>
//   %y, %s = nn.fusion(%a, %b) { nn.matmul … }
//
// Gradients of biases, norms and attention reduce tensors that a kernel has
// just computed, and the backward pass reads what an activation was applied to.
// The kernel computes these as well, instead of another one that reads its
// result again.
//
//===----------------------------------------------------------------------===//

#include "compiler/transform/fusion/SideOutputs.h"
#include "compiler/transform/Graph.h"
#include "compiler/transform/Passes.h"
#include "compiler/transform/TargetRewritePass.h"
#include "compiler/transform/fusion/SideKinds.h"

namespace frit {
#define GEN_PASS_DEF_SIDEOUTPUTS
#include "compiler/transform/Passes.h.inc"
} // namespace frit

using namespace mlir;
using namespace frit;
using namespace frit::nn;

bool frit::takeOrErase(FusionOp joined, SideKernels kernels) {
  if (llvm::any_of(kernels, [&](const SideOutputsRewrite *kernel) {
        return kernel->takes(joined);
      }))
    return true;
  joined.erase();
  return false;
}

FusionOp frit::productOf(Value value) {
  auto product = value.getDefiningOp<FusionOp>();
  return product && product.getNumResults() == 1 &&
                 isa<MatmulOp>(product.getAnchor())
             ? product
             : FusionOp();
}

FusionOp frit::buildJoined(FusionOp producer, FusionOp reader, ValueRange more,
                           BuildResults build) {
  NNBuilder b(reader.getLoc(), producer);
  SmallVector<Value> inputs(producer.getInputs());
  llvm::append_range(inputs, more);
  // The results' types follow from the body.
  auto clone = cast<FusionOp>(b.clone(*producer));
  Block &body = clone.getBody().front();
  SmallVector<Value> arguments;
  for (Value input : more)
    arguments.push_back(body.addArgument(input.getType(), input.getLoc()));
  Operation *yield = body.getTerminator();
  b.setInsertionPoint(yield);
  auto [first, second] = build(b, yield->getOperand(0), arguments);
  yield->setOperands({first, second});
  b.setInsertionPoint(producer);
  b.setLoc(fuseLocations({producer, reader}));
  auto joined = FusionOp::create(
      b, TypeRange{first.getType(), second.getType()}, inputs, Schedule());
  joined.getBody().takeBody(clone.getBody());
  clone.erase();
  return joined;
}

namespace {
class SideOutputs
    : public TargetRewritePass<frit::impl::SideOutputsBase<SideOutputs>,
                               SideOutputsRewrite> {
public:
  SideOutputs(const Target &target, SideOutputsOptions options)
      : TargetRewritePass(target) {
    activations = options.activations;
  }

private:
  void run(Block &block) override {
    auto kernels = rewrites.list<SideOutputsRewrite>();
    // Sums that a kernel of rows computes are not left for products.
    joinColumnReductions(block, kernels);
    eraseDead(block);
    joinColumnSums(block, kernels);
    eraseDead(block);
    joinRowDots(block, kernels);
    eraseDead(block);
    if (activations)
      joinActivations(block, kernels);
  }
};
} // namespace

std::unique_ptr<Pass> frit::createSideOutputs(const Target &target,
                                              SideOutputsOptions options) {
  return std::make_unique<SideOutputs>(target, options);
}
