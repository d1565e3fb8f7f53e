//===- UnrollScans.cpp - Copy the block of a scan for each row ------------===//
//
//   %ys, %h = nn.scan %x to %two from %h0 : tensor<2x1x4xf32>, … {
//   ^bb0(%t: tensor<i64>, %row: tensor<1x4xf32>, %s: tensor<1x4xf32>):
//     %next = nn.add %row, %s
//     nn.yield %next
//   }
// ==>
//   %h1 = nn.add %x[0], %h0
//   %h = nn.add %x[1], %h1
//   %ys = nn.concat %h1, %h
//
// All further passes see the steps. They share kernels, and those whose results
// nothing reads go.
//
//===----------------------------------------------------------------------===//

#include "compiler/transform/Passes.h"

namespace frit {
#define GEN_PASS_DEF_UNROLLSCANS
#include "compiler/transform/Passes.h.inc"
} // namespace frit

using namespace mlir;
using namespace frit;

namespace {
class UnrollScans : public frit::impl::UnrollScansBase<UnrollScans> {
public:
  void runOnOperation() override {
    SmallVector<nn::ScanOp> scans;
    getOperation().walk([&](nn::ScanOp scan) { scans.push_back(scan); });
    for (nn::ScanOp scan : scans) {
      nn::NNBuilder builder(scan.getLoc(), scan.getOperation());
      if (!scan->use_empty())
        scan->replaceAllUsesWith(scan.decompose(builder));
      scan->erase();
    }
  }
};
} // namespace
