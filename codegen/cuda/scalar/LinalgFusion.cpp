//===- LinalgFusion.cpp - A fusion as linalg operators --------------------===//

#include "codegen/cuda/scalar/LinalgFusion.h"

#include "dialects/nn/lowering/Lowering.h"
#include "dialects/nn/operators/Custom.h"
#include "dialects/plan/Plan.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

/// Returns where the rows of an update at an offset go; nothing for others.
static std::optional<Destination> destinationOf(Value result) {
  auto update = result.getDefiningOp<nn::UpdateOp>();
  if (!update || !update.getOffset())
    return std::nullopt;
  ArrayRef<int64_t> state = nn::shapeOf(update.getState());
  int64_t axis = update.getAxis();
  auto product = [](ArrayRef<int64_t> sizes) {
    return llvm::product_of(sizes);
  };
  Destination place;
  place.offsets = cast<BlockArgument>(update.getOffset()).getArgNumber();
  place.outer = product(state.take_front(axis));
  place.rows = nn::shapeOf(update.getValue())[axis];
  place.capacity = state[axis];
  place.inner = product(state.drop_front(axis + 1));
  bool isShared = nn::shapeOf(update.getOffset()).empty();
  place.each = isShared ? place.outer : place.outer / state[0];
  return place;
}

/// Lets the device round to floats of 8 bits, which saturate: replaces the bit
/// operations of such a cast, whose linalg form is `result`, by arith.truncf.
static void roundByTarget(nn::CastOp cast, Value result) {
  Type from = nn::tensorType(cast.getX()).getElementType();
  Type to = nn::tensorType(cast.getY()).getElementType();
  auto loops = result.getDefiningOp<linalg::GenericOp>();
  if (!isa<Float8E4M3FNType, Float8E5M2Type>(to) || cast.getWraps() ||
      !isa<FloatType>(from) || !loops || loops.getInputs().size() != 1 ||
      !(from.isF32() || from.isF16() || from.isBF16()))
    return;
  Block &body = *loops.getBody();
  Operation *end = body.getTerminator();
  ImplicitLocOpBuilder b(loops.getLoc(), end);
  Value x = body.getArgument(0);
  if (!from.isF32())
    x = arith::ExtFOp::create(b, b.getF32Type(), x);
  x = arith::TruncFOp::create(b, to, x);
  end->setOperand(0, arith::BitcastOp::create(b, b.getI8Type(), x));
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
    if (&op != end && op.use_empty())
      op.erase();
}

bool LinalgFusion::hasDestinations() const {
  return llvm::any_of(destinations, [](auto &place) { return bool(place); });
}

bool LinalgFusion::keepsRows(int64_t vector) const {
  return llvm::all_of(destinations, [&](auto &place) {
    return !place || place->inner % vector == 0;
  });
}

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
  if (auto list =
          fusion->getAttrOfType<DenseI64ArrayAttr>("plan.settled_inputs"))
    llvm::append_range(settled, list.asArrayRef());
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
      Value result = nn::lowerToLinalg(&op, b, operands);
      if (auto cast = dyn_cast<nn::CastOp>(op))
        roundByTarget(cast, result);
      values.map(op.getResult(0), result);
      continue;
    }
    for (Value result : op.getResults())
      values.map(result, tensor::EmptyOp::create(
                             b, nn::shapeOf(result),
                             nn::signlessType(
                                 nn::tensorType(result).getElementType())));
  }
  for (Value value : body.getTerminator()->getOperands()) {
    results.push_back(values.lookup(value));
    destinations.push_back(destinationOf(value));
  }
}
