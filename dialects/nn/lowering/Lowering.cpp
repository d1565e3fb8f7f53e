//===- Lowering.cpp - Lower nn operators to linalg ------------------------===//

#include "dialects/nn/lowering/Lowering.h"
#include "dialects/nn/lowering/Loops.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace frit::nn;

/// Elementwise operators that become one loop nest, in order. All results have
/// the shape of the last, which alone is read by others.
using Nest = ArrayRef<ElementwiseOp>;

/// Lowers a nest. `lowered` returns the lowered form of an operand that is
/// computed outside of it.
static Value lowerNest(Nest nest, ImplicitLocOpBuilder &b,
                       function_ref<Value(OpOperand &)> lowered) {
  auto type = loweredType(nest.back()->getResult(0));
  SmallPtrSet<Operation *, 8> members(llvm::from_range, nest);
  auto isMember = [&](Value value) {
    return members.contains(value.getDefiningOp());
  };
  // The inputs of the loops; a constant of equal elements is a scalar.
  llvm::SmallSetVector<Value, 4> inputs;
  DenseMap<Value, TypedAttr> scalars;
  for (ElementwiseOp op : nest)
    for (OpOperand &operand : op->getOpOperands()) {
      if (isMember(operand.get()))
        continue;
      Value x = lowered(operand);
      SplatElementsAttr splat;
      if (matchPattern(x, m_Constant(&splat)))
        scalars[x] = splat.getSplatValue<TypedAttr>();
      else
        inputs.insert(x);
    }
  SmallVector<AffineMap> maps;
  for (Value x : inputs)
    maps.push_back(broadcastMap(shapeOf(x), type.getShape(), b.getContext()));
  auto build = [&](ImplicitLocOpBuilder &body, ValueRange elements) {
    ScalarBuilder s(body);
    DenseMap<Value, Value> stored; // elements by tensor
    // The last element is the previous value of the result.
    for (auto [input, element] : llvm::zip(inputs, elements))
      stored[input] = element;
    for (ElementwiseOp op : nest) {
      body.setLoc(op.getLoc());
      SmallVector<Scalar> x;
      for (OpOperand &operand : op->getOpOperands()) {
        Value tensor =
            isMember(operand.get()) ? operand.get() : lowered(operand);
        Value element = stored.lookup(tensor);
        if (!element)
          element = arith::ConstantOp::create(body, scalars.at(tensor));
        x.push_back(s.wrap(s.load(element),
                           tensorType(operand.get()).getElementType()));
      }
      Value y = op->getResult(0);
      stored[y] =
          s.store(op.buildScalar(s, x).value, loweredType(y).getElementType());
    }
    return stored.at(nest.back()->getResult(0));
  };
  return buildMap(b, type, inputs.getArrayRef(), maps, build);
}

Value frit::nn::lowerToLinalg(Operation *op, ImplicitLocOpBuilder &b,
                              ValueRange x) {
  return TypeSwitch<Operation *, Value>(op)
      .Case([&](ElementwiseOp e) {
        return lowerNest(e, b, [&](OpOperand &operand) {
          return x[operand.getOperandNumber()];
        });
      })
      .Case([&](StructuralOp s) { return s.buildLinalg(b, x); })
      .Case([&](UpdateOp) { return x[1]; })
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

/// Returns the nests of a fusion's body by their last operators.
static DenseMap<Operation *, SmallVector<ElementwiseOp>>
findNests(Block &body) {
  DenseMap<Operation *, Operation *> last;
  for (Operation &op : llvm::reverse(body.without_terminator())) {
    if (!isa<ElementwiseOp>(op))
      continue;
    // It joins its users if all are in one nest of its shape.
    SmallPtrSet<Operation *, 2> users;
    for (Operation *user : op.getUsers()) {
      Operation *end = last.lookup(user);
      bool fits = end && shapeOf(end->getResult(0)) == shapeOf(op.getResult(0));
      users.insert(fits ? end : nullptr);
    }
    Operation *only = llvm::hasSingleElement(users) ? *users.begin() : nullptr;
    last[&op] = only ? only : &op;
  }
  DenseMap<Operation *, SmallVector<ElementwiseOp>> nests;
  for (Operation &op : body.without_terminator())
    if (Operation *end = last.lookup(&op))
      nests[end].push_back(cast<ElementwiseOp>(op));
  return nests;
}

OwningOpRef<func::FuncOp> frit::nn::isolate(Operation *op) {
  Builder types(op->getContext());
  OwningOpRef<func::FuncOp> function =
      func::FuncOp::create(op->getLoc(), op->getName().stripDialect(),
                           types.getFunctionType(op->getOperandTypes(), {}));
  Block *entry = function->addEntryBlock();
  IRMapping map;
  for (auto [operand, argument] :
       llvm::zip_equal(op->getOperands(), entry->getArguments()))
    if (!map.contains(operand))
      map.map(operand, argument);
  OpBuilder::atBlockEnd(entry).clone(*op, map);
  return function;
}

func::FuncOp frit::nn::lowerFusion(FusionOp fusion, StringRef name,
                                   OpBuilder &builder) {
  auto signless = [](TypeRange types) {
    return llvm::map_to_vector(types, signlessType);
  };
  Block &body = fusion.getBody().front();
  SmallVector<Value> stored =
      llvm::map_to_vector(body.getTerminator()->getOperands(), storedValueOf);
  auto type = builder.getFunctionType(signless(fusion.getInputs().getTypes()),
                                      signless(ValueRange(stored).getTypes()));
  auto function = func::FuncOp::create(builder, fusion.getLoc(), name, type);
  function.setPrivate();
  Block *entry = function.addEntryBlock();

  ImplicitLocOpBuilder b(fusion.getLoc(), OpBuilder::atBlockEnd(entry));
  IRMapping map;
  map.map(body.getArguments(), entry->getArguments());
  auto nests = findNests(body);
  for (Operation &op : body.without_terminator()) {
    b.setLoc(op.getLoc());
    if (isa<ElementwiseOp>(op)) {
      if (auto nest = nests.find(&op); nest != nests.end())
        map.map(op.getResult(0), lowerNest(nest->second, b, [&](OpOperand &x) {
                  return map.lookup(x.get());
                }));
      continue;
    }
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
