//===- LowerPass.cpp - lower-nn: whole functions to linalg ----------------===//
//
// For tests and debugging. Decomposes composites, inlines fusions, and lowers
// every operator as kernels do.
//
//   func.func @f(%x: tensor<4xui8>) -> tensor<4xui8> {
//     %y = nn.fusion(%x) : ... { ... nn.softmax ... }
// ==>
//   func.func @f(%x: tensor<4xi8>) -> tensor<4xi8> { linalg.generic ... }
//
//===----------------------------------------------------------------------===//

#include "dialects/nn/lowering/Lowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;
using namespace frit::nn;

static void decomposeAll(Operation *root) {
  SmallVector<CompositeOp> composites;
  do {
    composites.clear();
    root->walk([&](CompositeOp op) { composites.push_back(op); });
    for (CompositeOp op : composites) {
      NNBuilder builder(op.getLoc(), op.getOperation());
      op->replaceAllUsesWith(op.decompose(builder));
      op->erase();
    }
  } while (!composites.empty());
}

/// Lowers the operations of `block` at the builder's insertion point. Returns
/// the values that the terminator yields.
static FailureOr<SmallVector<Value>>
lowerBlock(Block &block, ImplicitLocOpBuilder &b, IRMapping &map) {
  for (Operation &op : block) {
    b.setLoc(op.getLoc());
    SmallVector<Value> operands;
    for (Value operand : op.getOperands())
      operands.push_back(map.lookup(operand));
    if (isa<YieldOp>(op))
      return operands;
    if (auto fusion = dyn_cast<FusionOp>(op)) {
      Block &body = fusion.getBody().front();
      map.map(body.getArguments(), operands);
      auto results = lowerBlock(body, b, map);
      if (failed(results))
        return failure();
      map.map(fusion.getResults(), *results);
    } else if (auto update = dyn_cast<UpdateOp>(op);
               update && update.getOffset()) {
      map.map(op.getResult(0), lowerUpdate(update, b, operands));
    } else if (isa<NNDialect>(op.getDialect())) {
      auto isStatic = [](Type type) {
        return cast<RankedTensorType>(type).hasStaticShape();
      };
      if (!llvm::all_of(op.getOperandTypes(), isStatic) ||
          !llvm::all_of(op.getResultTypes(), isStatic))
        return op.emitOpError("has a dynamic shape, which loops cannot have");
      map.map(op.getResult(0), lowerToLinalg(&op, b, operands));
    } else {
      b.clone(op, map);
    }
  }
  return SmallVector<Value>();
}

static LogicalResult lowerFunction(func::FuncOp function) {
  auto signless = [](TypeRange types) {
    return llvm::map_to_vector(types, signlessType);
  };
  if (!llvm::hasSingleElement(function.getBody()))
    return function.emitOpError("has control flow, which nn does not");
  decomposeAll(function);
  ImplicitLocOpBuilder b(function.getLoc(), function.getOperation());
  auto lowered = cast<func::FuncOp>(b.cloneWithoutRegions(*function));
  lowered.setType(b.getFunctionType(signless(function.getArgumentTypes()),
                                    signless(function.getResultTypes())));
  IRMapping map;
  Block *entry = lowered.addEntryBlock();
  map.map(function.getArguments(), entry->getArguments());
  b.setInsertionPointToEnd(entry);
  if (failed(lowerBlock(function.getBody().front(), b, map)))
    return failure();
  function.erase();
  return success();
}

namespace {
class LowerNN : public PassWrapper<LowerNN, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LowerNN)

  StringRef getArgument() const override { return "lower-nn"; }
  StringRef getDescription() const override {
    return "Lower every nn operator to linalg on tensors";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, linalg::LinalgDialect,
                    math::MathDialect, tensor::TensorDialect>();
  }
  void runOnOperation() override {
    for (auto function :
         llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
      if (!function.isExternal() && failed(lowerFunction(function)))
        return signalPassFailure();
  }
};
} // namespace

void frit::nn::registerLowerPass() { PassRegistration<LowerNN>(); }
