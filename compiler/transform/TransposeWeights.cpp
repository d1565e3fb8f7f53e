//===- TransposeWeights.cpp - Put weights in the order of few rows --------===//
//
//   %y = nn.matmul %x, %w {transpose_b}
// ==>
//   %t = nn.transpose %w                     moves to @prepare
//   %y = nn.matmul %x, %t
//
// A product of few rows reads its matrix once. If neighbouring columns are
// neighbours in memory, their vectors need no transposition in registers. That
// takes a second copy of the matrix, so the target chooses matrices that stay
// in its caches: those of a recurrent layer, which every step reads.
//
//===----------------------------------------------------------------------===//

#include "dialects/nn/rewrites/TransposeWeights.h"

#include "compiler/transform/Graph.h"
#include "compiler/transform/Passes.h"
#include "compiler/transform/TargetRewritePass.h"

#include "llvm/ADT/MapVector.h"

namespace frit {
#define GEN_PASS_DEF_TRANSPOSEWEIGHTS
#include "compiler/transform/Passes.h.inc"
} // namespace frit

using namespace mlir;
using namespace frit;
using namespace frit::nn;

namespace {
class TransposeWeights : public TargetRewritePass<
                             frit::impl::TransposeWeightsBase<TransposeWeights>,
                             TransposeWeightsRewrite> {
public:
  using TargetRewritePass::TargetRewritePass;

private:
  void run(Block &block) override {
    llvm::MapVector<Value, SmallVector<MatmulOp>> readers;
    for (auto product : block.getOps<MatmulOp>())
      if (Value b = product.getB(); product.getTransposeB() &&
                                    shapeOf(b).size() == 2 &&
                                    dependsOnConstants(b))
        readers[b].push_back(product);
    for (auto &[weight, products] : readers) {
      Value transposed;
      for (MatmulOp product : products) {
        if (!rewrite->takes(product, products.size()))
          continue;
        if (!transposed) {
          OpBuilder b(product);
          transposed = TransposeOp::create(b, weight.getLoc(), weight, {1, 0});
        }
        product.getBMutable().assign(transposed);
        product.setTransposeB(false);
      }
    }
  }
};
} // namespace

std::unique_ptr<Pass> frit::createTransposeWeights(const Target &target) {
  return std::make_unique<TransposeWeights>(target);
}
