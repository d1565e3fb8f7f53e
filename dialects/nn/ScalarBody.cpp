//===- ScalarBody.cpp - Evaluate a scalar expression ----------------------===//

#include "dialects/nn/ScalarBody.h"

#include "dialects/nn/NN.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace frit::nn;

ScalarBody::ScalarBody(Location loc, ArrayRef<Type> operands, Type result,
                       Build build)
    : storage(result) {
  // The block has no parent, so pass the context.
  ImplicitLocOpBuilder b(loc, loc.getContext());
  b.setInsertionPointToEnd(&block);
  ScalarBuilder s(b);
  SmallVector<Scalar> x;
  for (Type type : operands)
    x.push_back(
        s.wrap(s.load(block.addArgument(signlessType(type), loc)), type));
  value = s.store(build(s, x).value, signlessType(result));
}

static Attribute signlessElement(Attribute element) {
  if (auto integer = dyn_cast<IntegerAttr>(element))
    return IntegerAttr::get(signlessType(integer.getType()),
                            integer.getValue());
  return element;
}

Attribute ScalarBody::run(ArrayRef<Attribute> x) {
  known.clear();
  for (auto [argument, element] : llvm::zip_equal(block.getArguments(), x))
    known[argument] = signlessElement(element);
  for (Operation &op : block)
    if (!step(op))
      return {};
  Attribute result = known.lookup(value);
  if (auto integer = dyn_cast_or_null<IntegerAttr>(result))
    if (isa<IntegerType>(storage))
      return IntegerAttr::get(storage, integer.getValue());
  auto typed = dyn_cast_or_null<FloatAttr>(result);
  return typed && typed.getType() == storage ? result : Attribute();
}

/// Evaluates an operation on the known values of its operands.
bool ScalarBody::step(Operation &op) {
  SmallVector<Attribute> operands;
  for (Value operand : op.getOperands())
    operands.push_back(known.lookup(operand));
  // The fold hook of truncf does not fold inexact values.
  if (auto truncate = dyn_cast<arith::TruncFOp>(op)) {
    auto from = dyn_cast_or_null<FloatAttr>(operands[0]);
    if (!from)
      return false;
    auto to = cast<FloatType>(truncate.getType());
    APFloat x = from.getValue();
    bool inexact;
    x.convert(to.getFloatSemantics(), APFloat::rmNearestTiesToEven, &inexact);
    known[truncate] = FloatAttr::get(to, x);
    return true;
  }
  SmallVector<OpFoldResult> results;
  if (failed(op.fold(operands, results)) || results.size() != 1)
    return false;
  auto attr = dyn_cast<Attribute>(results[0]);
  if (!attr)
    attr = known.lookup(cast<Value>(results[0]));
  known[op.getResult(0)] = attr;
  return isa_and_nonnull<IntegerAttr, FloatAttr>(attr);
}
