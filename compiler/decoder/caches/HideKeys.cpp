//===- HideKeys.cpp - Mask scores of attention by their keys --------------===//
//
//   %t = nn.transpose %keys            1x4x66x12 ==> 1x4x12x66
//   %s = nn.matmul %q, %t              1x4x2x66
//   %p = nn.softmax %s
// ==>
//   %p = nn.softmax (nn.where %seen, %s, lowest)
//
//===----------------------------------------------------------------------===//

#include "compiler/decoder/caches/HideKeys.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <limits>

using namespace mlir;
using namespace frit;
using namespace frit::decoder;

static int64_t productOf(ArrayRef<int64_t> sizes) {
  int64_t product = 1;
  for (int64_t size : sizes)
    product *= size;
  return product;
}

/// Returns where a reshape puts a dimension; -1 if it divides or joins it.
static int64_t reshapedAxis(ArrayRef<int64_t> from, ArrayRef<int64_t> to,
                            int64_t axis) {
  int64_t before = productOf(from.take_front(axis));
  for (size_t i = 0; i < to.size(); ++i)
    if (to[i] == from[axis] && productOf(to.take_front(i)) == before)
      return int64_t(i);
  return -1;
}

/// Returns `seen` for scores of a shape whose last dimensions are queries and
/// keys; null if it does not fit. Dimensions before are the batch and heads,
/// joined or not.
Value KeyHider::seenFor(ArrayRef<int64_t> shape) {
  ArrayRef<int64_t> own = nn::shapeOf(seen);
  size_t rank = shape.size();
  if (rank < 3 || shape[rank - 1] != own[2] || shape[rank - 2] != own[1] ||
      shape[0] % own[0] != 0)
    return {};
  SmallVector<int64_t> wide(rank, 1);
  wide[0] = own[0];
  wide[rank - 2] = own[1];
  wide[rank - 1] = own[2];
  if (shape[0] == own[0] || own[0] == 1)
    return b.reshape(seen, wide);
  // The first dimension has the batch and heads.
  Value apart = b.reshape(seen, {own[0], 1, own[1], own[2]});
  apart = nn::ExpandOp::create(
      b, apart, ArrayRef<int64_t>{own[0], shape[0] / own[0], own[1], own[2]});
  wide[0] = shape[0];
  return b.reshape(apart, wide);
}

/// Masks an operand of an operator: the scores of a softmax, or the mask of an
/// attention, which may be missing.
LogicalResult KeyHider::hide(Operation *op, OpOperand *scores) {
  areKeys = true;
  if (!hidden.insert(op).second)
    return success();
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(op);
  b.setLoc(op->getLoc());
  auto attention = dyn_cast<nn::AttentionOp>(op);
  SmallVector<int64_t> shape;
  if (attention)
    shape = {nn::shapeOf(attention.getQ())[0], 1,
             nn::shapeOf(attention.getQ())[2],
             nn::shapeOf(attention.getK())[2]};
  else
    shape.assign(nn::shapeOf(scores->get()).begin(),
                 nn::shapeOf(scores->get()).end());
  Value own = seenFor(shape);
  if (!own)
    return op->emitError()
           << "attends to a cache with scores of " << nn::shapeText(shape)
           << ", whose last dimensions should be queries and keys, "
           << nn::shapeText(nn::shapeOf(seen).drop_front());
  if (attention && !attention.getMask()) {
    attention.getMaskMutable().assign(own);
    return success();
  }
  Value given = attention ? Value(attention.getMask()) : scores->get();
  auto type = nn::tensorType(given).getElementType();
  Value masked;
  if (type.isInteger(1))
    masked = nn::AndOp::create(b, given, own);
  else if (isa<FloatType>(type))
    masked = nn::WhereOp::create(
        b, own, given,
        b.scalarLike(given,
                     type.isF16()
                         ? -65504.
                         : double(std::numeric_limits<float>::lowest())));
  else
    return op->emitError() << "has a mask of " << type
                           << ", in which entries of a cache cannot be hidden";
  if (attention)
    attention.getMaskMutable().assign(masked);
  else
    scores->set(masked);
  return success();
}

LogicalResult KeyHider::visit(OpOperand &use, int64_t axis) {
  Operation *op = use.getOwner();
  auto from = nn::shapeOf(use.get());
  int64_t rank = int64_t(from.size());
  if (isa<func::ReturnOp>(op))
    return success();
  if (auto attention = dyn_cast<nn::AttentionOp>(op)) {
    if (use.getOperandNumber() == 2)
      return success();
    if (use.getOperandNumber() == 1 && !attention.getCausal())
      return hide(op, nullptr);
  } else if (auto softmax = dyn_cast<nn::SoftmaxOp>(op)) {
    int64_t along = softmax.getAxis();
    if (axis == rank - 1 && (along == -1 || along == axis))
      return hide(op, &use);
  } else if (auto transpose = dyn_cast<nn::TransposeOp>(op)) {
    const auto *at = llvm::find(transpose.getPerm(), axis);
    return follow(op->getResult(0), at - transpose.getPerm().begin());
  } else if (isa<nn::ReshapeOp>(op)) {
    int64_t to = reshapedAxis(from, nn::shapeOf(op->getResult(0)), axis);
    if (to >= 0)
      return follow(op->getResult(0), to);
  } else if (auto product = dyn_cast<nn::MatmulOp>(op)) {
    bool isRight = use.getOperandNumber() == 1;
    bool isSwapped =
        isRight ? product.getTransposeB() : product.getTransposeA();
    int64_t place = axis - (rank - 2);
    place = isSwapped && place >= 0 ? 1 - place : place;
    // Values are summed over, and keys become columns.
    if (isRight && place == 0)
      return success();
    if (isRight && place == 1)
      return follow(op->getResult(0),
                    int64_t(nn::shapeOf(op->getResult(0)).size()) - 1);
  } else if (isa<nn::ExpandOp, nn::CastOp, nn::ElementwiseOp>(op)) {
    int64_t more = int64_t(nn::shapeOf(op->getResult(0)).size()) - rank;
    return follow(op->getResult(0), axis + more);
  }
  return op->emitError() << "reads a cache in a way in which its free entries "
                            "cannot be hidden; export the model with "
                            "attention_mask, integers of batch x (past + "
                            "sequence)";
}

LogicalResult KeyHider::follow(Value value, int64_t axis) {
  bool isFirst = isa_and_nonnull<nn::ConcatOp>(value.getDefiningOp());
  if (isFirst)
    areKeys = false;
  for (OpOperand &use : llvm::make_early_inc_range(value.getUses()))
    if (failed(visit(use, axis)))
      return failure();
  if (isFirst)
    keys += areKeys;
  return success();
}
