//===- Differentiate.cpp - Gradients as further results -------------------===//
//
//   func.func @main(%x: tensor<3xf32> {nn.differentiate}) -> tensor<f32> {
//     %y = … %x …
//     return %y : tensor<f32>
// ==>
//   func.func @main(%x: tensor<3xf32>) -> (tensor<f32>, tensor<3xf32>) {
//     %y = … %x …
//     %dx = …
//     return %y, %dx : tensor<f32>, tensor<3xf32>
//
// For tests: the gradient of the first result, a single number, with respect to
// each argument that asks for it. Training builds its own (AddOptimizer.cpp).
//
//===----------------------------------------------------------------------===//

#include "compiler/training/Passes.h"
#include "compiler/transform/Graph.h"
#include "dialects/nn/gradients/Gradients.h"

namespace frit {
#define GEN_PASS_DEF_DIFFERENTIATE
#include "compiler/training/Passes.h.inc"
} // namespace frit

using namespace mlir;
using namespace frit;
using namespace frit::nn;

namespace {
class Differentiate : public frit::impl::DifferentiateBase<Differentiate> {
public:
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal() && failed(run(function)))
        return signalPassFailure();
  }

private:
  static LogicalResult run(func::FuncOp function) {
    SmallVector<Value> parameters;
    for (BlockArgument argument : function.getArguments())
      if (function.removeArgAttr(argument.getArgNumber(), "nn.differentiate"))
        parameters.push_back(argument);
    if (parameters.empty())
      return success();
    Operation *terminator = function.getBody().front().getTerminator();
    Value loss = terminator->getOperand(0);
    if (!isFloat(loss) || tensorType(loss).getNumElements() != 1)
      return function.emitError("its first result is not a single number");
    NNBuilder b(function.getLoc(), terminator);
    auto gradients = buildGradients(loss, b.scalarLike(loss, 1), parameters);
    if (failed(gradients))
      return failure();
    SmallVector<Value> results(terminator->getOperands());
    for (auto [parameter, gradient] : llvm::zip(parameters, *gradients)) {
      if (!gradient)
        gradient = createSplat(b, function.getLoc(), tensorType(parameter), 0);
      results.push_back(gradient);
    }
    terminator->setOperands(results);
    function.setType(b.getFunctionType(function.getArgumentTypes(),
                                       TypeRange(ValueRange(results))));
    return success();
  }
};
} // namespace
