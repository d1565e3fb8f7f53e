//===- SideKinds.cpp - What kinds of side outputs share -------------------===//

#include "compiler/transform/fusion/SideKinds.h"
#include "compiler/transform/Graph.h"

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
