//===- FusionViews.cpp - Movement that becomes strides --------------------===//
//
//   %s = nn.slice %qkv ...         read by an attention: offset and strides of
//   %t = nn.transpose %s ...       its operand
//   %y = nn.attention %t, ...
//   %z = nn.transpose %y ...       strides of its result
//
// Views at either end stay outside the fusion, where they are free.
//
//===----------------------------------------------------------------------===//

#include "compiler/transform/fusion/FusionViews.h"

#include "compiler/transform/fusion/FusionGroups.h"
#include "dialects/nn/operators/Statistics.h"
#include "dialects/nn/training/Gradient.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;
using namespace frit;
using namespace frit::nn;

/// Maximum length of a chain of operators to express by strides.
static constexpr size_t kLongestChain = 64;

static bool isMask(OpOperand &use) {
  unsigned operand = use.getOperandNumber();
  return (isa<AttentionOp>(use.getOwner()) && operand == 3) ||
         (isa<AttentionGradOp>(use.getOwner()) && operand == 6);
}

/// Returns whether the reader of a mask can repeat its elements as `expand`
/// does. Gradients read elements of neighbouring keys together.
static bool repeats(OpOperand &mask, ExpandOp expand) {
  ArrayRef<int64_t> from = shapeOf(expand.getX()), to = shapeOf(expand.getY());
  return isa<AttentionOp>(mask.getOwner()) ||
         (!from.empty() && from.back() == to.back());
}

/// Returns the operators before an operand, last first, that strides can
/// express.
static SmallVector<Operation *> viewsBefore(OpOperand &use,
                                            const Target &target) {
  auto composite = cast<CompositeOp>(use.getOwner());
  Type element = tensorType(use.get()).getElementType();
  SmallVector<Operation *> chain;
  size_t taken = 0;
  Value value = use.get();
  while (Operation *def = value.getDefiningOp()) {
    if (chain.size() == kLongestChain)
      break;
    // The attention's kernel performs this transpose when it stores its result.
    if (!chain.empty() && isa<TransposeOp>(def) &&
        def->getOperand(0).getDefiningOp<AttentionOp>())
      break;
    // A mask broadcasts by itself and is read in place, so only expands count.
    auto expand = dyn_cast<ExpandOp>(def);
    if (isMask(use) ? !expand || !repeats(use, expand)
                    : !isa<ReshapeOp, TransposeOp, SliceOp, ExpandOp>(def))
      break;
    chain.push_back(def);
    value = def->getOperand(0);
    FailureOr<StridedPlaces> places = StridedPlaces::whole(shapeOf(value));
    for (Operation *op : llvm::reverse(chain))
      if (succeeded(places))
        places = places->moved(op);
    if (!isa<ReshapeOp>(def) && succeeded(places) &&
        (isMask(use) || target.canUseView(composite, element, *places)))
      taken = chain.size();
  }
  chain.truncate(taken);
  return chain;
}

/// Returns the operators after the result that are its only readers and that
/// strides can express.
static SmallVector<Operation *> viewsAfter(CompositeOp composite,
                                           const Target &target) {
  SmallVector<Operation *> chain;
  size_t taken = 0;
  Value value = composite->getResult(0);
  Type element = tensorType(value).getElementType();
  while (value.hasOneUse() && chain.size() < kLongestChain) {
    Operation *user = *value.user_begin();
    if (!isa<ReshapeOp, TransposeOp>(user))
      break;
    chain.push_back(user);
    value = user->getResult(0);
    auto places = describeWrite(chain);
    if (isa<TransposeOp>(user) && succeeded(places) &&
        target.canUseView(composite, element, *places))
      taken = chain.size();
  }
  chain.truncate(taken);
  return chain;
}

/// Returns the statistics that an attention's kernel computes, or null.
static AttentionStatsOp statsBeside(AttentionOp attention) {
  for (Operation *user : attention.getQ().getUsers()) {
    auto stats = dyn_cast<AttentionStatsOp>(user);
    if (stats && !stats->use_empty() && isStatsOf(stats, attention) &&
        llvm::all_of(stats->getUsers(), [&](Operation *reader) {
          return attention->isBeforeInBlock(reader);
        }))
      return stats;
  }
  return {};
}

