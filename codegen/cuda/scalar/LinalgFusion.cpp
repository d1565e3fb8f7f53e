//===- LinalgFusion.cpp - A fusion as linalg operators --------------------===//

#include "codegen/cuda/scalar/LinalgFusion.h"

#include "dialects/nn/lowering/Lowering.h"
#include "dialects/nn/operators/Custom.h"
#include "dialects/plan/Plan.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

LinalgFusion::LinalgFusion(nn::FusionOp fusion)
    : mlirContext(fusion.getContext()), sets(plan::batchOf(fusion)) {
  OpBuilder builder(fusion.getContext());
  module = ModuleOp::create(fusion.getLoc());
  builder.setInsertionPointToEnd(module->getBody());
  Block &body = fusion.getBody().front();
  SmallVector<Type> types;
  for (Value argument : body.getArguments()) {
    types.push_back(nn::signlessType(argument.getType()));
    auto tensor = cast<RankedTensorType>(types.back());
    inputs.push_back(tensor.getElementType());
    bytes.push_back(
        ceilDiv(tensor.getNumElements() * tensor.getElementTypeBitWidth(), 8));
  }
  if (auto list =
          fusion->getAttrOfType<DenseI64ArrayAttr>("plan.constant_inputs"))
    llvm::append_range(constants, list.asArrayRef());
  auto function = func::FuncOp::create(builder, fusion.getLoc(), "fusion",
                                       builder.getFunctionType(types, {}));
  Block *entry = function.addEntryBlock();
  ImplicitLocOpBuilder b(fusion.getLoc(), OpBuilder::atBlockEnd(entry));
  values.map(body.getArguments(), entry->getArguments());
  for (Operation &op : body.without_terminator()) {
    b.setLoc(op.getLoc());
    SmallVector<Value> operands;
    for (Value operand : op.getOperands())
      operands.push_back(values.lookup(operand));
    if (!isa<nn::CompositeOp, nn::CustomOp>(op)) {
      values.map(op.getResult(0), nn::lowerToLinalg(&op, b, operands));
      continue;
    }
    for (Value result : op.getResults())
      values.map(result, tensor::EmptyOp::create(
                             b, nn::shapeOf(result),
                             nn::signlessType(
                                 nn::tensorType(result).getElementType())));
  }
  for (Value value : body.getTerminator()->getOperands())
    results.push_back(values.lookup(value));
}
