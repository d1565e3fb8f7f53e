//===- FusionLegality.cpp - Legality checks of fusion ---------------------===//

#include "compiler/transform/fusion/FusionGroups.h"

#include "compiler/transform/Graph.h"
#include "dialects/nn/contraction/Contraction.h"
#include "dialects/nn/operators/Statistics.h"

using namespace mlir;
using namespace frit;
using namespace frit::nn;

/// Maximum inputs of a concat that is fused. With more, the chain of
/// comparisons per element costs more than a kernel of its own.
static constexpr unsigned maxFusedConcat = 4;

Operation *frit::onlyReader(Operation *op) {
  Operation *reader = nullptr;
  for (Operation *user : op->getUsers()) {
    if (reader && reader != user)
      return nullptr;
    reader = user;
  }
  return reader;
}

bool FusionGroups::addsContraction(const Group &from, const Group &to) const {
  if (from.members.size() != 1 || to.members.size() != 2)
    return false;
  Operation *convs[] = {ops[from.members[0]], ops[to.members[0]]};
  Operation *sum = ops[to.members[1]];
  return addedConvolutions(sum) && target.canFuseEpilogue(convs, sum);
}

bool FusionGroups::chainsContraction(const Group &from, const Group &to) const {
  SmallVector<Operation *> fused = operatorsOf(from);
  auto conv = dyn_cast<ConvOp>(ops[to.members[0]]);
  if (!conv || to.members.size() != 1 || !isa<ConvOp>(fused.front()) ||
      conv.getX().getDefiningOp() != fused.back() ||
      onlyReader(fused.back()) != conv)
    return false;
  // One kernel for a sum of two convolutions is preferred.
  if (Operation *reader = onlyReader(conv))
    if (auto added = addedConvolutions(reader)) {
      auto [a, b] = *added;
      if (target.canFuseEpilogue({conv, conv == a ? b : a}, reader))
        return false;
    }
  return target.canFuseEpilogue(fused, conv);
}

