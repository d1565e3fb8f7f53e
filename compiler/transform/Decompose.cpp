//===- Decompose.cpp - Decompose composites -------------------------------===//
//
//   %y = nn.reduce_mean %x {axes = [1]} : (tensor<4x8xf32>) -> tensor<4x1xf32>
// ==>
//   %s = nn.reduce %x {kind = #nn.combiner<sum>, axes = [1]} : ...
//   %n = nn.constant dense<1.25e-01> : tensor<f32>
//   %y = nn.mul %s, %n : ...
//
// Composites that the target implements directly are kept. A decomposition may
// contain other composites, so this repeats until none is left.
//
//===----------------------------------------------------------------------===//

#include "compiler/transform/Passes.h"

namespace frit {
#define GEN_PASS_DEF_DECOMPOSE
#include "compiler/transform/Passes.h.inc"
} // namespace frit

using namespace mlir;
using namespace frit;
using namespace frit::nn;

namespace {
class Decompose : public frit::impl::DecomposeBase<Decompose> {
public:
  explicit Decompose(const Target &target) : target(target) {}

  void runOnOperation() override {
    auto decomposed = [&](CompositeOp op) { return !target.keepsWhole(op); };
    SmallVector<CompositeOp> work;
    do {
      work.clear();
      getOperation().walk([&](CompositeOp op) {
        if (decomposed(op))
          work.push_back(op);
      });
      for (CompositeOp op : work) {
        NNBuilder builder(op.getLoc(), op.getOperation());
        op->replaceAllUsesWith(op.decompose(builder));
        op->erase();
      }
    } while (!work.empty());
  }

private:
  const Target &target;
};
} // namespace

std::unique_ptr<Pass> frit::createDecompose(const Target &target) {
  return std::make_unique<Decompose>(target);
}