/// Moves the statistics of each attention after it. Decomposes other
/// statistics, which have no kernel.
static llvm::DenseMap<Operation *, AttentionStatsOp> pairStats(Block &block) {
  llvm::DenseMap<Operation *, AttentionStatsOp> pairs;
  llvm::SmallPtrSet<Operation *, 8> paired;
  for (auto attention : block.getOps<AttentionOp>())
    if (AttentionStatsOp stats = statsBeside(attention);
        stats && paired.insert(stats).second)
      pairs[attention] = stats;
  for (auto [attention, stats] : pairs)
    stats->moveAfter(attention);
  for (auto stats :
       llvm::make_early_inc_range(block.getOps<AttentionStatsOp>())) {
    if (paired.contains(stats))
      continue;
    NNBuilder builder(stats.getLoc(), stats.getOperation());
    stats->replaceAllUsesWith(stats.decompose(builder));
    stats->erase();
  }
  return pairs;
}

/// Lets gradients read an attention's result where it is stored transposed
/// anyway:
///
///   %y = nn.attention ...
///   %z = nn.transpose %y ...
///   nn.attention_grad ..., %y    ==>    reads %z, transposed back
static void readMovedResults(Block &block) {
  for (auto attention : block.getOps<AttentionOp>()) {
    TransposeOp moved;
    SmallVector<OpOperand *> others;
    bool fits = true;
    for (OpOperand &use : attention.getY().getUses()) {
      if (auto transpose = dyn_cast<TransposeOp>(use.getOwner())) {
        fits &= !moved;
        moved = transpose;
      } else {
        fits &= isa<AttentionGradOp>(use.getOwner());
        others.push_back(&use);
      }
    }
    if (!fits || !moved || others.empty() ||
        llvm::any_of(others, [&](OpOperand *use) {
          return !moved->isBeforeInBlock(use->getOwner());
        }))
      continue;
    OpBuilder builder(moved->getContext());
    builder.setInsertionPointAfter(moved);
    Value back = TransposeOp::create(builder, moved.getLoc(), moved.getY(),
                                     invertPermutationVector(moved.getPerm()));
    for (OpOperand *use : others)
      use->set(back);
  }
}

SmallVector<SmallVector<Operation *>> frit::bringViews(Block &block,
                                                       const Target &target) {
  auto statsOf = pairStats(block);
  readMovedResults(block);
  SmallVector<CompositeOp> composites(block.getOps<CompositeOp>());
  SmallVector<SmallVector<Operation *>> fusions;
  for (CompositeOp composite : composites) {
    if (isEpilogueOnly(composite) ||
        isa<AttentionStatsOp, QuantizedConvOp, GroupNormOp>(*composite))
      continue;
    SmallVector<Operation *> members;
    OpBuilder builder(composite);
    for (OpOperand &use : composite->getOpOperands())
      for (Operation *op : viewsBefore(use, target)) {
        // Clone for the operand itself first, then for the previous clone.
        OpOperand &reader = op->getResult(0) == use.get()
                                ? use
                                : members.back()->getOpOperand(0);
        builder.setInsertionPoint(reader.getOwner());
        Operation *clone = builder.clone(*op);
        reader.set(clone->getResult(0));
        members.push_back(clone);
      }
    members.push_back(composite);
    if (AttentionStatsOp stats = statsOf.lookup(composite)) {
      auto attention = cast<AttentionOp>(*composite);
      stats.getQMutable().assign(attention.getQ());
      stats.getKMutable().assign(attention.getK());
      if (attention.getMask())
        stats.getMaskMutable().assign(attention.getMask());
      members.push_back(stats);
    }
    if (composite->getNumResults() == 1)
      llvm::append_range(members, viewsAfter(composite, target));
    fusions.push_back(std::move(members));
  }
  return fusions;
}
