//===- Lowering.cpp - Lower nn operators to linalg ------------------------===//

#include "dialects/nn/lowering/Lowering.h"
#include "dialects/nn/lowering/Loops.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace frit::nn;

static Value lowerElementwise(ElementwiseOp op, ImplicitLocOpBuilder &b,
                              ValueRange x) {
  auto type = loweredType(op->getResult(0));
  SmallVector<Type> operandStorage = elementTypes(op->getOperands());

  SmallVector<AffineMap> maps;
  for (Value operand : x)
    maps.push_back(
        broadcastMap(shapeOf(operand), type.getShape(), b.getContext()));
  return buildMap(
      b, type, x, maps, [&](ImplicitLocOpBuilder &body, ValueRange elements) {
        ScalarBuilder s(body);
        SmallVector<Scalar> scalars;
        for (auto [element, storage] : llvm::zip(elements, operandStorage))
          scalars.push_back(s.wrap(s.load(element), storage));
        Scalar y = op.buildScalar(s, scalars);
        return s.store(y.value, type.getElementType());
      });
}

Value frit::nn::lowerToLinalg(Operation *op, ImplicitLocOpBuilder &b,
                              ValueRange x) {
  return TypeSwitch<Operation *, Value>(op)
      .Case([&](ElementwiseOp e) { return lowerElementwise(e, b, x); })
      .Case([&](StructuralOp s) { return s.buildLinalg(b, x); })
      .Case([&](ReshapeOp r) {
        return buildReshape(b, x[0], loweredType(r.getY()).getShape());
      })
      .Case([&](ConstantOp c) -> Value {
        auto type = loweredType(c.getY());
        auto value = dyn_cast<DenseElementsAttr>(c.getValue());
        if (value && isSmall(value.getElementType()))
          return arith::ConstantOp::create(
              b, DenseElementsAttr::getFromRawBuffer(type, value.getRawData()));
        if (value && value.getType() != type)
          return arith::ConstantOp::create(
              b, value.bitcast(type.getElementType()));
        return arith::ConstantOp::create(b, cast<TypedAttr>(c.getValue()));
      })
      .DefaultUnreachable("composites are decomposed before fusion");
}

func::FuncOp frit::nn::lowerFusion(FusionOp fusion, StringRef name,
                                   OpBuilder &builder) {
  auto signless = [](TypeRange types) {
    return llvm::map_to_vector(types, signlessType);
  };
  auto type = builder.getFunctionType(signless(fusion.getInputs().getTypes()),
                                      signless(fusion.getResultTypes()));
  auto function = func::FuncOp::create(builder, fusion.getLoc(), name, type);
  function.setPrivate();
  Block *entry = function.addEntryBlock();

  ImplicitLocOpBuilder b(fusion.getLoc(), OpBuilder::atBlockEnd(entry));
  IRMapping map;
  Block &body = fusion.getBody().front();
  map.map(body.getArguments(), entry->getArguments());
  for (Operation &op : body.without_terminator()) {
    b.setLoc(op.getLoc());
    SmallVector<Value> operands;
    for (Value operand : op.getOperands())
      operands.push_back(map.lookup(operand));
    map.map(op.getResult(0), lowerToLinalg(&op, b, operands));
  }
  SmallVector<Value> results;
  for (Value value : body.getTerminator()->getOperands())
    results.push_back(map.lookup(value));
  func::ReturnOp::create(b, results);
  return function;
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

Scalar frit::nn::combine(ScalarBuilder &s, Combiner kind, Scalar x, Scalar y) {
  switch (kind) {
  case Combiner::sum:
    return x + y;
  case Combiner::prod:
    return x * y;
  case Combiner::max:
    return s.max(x, y);
  case Combiner::min:
    return s.min(x, y);
  }
  llvm_unreachable("unknown combiner");
}

TypedAttr frit::nn::identity(Combiner kind, Type body, bool isUnsigned) {
  Builder b(body.getContext());
  bool most = kind == Combiner::min, least = kind == Combiner::max;
  if (auto f = dyn_cast<FloatType>(body)) {
    if (most || least)
      return b.getFloatAttr(f, APFloat::getInf(f.getFloatSemantics(), least));
    return b.getFloatAttr(f, kind == Combiner::prod ? 1.0 : 0.0);
  }
  unsigned bits = body.getIntOrFloatBitWidth();
  if (most)
    return b.getIntegerAttr(body, isUnsigned ? APInt::getMaxValue(bits)
                                             : APInt::getSignedMaxValue(bits));
  if (least)
    return b.getIntegerAttr(body, isUnsigned ? APInt::getZero(bits)
                                             : APInt::getSignedMinValue(bits));
  return b.getIntegerAttr(body, kind == Combiner::prod ? 1 : 0);
}
