//===- ConstantMasks.cpp - Masks that depend on constants -----------------===//
//
//   %i = nn.iota … : tensor<1x4xi64>
//   %j = nn.gather …(%i) : tensor<1x1x4x1xi64>
//   %m = nn.less_equal %i, %j : … -> tensor<1x1x4x4xi1>
//   %y = nn.where %m, %scores, %lowest
// ==>
//   %r = nn.constant dense<[[[[0, 1], [0, 2], [0, 3], [0, 4]]]]>
//   %m = nn.range_mask %r {keys = 4} : … -> tensor<1x1x4x4xi1>
//   %y = nn.where %m, %scores, %lowest
//
// whatever the operators are that compute the mask. Masks are found where they
// act: in a select or a sum with a product of queries and keys, or in a
// conjunction with a mask that is not constant, such as one for padding.
//
//===----------------------------------------------------------------------===//

#include "compiler/transform/Graph.h"
#include "compiler/transform/recognize/AttentionScores.h"
#include "compiler/transform/recognize/MaskValue.h"
#include "dialects/nn/constants/ConstantValues.h"

#include <limits>

using namespace mlir;
using namespace frit;
using namespace frit::nn;

/// Returns whether `value` may be a mask of several queries that depends on
/// constants alone.
static bool mayBeMask(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.hasStaticShape() && type.getRank() >= 2 &&
         !value.getDefiningOp<RangeMaskOp>() && !numberOf(value) &&
         mayEvaluate(value);
}

/// Returns whether no mask comes before `scores` on the way from the product.
static bool areUnmasked(Value scores) {
  while (Operation *def = scores.getDefiningOp()) {
    double ignored = 1;
    if (Value x = takeScale(def, ignored))
      scores = x;
    else if (isFloatCast(def) || keepsMatrices(def))
      scores = def->getOperand(0);
    else
      return isa<MatmulOp>(def);
  }
  return false;
}

/// Returns whether `scores`, with their only mask, become weights of a softmax
/// along the last dimension, which only the differences between numbers count
/// for.
static bool feedsSoftmax(Value scores) {
  for (unsigned depth = 0; depth < 8 && scores.hasOneUse(); ++depth) {
    Operation *user = *scores.user_begin();
    if (auto softmax = dyn_cast<SoftmaxOp>(user))
      return axisOf(softmax.getX(), softmax.getAxis()) ==
             tensorType(softmax.getX()).getRank() - 1;
    if (!isFloatCast(user) && !keepsMatrices(user))
      return false;
    scores = user->getResult(0);
  }
  return false;
}

namespace {
class ConstantMasks {
public:
  explicit ConstantMasks(Block &block) : block(block) {}

  void run() {
    for (Operation &op : llvm::make_early_inc_range(block)) {
      if (auto where = dyn_cast<WhereOp>(op))
        rewrite(where);
      else if (auto add = dyn_cast<AddOp>(op))
        rewrite(add);
      else if (auto both = dyn_cast<AndOp>(op))
        rewrite(both);
    }
  }

private:
  /// Returns what a mask hides of `scores`, evaluated once.
  std::optional<MaskRanges> rangesFor(Value scores, Value mask,
                                      bool hides = false) {
    auto [it, isNew] = known.try_emplace({mask, hides});
    if (isNew)
      it->second = findMaskRanges(mask, hides);
    std::optional<MaskRanges> ranges = it->second;
    ArrayRef<int64_t> shape = shapeOf(scores);
    if (!ranges || shape.size() < 2)
      return std::nullopt;
    if (ranges->showAll())
      return ranges;
    // A mask of keys alone stays one: kernels read it as it is.
    if (ranges->queries != shape[shape.size() - 2] ||
        ranges->keys != shape.back() || ranges->queries == 1)
      return std::nullopt;
    return ranges;
  }

  /// Builds the mask as bools of batch×1×queries×keys, or with as many
  /// dimensions of 1 before queries as `rank` needs.
  static Value build(Operation *before, const MaskRanges &ranges,
                     int64_t rank) {
    NNBuilder b(before->getLoc(), before);
    Value mask = RangeMaskOp::create(b, buildRanges(b, ranges), ranges.keys);
    if (ranges.batch != 1)
      return mask;
    SmallVector<int64_t> shape(rank - 2, 1);
    llvm::append_range(shape, shapeOf(mask).take_back(2));
    return b.reshape(mask, shape);
  }

  /// Rewrites the condition of a select between scores and a number.
  void rewrite(WhereOp op) {
    for (bool hides : {false, true}) {
      Value scores = hides ? op.getB() : op.getA();
      Value condition = op.getCondition();
      auto other = numberOf(hides ? op.getA() : op.getB());
      if (!other || *other > kMasked ||
          scores.getType() != op.getY().getType() || !reachesProduct(scores) ||
          !mayBeMask(condition))
        continue;
      auto ranges = rangesFor(scores, condition, hides);
      if (!ranges)
        return;
      if (ranges->showAll())
        return drop(op, scores);
      Value mask = build(op, *ranges, tensorType(condition).getRank());
      if (hides) {
        NNBuilder b(op.getLoc(), op);
        mask = NotOp::create(b, mask);
      }
      op.getConditionMutable().assign(mask);
      return;
    }
  }

  /// Rewrites a bias of 0 and large negative numbers. If these differ, a
  /// softmax has to make them equal: each query sees keys that have 0, unless
  /// another mask hides them.
  void rewrite(AddOp op) {
    for (unsigned i = 0; i < 2; ++i) {
      Value scores = op->getOperand(i), bias = op->getOperand(1 - i);
      if (scores.getType() != op.getY().getType() || !isFloat(bias) ||
          !reachesProduct(scores) || !mayBeMask(bias))
        continue;
      auto ranges = rangesFor(scores, bias);
      if (!ranges)
        return;
      if (ranges->showAll())
        return drop(op, scores);
      if (ranges->hiddenDiffer &&
          !(areUnmasked(scores) && feedsSoftmax(op.getY())))
        return;
      Value mask = build(op, *ranges, tensorType(bias).getRank());
      NNBuilder b(op.getLoc(), op);
      Value zero = b.scalarLike(scores, 0);
      Value low = b.scalarLike(scores, ranges->hidden);
      op->setOperand(1 - i, WhereOp::create(b, mask, zero, low));
      return;
    }
  }

  /// Rewrites the constant part of a mask.
  void rewrite(AndOp op) {
    for (unsigned i = 0; i < 2; ++i) {
      Value mask = op->getOperand(i), other = op->getOperand(1 - i);
      if (!mayBeMask(mask) || mayEvaluate(other))
        continue;
      auto ranges = rangesFor(op.getY(), mask);
      if (!ranges)
        return;
      if (ranges->showAll()) {
        if (other.getType() == op.getY().getType())
          drop(op, other);
        return;
      }
      op->setOperand(i, build(op, *ranges, tensorType(mask).getRank()));
      return;
    }
  }

  static void drop(Operation *op, Value result) {
    op->getResult(0).replaceAllUsesWith(result);
    op->erase();
  }

  Block &block;
  /// By mask, and whether true hides.
  llvm::DenseMap<std::pair<Value, unsigned>, std::optional<MaskRanges>> known;
};
} // namespace

void frit::rewriteConstantMasks(Block &block) {
  ConstantMasks(block).run();
  eraseDead(block);
}
