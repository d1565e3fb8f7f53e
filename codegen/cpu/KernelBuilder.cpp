//===- KernelBuilder.cpp - Kernels that are written out -------------------===//

#include "codegen/cpu/KernelBuilder.h"

#include "codegen/cpu/Passes.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace frit;
using namespace frit::cpu;

func::FuncOp cpu::createKernelFunction(nn::FusionOp fusion, StringRef name,
                                       int64_t items, OpBuilder &builder) {
  SmallVector<Type> types;
  for (TypeRange tensors : {TypeRange(fusion->getOperandTypes()),
                            TypeRange(fusion->getResultTypes())})
    for (Type tensor : tensors) {
      auto type = cast<RankedTensorType>(nn::signlessType(tensor));
      types.push_back(MemRefType::get(type.getShape(), type.getElementType()));
    }
  types.append(2, builder.getIndexType());
  auto function = func::FuncOp::create(builder, fusion.getLoc(), name,
                                       builder.getFunctionType(types, {}));
  function.addEntryBlock();
  function->setAttr(kItems, builder.getI64IntegerAttr(items));
  return function;
}

KernelBuilder::KernelBuilder(nn::FusionOp fusion, func::FuncOp function)
    : b(function.getLoc(), OpBuilder::atBlockEnd(&function.getBody().front())),
      function(function), operands(fusion->getNumOperands()),
      begin(function.getArguments().take_back(2)[0]),
      end(function.getArguments().back()) {}

Value KernelBuilder::argumentOf(Value operand) {
  return function.getArgument(cast<BlockArgument>(operand).getArgNumber());
}

Value KernelBuilder::resultArgument(unsigned result) {
  return function.getArgument(operands + result);
}

Value KernelBuilder::mulAdd(Value x, int64_t factor, Value y) {
  return arith::AddIOp::create(b, arith::MulIOp::create(b, x, index(factor)),
                               y);
}

Value KernelBuilder::plus(Value x, int64_t offset) {
  return offset ? arith::AddIOp::create(b, x, index(offset)).getResult() : x;
}

SmallVector<Value> KernelBuilder::loop(Value from, Value to, int64_t step,
                                       ValueRange start, Body body) {
  auto made = scf::ForOp::create(b, from, to, index(step), start);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(made.getBody());
  SmallVector<Value> next =
      body(made.getInductionVar(), made.getRegionIterArgs());
  if (!start.empty())
    scf::YieldOp::create(b, next);
  return SmallVector<Value>(made.getResults());
}

void KernelBuilder::loop(Value from, Value to, int64_t step,
                         llvm::function_ref<void(Value at)> body) {
  loop(from, to, step, {}, [&](Value at, ValueRange) {
    body(at);
    return SmallVector<Value>();
  });
}
