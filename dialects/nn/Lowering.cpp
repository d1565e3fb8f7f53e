//===- Lowering.cpp - nn operators as linalg on tensors ----------------------===//

#include "dialects/nn/Lowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace frit::nn;

/// Maps the result's indices to those of an operand that broadcasts to it.
static AffineMap broadcastMap(ArrayRef<int64_t> operand,
                              ArrayRef<int64_t> result, MLIRContext *context) {
  SmallVector<AffineExpr> indices;
  size_t offset = result.size() - operand.size();
  for (auto [i, size] : llvm::enumerate(operand))
    indices.push_back(size == 1 && result[offset + i] != 1
                          ? getAffineConstantExpr(0, context)
                          : getAffineDimExpr(offset + i, context));
  return AffineMap::get(result.size(), 0, indices, context);
}

static Value lowerElementwise(ElementwiseOp op, ImplicitLocOpBuilder &b,
                              ValueRange x) {
  Type storage = tensorType(op->getResult(0)).getElementType();
  auto type = cast<RankedTensorType>(signlessType(op->getResult(0).getType()));
  SmallVector<Type> operandStorage = elementTypes(op->getOperands());

  SmallVector<AffineMap> maps;
  for (Value operand : x)
    maps.push_back(
        broadcastMap(shapeOf(operand), type.getShape(), b.getContext()));
  maps.push_back(b.getMultiDimIdentityMap(type.getRank()));
  SmallVector<utils::IteratorType> iterators(type.getRank(),
                                             utils::IteratorType::parallel);
  Value empty =
      tensor::EmptyOp::create(b, type.getShape(), type.getElementType());
  auto generic = linalg::GenericOp::create(
      b, TypeRange{type}, x, ValueRange{empty}, maps, iterators,
      [&](OpBuilder &, Location loc, ValueRange elements) {
        ImplicitLocOpBuilder body(loc, b);
        body.setInsertionPointToEnd(elements[0].getParentBlock());
        ScalarBuilder s(body);
        SmallVector<Scalar> scalars;
        for (auto [element, type] : llvm::zip(elements, operandStorage))
          scalars.push_back(s.wrap(s.load(element), type));
        Scalar y = op.buildScalar(s, scalars);
        linalg::YieldOp::create(
            body, s.store(y.value, signlessType(storage)));
      });
  return generic.getResult(0);
}

/// A reshape goes through one dimension: both steps are views.
static Value lowerReshape(RankedTensorType to, ImplicitLocOpBuilder &b,
                          Value x) {
  auto from = tensorType(x);
  auto all = [](int64_t rank) {
    SmallVector<ReassociationIndices> groups;
    if (rank)
      groups.push_back(llvm::to_vector(llvm::seq<int64_t>(rank)));
    return groups;
  };
  if (to.getRank() == 0)
    return tensor::CollapseShapeOp::create(b, to, x, all(0));
  auto flat = RankedTensorType::get({to.getNumElements()}, to.getElementType());
  if (from.getRank() == 0)
    x = tensor::ExpandShapeOp::create(b, flat, x, all(0));
  else if (from.getRank() > 1)
    x = tensor::CollapseShapeOp::create(b, flat, x, all(from.getRank()));
  if (to.getRank() > 1)
    x = tensor::ExpandShapeOp::create(b, to, x, all(to.getRank()));
  return x;
}

Value frit::nn::lowerToLinalg(Operation *op, ImplicitLocOpBuilder &b,
                              ValueRange x) {
  return TypeSwitch<Operation *, Value>(op)
      .Case([&](ElementwiseOp e) { return lowerElementwise(e, b, x); })
      .Case([&](StructuralOp s) { return s.buildLinalg(b, x); })
      .Case([&](ReshapeOp r) {
        return lowerReshape(
            cast<RankedTensorType>(signlessType(r.getY().getType())), b, x[0]);
      })
      .Case([&](ConstantOp c) -> Value {
        auto type = cast<RankedTensorType>(signlessType(c.getY().getType()));
        auto value = cast<DenseElementsAttr>(c.getValue());
        if (value.getType() != type)
          value = value.bitcast(type.getElementType());
        return arith::ConstantOp::create(b, value);
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
