//===- FusionBytes.cpp - Legality checks of fusions of bytes --------------===//

#include "compiler/transform/fusion/FusionGroups.h"

#include "compiler/transform/Graph.h"

using namespace mlir;
using namespace frit;
using namespace frit::nn;

Operation *FusionGroups::productOfBytes(const Group &group) const {
  for (unsigned member : llvm::reverse(group.members))
    if (isa<QuantizedConvOp>(ops[member]))
      return ops[member];
  return nullptr;
}

bool FusionGroups::pairsBytes(const Group &from, const Group &to) const {
  if (!productOfBytes(from) || !productOfBytes(to) || from.space != to.space)
    return false;
  for (unsigned member : from.members)
    for (Operation *user : ops[member]->getUsers())
      if (!isIn(user, from) && !isIn(user, to))
        return false;
  SmallVector<Operation *> both = operatorsOf(from);
  llvm::append_range(both, operatorsOf(to));
  return target.canFusePair(both);
}

/// Returns whether what a product of bytes becomes, by operators in a row, is
/// added to what another one becomes, and neither has other readers: one kernel
/// of these two is preferred.
static bool isAddedToBytes(Operation *product) {
  ArrayRef<int64_t> space = shapeOf(product->getResult(0));
  auto isLike = [&](Operation *op) {
    return isa<ElementwiseOp>(op) && shapeOf(op->getResult(0)) == space;
  };
  auto otherThan = [&](Operation *op, Operation *one) -> Operation * {
    for (Value operand : op->getOperands())
      if (Operation *def = operand.getDefiningOp();
          def && def != one && shapeOf(operand) == space)
        return def;
    return nullptr;
  };
  for (Operation *op = product; (op = onlyReader(op)) && isLike(op);) {
    Operation *before = otherThan(op, nullptr);
    Operation *other = before ? otherThan(op, before) : nullptr;
    if (!other)
      continue;
    for (Operation *end : {before, other}) {
      while (end && isLike(end) && onlyReader(end))
        end = otherThan(end, nullptr);
      if (!isa_and_nonnull<QuantizedConvOp>(end))
        return false;
    }
    return true;
  }
  return false;
}

bool FusionGroups::chainsBytes(const Group &from, const Group &to) const {
  auto last = dyn_cast<QuantizedConvOp>(ops[to.members.front()]);
  if (!last || to.members.size() != 1 || !productOfBytes(from) ||
      isAddedToBytes(last))
    return false;
  SmallVector<Operation *> both = operatorsOf(from);
  both.push_back(last);
  for (Operation *op : operatorsOf(from))
    for (Operation *user : op->getUsers())
      if (!llvm::is_contained(both, user))
        return false;
  return target.canFusePair(both);
}

/// Returns whether an operator is what a kernel stores in 8 bits, or leads to
/// it, or is computed along with it.
static bool leadsToCodes(Operation *op) {
  if (isa<GeluSlopeOp>(op))
    return true;
  for (int i = 0; i < 8; ++i) {
    auto type = resultType(op);
    if (isa<CastOp>(op) && isa<FloatType>(type.getElementType()) &&
        type.getElementTypeBitWidth() == 8)
      return true;
    Operation *next = nullptr;
    for (Operation *user : op->getUsers())
      if (isa<ElementwiseOp>(user) &&
          resultType(user).getShape() == type.getShape())
        next = user;
    if (!next)
      return false;
    op = next;
  }
  return false;
}

/// Any elementwise operators may follow a product of bytes, as many as there
/// are, if they alone read its result. Of floats that become codes, what is in
/// between is stored, too, if it has other readers.
Legality FusionGroups::checkEndOfBytes(const Group &from,
                                       const Group &to) const {
  if (from.space != to.space)
    return Mismatch("it has another shape");
  Operation *product = productOfBytes(from);
  auto isInside = [&](Operation *user) {
    return isIn(user, from) || isIn(user, to);
  };
  bool makesCodes =
      isa<FloatType>(
          tensorType(cast<QuantizedConvOp>(product).getX()).getElementType()) &&
      leadsToCodes(ops[to.members.front()]);
  for (unsigned member : from.members)
    for (Operation *user : ops[member]->getUsers())
      if (!isInside(user) &&
          !(makesCodes &&
            resultType(ops[member]).getElementTypeBitWidth() == 16))
        return Mismatch("the intermediate value has other readers");
  for (unsigned member : to.members) {
    if (!target.canFuseEpilogue(product, ops[member]))
      return Mismatch("the target's kernel does not take it");
    // Its readers widen the result, which takes half of the memory so.
    if (widensForReaders(ops[member]) &&
        llvm::none_of(ops[member]->getUsers(), isInside))
      return Mismatch("a wider type would be stored");
  }
  return std::nullopt;
}

bool FusionGroups::feedsEnd(const Group &from, const Group &to) const {
  Operation *product = productOfBytes(to);
  if (from.kind != Kind::map || !product || from.space != to.space)
    return false;
  for (unsigned member : from.members)
    for (Operation *user : ops[member]->getUsers())
      if (user == product || (!isIn(user, from) && !isIn(user, to)))
        return false;
  return true;
}