bool FusionGroups::pairsProducts(const Group &from, const Group &to) const {
  SmallVector<Operation *> before = chainOf(from), after = chainOf(to);
  if (!isa<MatmulOp>(before.front()) || !isa<MatmulOp>(after.front()))
    return false;
  // The reader of `from` is the last of `to`, as one joins at a time.
  if (onlyReader(before.back()) != after.back() || after.size() == 1)
    return false;
  SmallVector<Operation *> both = operatorsOf(from);
  llvm::append_range(both, operatorsOf(to));
  llvm::sort(both,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return target.canFusePair(both);
}

bool FusionGroups::isIn(Operation *op, const Group &group) const {
  auto index = indices.find(op);
  return index != indices.end() &&
         groupOf[index->second] == groupOf[group.members.front()];
}

Legality FusionGroups::checkEpilogue(const Group &from, const Group &to) const {
  if (addsContraction(from, to) || chainsContraction(from, to) ||
      pairsProducts(from, to) || pairsBytes(from, to) || chainsBytes(from, to))
    return std::nullopt;
  if (productOfBytes(from) && to.kind == Kind::map)
    return checkEndOfBytes(from, to);
  if (normOf(from))
    return checkEndOfNorm(from, to);
  if ((to.kind != Kind::map && to.kind != Kind::epilogue) ||
      to.members.size() != 1)
    return Mismatch("only elementwise operators follow it in one kernel");
  if (from.space != to.space)
    return Mismatch("it has another shape");
  SmallVector<Operation *> fused = chainOf(from);
  Operation *next = ops[to.members.front()];
  // Values inside an epilogue are never stored, unless moments end it.
  if (isa<MomentsOp>(fused.back()) ||
      (onlyReader(fused.back()) != next && !isa<MomentsOp>(next)))
    return Mismatch("the intermediate value has other readers");
  if (isContraction(fused.front()) && !target.canFuseEpilogue(fused, next))
    return Mismatch("the target's kernel does not take it");
  return std::nullopt;
}

Legality FusionGroups::checkPrologue(const Group &from, const Group &to) const {
  // Elementwise operators may have joined the reader before, as a widening cast
  // joins its own producer last.
  Operation *norm = normOf(to), *reader = norm ? norm : ops[to.members.back()];
  bool isAlone = llvm::all_of(llvm::drop_end(to.members), [&](unsigned member) {
    return isa<TransposeOp>(reader) && isa<ElementwiseOp>(ops[member]);
  });
  if (from.kind != Kind::map ||
      (!norm && !(isAlone && isa<ReduceOp, TransposeOp, SliceOp>(reader))))
    return Mismatch("its reader needs the elements in memory");
  if (ArrayRef(from.space) != shapeOf(reader->getOperand(0)))
    return Mismatch("they iterate over different shapes");
  // A norm's kernel keeps no elements of its operand for what follows the norm.
  for (unsigned member : from.members)
    for (Operation *user : ops[member]->getUsers())
      if (user != reader && !isIn(user, from) && (norm || !isIn(user, to)))
        return Mismatch("the intermediate value has other readers");
  return std::nullopt;
}

Operation *FusionGroups::normOf(const Group &group) const {
  for (unsigned member : group.members)
    if (isa<GroupNormOp>(ops[member]))
      return ops[member];
  return nullptr;
}

bool frit::widensForReaders(Operation *op) {
  auto cast = dyn_cast<CastOp>(op);
  if (!cast)
    return false;
  Type from = tensorType(cast.getX()).getElementType();
  return isa<Float16Type, BFloat16Type>(from) &&
         resultType(cast).getElementTypeBitWidth() > 16 &&
         llvm::none_of(cast->getUsers(), [](Operation *user) {
           return user->hasTrait<OpTrait::IsTerminator>();
         });
}

/// Any elementwise operators may follow a group norm, if they alone read its
/// result: a quantization is several.
Legality FusionGroups::checkEndOfNorm(const Group &from,
                                      const Group &to) const {
  if (to.kind != Kind::map)
    return Mismatch("only elementwise operators follow it in one kernel");
  if (from.space != to.space)
    return Mismatch("it has another shape");
  auto isInside = [&](Operation *user) {
    return isIn(user, from) || isIn(user, to);
  };
  for (unsigned member : from.members)
    if (!llvm::all_of(ops[member]->getUsers(), isInside))
      return Mismatch("the intermediate value has other readers");
  for (unsigned member : to.members) {
    Operation *op = ops[member];
    if (!isa<ElementwiseOp>(op) ||
        shapeOf(op->getResult(0)) != ArrayRef(from.space))
      return Mismatch("only elementwise operators follow it in one kernel");
    if (widensForReaders(op) && llvm::none_of(op->getUsers(), isInside))
      return Mismatch("a wider type would be stored");
  }
  return std::nullopt;
}

Legality FusionGroups::checkMovement(const Group &from, const Group &to) const {
  Operation *root = ops[from.members.back()];
  if (!onlyReader(root))
    return Mismatch("the moved elements have several readers");
  if (auto concat = dyn_cast<ConcatOp>(root))
    if (concat.getXs().size() > maxFusedConcat)
      return Mismatch("it joins too many tensors");
  if (to.kind == Kind::movement && isa<ConcatOp, PadOp>(root))
    return Mismatch("both select elements");
  if (to.kind != Kind::map && to.kind != Kind::row && to.kind != Kind::movement)
    return Mismatch("its reader needs the elements in memory");
  return std::nullopt;
}

bool FusionGroups::spacesFit(const Group &from, const Group &to) const {
  if (from.kind == Kind::row && to.kind == Kind::row)
    return from.space == to.space && from.rows == to.rows;
  if (from.space == to.space)
    return true;
  return (from.kind == Kind::row && from.reduced() == to.space) ||
         (to.kind == Kind::row && to.reduced() == from.space);
}

bool FusionGroups::readsMoved(const Group &from, const Group &to) const {
  unsigned id = groupOf[from.members.front()];
  for (unsigned member : to.members) {
    if (!isMovement(ops[member]))
      continue;
    for (Value operand : ops[member]->getOperands())
      if (Operation *def = operand.getDefiningOp())
        if (auto it = indices.find(def); it != indices.end())
          if (groupOf[it->second] == id)
            return true;
  }
  return false;
}

KernelSize FusionGroups::sizeOfBoth(const Group &from, const Group &to) const {
  KernelSize size;
  size.instructions = from.size.instructions + to.size.instructions;
  // The tensor between the two is not an input of the kernel.
  size.tensors = from.size.tensors + to.size.tensors - 1;
  if (size.tensors <= target.largestKernel().tensors)
    return size;
  // The bound counts shared inputs twice and inlined constants once; count
  // exactly.
  llvm::SmallDenseSet<unsigned, 2> ids = {groupOf[from.members.front()],
                                          groupOf[to.members.front()]};
  auto isInside = [&](Operation *op) {
    auto it = indices.find(op);
    return it != indices.end() && ids.contains(groupOf[it->second]);
  };
  llvm::DenseSet<Value> tensors;
  for (const Group *group : {&from, &to})
    for (unsigned member : group->members) {
      for (Value operand : ops[member]->getOperands())
        if (Operation *def = operand.getDefiningOp();
            !def || (!isInside(def) && !splatOf(operand)))
          tensors.insert(operand);
      for (Value result : ops[member]->getResults())
        if (!llvm::all_of(result.getUsers(), isInside))
          tensors.insert(result);
    }
  size.tensors = tensors.size();
  return size;
}

bool FusionGroups::repeatsRows(const Group &from, const Group &to) const {
  if (from.kind != Kind::row || to.kind != Kind::movement ||
      to.members.size() != 1)
    return false;
  auto expand = dyn_cast<ExpandOp>(ops[to.members.front()]);
  return expand && ArrayRef(from.reduced()) == shapeOf(expand.getX()) &&
         ArrayRef(from.space) == shapeOf(expand.getY());
}

/// Returns why an update at an offset keeps two groups apart, if it does. Its
/// readers need the whole state in memory; its offset is read from there, and
/// only kernels of elementwise operators store to places known at run time.
Legality FusionGroups::checkUpdates(const Group &from, const Group &to) const {
  auto updateOf = [](Operation *op) {
    auto update = dyn_cast<UpdateOp>(op);
    return update && update.getOffset() ? update : UpdateOp();
  };
  if (llvm::any_of(operatorsOf(from), updateOf))
    return Mismatch("it replaces a part of a state in memory");
  unsigned id = groupOf[from.members.front()];
  for (Operation *op : operatorsOf(to)) {
    UpdateOp update = updateOf(op);
    if (!update)
      continue;
    if (from.kind != Kind::map && from.kind != Kind::movement)
      return Mismatch("its reader stores to a place known at run time");
    for (Value operand : {update.getState(), update.getOffset()})
      if (auto it = indices.find(operand.getDefiningOp());
          it != indices.end() && groupOf[it->second] == id)
        return Mismatch("its reader needs it in memory");
  }
  return std::nullopt;
}

/// Returns whether a host would compute and store many elements on one thread,
/// because a reduction of all of them is in the same kernel. By itself, the
/// reduction reads them as fast as memory is.
bool FusionGroups::reducesAlone(const Group &from, const Group &to) const {
  constexpr int64_t kMany = 1 << 15;
  if (!target.isHost() || to.kind != Kind::row ||
      ShapedType::getNumElements(to.reduced()) != 1 ||
      ShapedType::getNumElements(from.space) < kMany)
    return false;
  return llvm::any_of(operatorsOf(from), [&](Operation *op) {
    return llvm::any_of(op->getUsers(), [&](Operation *user) {
      return !isIn(user, from) && !isIn(user, to);
    });
  });
}

Legality FusionGroups::checkLegality(unsigned from, unsigned to) const {
  const Group &producer = groups[from], &consumer = groups[to];
  Legality why = checkUpdates(producer, consumer);
  if (why)
    return why;
  switch (producer.kind) {
  case Kind::view:
    return Mismatch("a view lies between");
  case Kind::opaque:
    return Mismatch("the target implements it as one kernel");
  case Kind::epilogue:
    return Mismatch("no product is before it");
  case Kind::anchored:
    why = checkEpilogue(producer, consumer);
    break;
  case Kind::movement:
    why = checkMovement(producer, consumer);
    break;
  case Kind::map:
  case Kind::row:
    if (repeatsRows(producer, consumer))
      break;
    if (consumer.kind == Kind::anchored && feedsEnd(producer, consumer))
      break;
    if (consumer.kind != Kind::map && consumer.kind != Kind::row)
      why = checkPrologue(producer, consumer);
    else if (!spacesFit(producer, consumer))
      why = Mismatch("they iterate over different shapes");
    else if (readsMoved(producer, consumer))
      why = Mismatch("its reader reads it at other indices");
    else if (reducesAlone(producer, consumer))
      why = Mismatch("one thread would compute both");
    break;
  }
  if (!why) {
    KernelSize both = sizeOfBoth(producer, consumer);
    KernelSize largest = target.largestKernel();
    if (both.instructions > largest.instructions ||
        both.tensors > largest.tensors)
      why = Mismatch("one kernel of both would be too large");
  }
  if (!why && !findBetween(from, to))
    why = Mismatch("another kernel has to run between");
  return why;
}
