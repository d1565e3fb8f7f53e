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
