//===- Structure.cpp - Constants, views and fusions -----------------------===//

#include "dialects/nn/training/Gradient.h"

using namespace mlir;
using namespace frit::nn;

#define GET_OP_CLASSES
#include "dialects/nn/Structure.cpp.inc"

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

OpFoldResult ReshapeOp::fold(FoldAdaptor) {
  if (getX().getType() == getY().getType())
    return getX();
  if (auto inner = getX().getDefiningOp<ReshapeOp>()) {
    getXMutable().assign(inner.getX());
    return getY();
  }
  return {};
}

FailureOr<RankedTensorType> ReshapeOp::infer(Adaptor op,
                                             std::optional<Location> loc) {
  auto from = tensorType(op.getX());
  auto to = makeType(loc, op.getShape(), from.getElementType());
  if (succeeded(to) && from.hasStaticShape() && to->hasStaticShape() &&
      from.getNumElements() != to->getNumElements())
    return emitOptionalError(loc, shapeText(from.getShape()), " has ",
                             from.getNumElements(), " elements, but ",
                             shapeText(to->getShape()), " takes ",
                             to->getNumElements());
  return to;
}

FailureOr<RankedTensorType> PackOp::infer(Adaptor op,
                                          std::optional<Location> loc) {
  if (op.getXs().empty() || op.getOffsets().size() != op.getXs().size())
    return emitOptionalError(loc, "has ", op.getXs().size(), " operands and ",
                             op.getOffsets().size(), " offsets");
  if (failed(checkElementTypes(loc, op.getXs())))
    return failure();
  int64_t end = 0, size = op.getSize();
  for (auto [x, offset] : llvm::zip_equal(op.getXs(), op.getOffsets())) {
    auto type = tensorType(x);
    if (!type.hasStaticShape() || offset < end ||
        type.getNumElements() > size - offset)
      return emitOptionalError(loc, "places ", shapeText(type.getShape()),
                               " at ", offset, ", after ", end, " of ",
                               op.getSize(), " elements");
    end = offset + type.getNumElements();
  }
  return makeType(loc, {int64_t(op.getSize())},
                  tensorType(op.getXs()[0]).getElementType());
}

FailureOr<RankedTensorType> AllReduceOp::infer(Adaptor op,
                                               std::optional<Location> loc) {
  auto type = tensorType(op.getX());
  if (!isReducible(type) || !type.hasStaticShape())
    return emitOptionalError(loc, "takes a tensor of f32 or bf16 of one size");
  return type;
}

/// Returns whether a tensor is a whole number of rows that ranks divide.
static bool hasRows(RankedTensorType type) {
  return type.hasStaticShape() && type.getRank() == 1 &&
         type.getDimSize(0) % kShardRow == 0;
}

FailureOr<RankedTensorType>
ReduceScatterOp::infer(Adaptor op, std::optional<Location> loc) {
  auto type = tensorType(op.getX());
  if (!isReducible(type) || !hasRows(type))
    return emitOptionalError(loc, "takes rows of ", kShardRow,
                             " elements of f32 or bf16, of rank 1");
  return type;
}

FailureOr<RankedTensorType> AllGatherOp::infer(Adaptor op,
                                               std::optional<Location> loc) {
  auto type = tensorType(op.getX());
  if (!type.getElementType().isF32() || !hasRows(type))
    return emitOptionalError(loc, "takes rows of ", kShardRow,
                             " elements of f32, of rank 1");
  return type;
}

bool frit::nn::isReducible(ShapedType type) {
  return type.getElementType().isF32() || type.getElementType().isBF16();
}

Value frit::nn::throughReshapes(Value value) {
  while (auto reshape = value.getDefiningOp<ReshapeOp>())
    value = reshape.getX();
  return value;
}

bool frit::nn::isCollective(Operation *op) {
  return isa<AllReduceOp, ReduceScatterOp, AllGatherOp>(op);
}

/// Checks that the block's arguments and results match the operands and results
/// of `op`.
template <typename Op> static LogicalResult verifyBlock(Op op) {
  Block &block = op.getBody().front();
  if (block.getArgumentTypes() != op.getInputs().getTypes())
    return op.emitOpError("its block's arguments differ from its inputs");
  auto yield = block.empty() ? YieldOp() : dyn_cast<YieldOp>(block.back());
  if (!yield)
    return op.emitOpError("its block does not end in nn.yield");
  if (yield.getOperandTypes() != op.getResultTypes())
    return op.emitOpError("yields values of other types than its results");
  return success();
}

LogicalResult FusionOp::verify() { return verifyBlock(*this); }

LogicalResult GuardOp::verify() {
  if (tensorType(getCondition()).getNumElements() != 1)
    return emitOpError("its condition is not a single i1 value");
  return verifyBlock(*this);
}

std::optional<unsigned> FusionOp::tiedOperand(unsigned result) {
  Value value = getBody().front().getTerminator()->getOperand(result);
  auto update = value.getDefiningOp<UpdateOp>();
  auto state =
      update ? dyn_cast<BlockArgument>(update.getState()) : BlockArgument();
  return state ? std::optional(state.getArgNumber()) : std::nullopt;
}

std::optional<unsigned> FusionOp::replacedOperand(OpResult result) {
  unsigned number = result.getResultNumber();
  Value value = getBody().front().getTerminator()->getOperand(number);
  return storedValueOf(value) != value ? tiedOperand(number) : std::nullopt;
}

Operation *FusionOp::getAnchor() {
  Operation *anchor = nullptr;
  for (Operation &op : getBody().front().without_terminator()) {
    if (isa<MatmulOp, ConvOp, QuantizedConvOp, AttentionOp, AttentionGradOp,
            ConvGradInputOp, ConvGradWeightOp>(op))
      return &op;
    anchor = &op;
  }
  return anchor;
}
