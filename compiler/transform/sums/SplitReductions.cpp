//===- SplitReductions.cpp - Long sums in two steps -----------------------===//
//
//   %s = nn.reduce %x {axes = [0]}          %x: tensor<16384x768xbf16>
// ==>
//   %0 = nn.reshape %x : tensor<64x256x768xbf16>
//   %1 = nn.cast %0 : f32
//   %2 = nn.reduce %1 {axes = [1]} : tensor<64x1x768xf32>
//   %3 = nn.reduce (nn.reshape %2) {axes = [0]} : tensor<1x768xf32>
//   %s = nn.cast %3 : bf16
//
// A kernel that reduces leading dimensions has work for about one thread per
// result. If there are few results, the target asks to reduce parts first.
// Elementwise operators that only the reduction reads move to the new shape
// with it, so that they stay in its kernel. Gradients of biases, scales and
// batch norms are such sums.
//
// Reductions that read the same tensor become one fusion in each step, which
// reads it once:
//
//   %a = nn.reduce %dy, %b = nn.reduce (nn.mul %dy, %x)
// ==>
//   %p:2 = nn.fusion(%dy, %x) { … nn.reduce … nn.reduce … }
//   %s:2 = nn.fusion(%p#0, %p#1) { nn.reduce … nn.reduce … }
//
// Reductions of leading and trailing dimensions reduce the trailing ones first
// (RowSums.cpp).
//
// The first fusion also stores an elementwise value that it is the first to
// read; the second one computes what follows for each column (ColumnSums.h).
//
// Sums of the backward pass recompute values of the forward pass, such as the
// result of a relu, whose gradient they sum. If such a value fits L2, they
// store it for the weight gradient that reads it, and the forward pass need not
// keep it.
//
// If other dimensions come first, as in the gradient of a group norm, each of
// their elements has its own parts:
//
//   %s = nn.reduce %x {axes = [1, 2]}       %x: tensor<8x64x64x192xf32>
// ==>
//   %0 = nn.reshape %x : tensor<8x16x256x192xf32>
//   %1 = nn.reduce %0 {axes = [2]}, %s = nn.reduce (nn.reshape %1) {axes = [1]}
//
// A sum of the same value over more dimensions, from 0 on, is computed from the
// sums of such a reduction.
//
// The statistics of a batch or group norm are such pairs (BatchStatistics.cpp).
//
//===----------------------------------------------------------------------===//

#include "dialects/nn/rewrites/SplitReductions.h"
#include "compiler/transform/Graph.h"
#include "compiler/transform/Passes.h"
#include "compiler/transform/TargetRewritePass.h"
#include "compiler/transform/sums/ColumnSums.h"
#include "compiler/transform/sums/Regrouping.h"
#include "dialects/nn/contraction/Contraction.h"
#include "dialects/nn/training/Gradient.h"

namespace frit {
#define GEN_PASS_DEF_SPLITREDUCTIONS
#include "compiler/transform/Passes.h.inc"
} // namespace frit

using namespace mlir;
using namespace frit;
using namespace frit::nn;

namespace {
class SplitReductions
    : public TargetRewritePass<frit::impl::SplitReductionsBase<SplitReductions>,
                               SplitReductionsRewrite> {
public:
  using TargetRewritePass::TargetRewritePass;

private:
  void run(Block &block) override;
  void split(const SumGroup &group, int64_t parts);
};
} // namespace

//===----------------------------------------------------------------------===//
// Results of the first kernel
//===----------------------------------------------------------------------===//

/// Returns whether every operand of `op` is a single number or a tensor of its
/// result's shape that no contraction's kernel computes. Such a kernel may
/// include elementwise operators, so those that only `op` reads must fulfil the
/// same.
static bool combinesTensors(Operation *op) {
  return llvm::all_of(op->getOperands(), [&](Value operand) {
    if (tensorType(operand).getNumElements() == 1)
      return true;
    Operation *def = operand.getDefiningOp();
    return shapeOf(operand) == resultType(op).getShape() &&
           !isa_and_nonnull<MatmulOp, ConvOp>(def) &&
           (!isa_and_nonnull<ElementwiseOp>(def) || !operand.hasOneUse() ||
            combinesTensors(def));
  });
}

/// Computes and stores in the group's kernel, rather than in an earlier one,
/// the values that the group is the first to read, unless a contraction's
/// kernel may compute them. For one sum alone, such values must combine whole
/// tensors.
static void storeRoots(SumGroup &group) {
  ReduceOp first = group.sums.front();
  ArrayRef<int64_t> from = shapeOf(first.getX());
  for (Value root :
       SmallVector<Value>(group.roots.begin(), group.roots.end())) {
    Operation *op = root.getDefiningOp();
    if (!isa_and_nonnull<ElementwiseOp>(op) ||
        op->getBlock() != first->getBlock() || shapeOf(root) != from ||
        tensorType(root).getElementTypeBitWidth() < 16 ||
        addedConvolutions(op) ||
        (group.sums.size() == 1 && !combinesTensors(op)) ||
        !llvm::all_of(op->getOperands(), [&](Value v) {
          return canRegroup(v, from, group.leading, group.outer);
        }))
      continue;
    if (llvm::all_of(op->getUsers(), [&](Operation *user) {
          return group.chain.contains(user) || user == first ||
                 first->isBeforeInBlock(user);
        }))
      group.stored.insert(op);
  }
  group.findChain();
}

/// Returns the values, including `copy`, that the same operators compute from
/// the group's inputs.
static SmallVector<Value> equalValues(const SumGroup &group, Value copy) {
  Operation *op = copy.getDefiningOp();
  if (!op || !group.chain.contains(op))
    return {copy};
  // Only operands of the reduced shape may have copies too.
  SmallVector<SmallVector<Value>> operands;
  const SmallVector<Value> *large = nullptr;
  for (Value operand : op->getOperands())
    operands.push_back(equalValues(group, operand));
  for (const SmallVector<Value> &values : operands)
    if (shapeOf(values.front()) == shapeOf(copy))
      large = &values;
  if (!large)
    return {copy};
  SmallVector<Value> found = {copy};
  for (Value value : *large)
    for (Operation *user : value.getUsers())
      if (user != op && user->getName() == op->getName() &&
          OperationEquivalence::isEquivalentTo(
              user, op,
              [&](Value a, Value b) -> LogicalResult {
                return success(llvm::any_of(
                    llvm::zip(op->getOperands(), operands), [&](auto entry) {
                      return std::get<0>(entry) == b &&
                             llvm::is_contained(std::get<1>(entry), a);
                    }));
              },
              nullptr,
              OperationEquivalence::IgnoreLocations |
                  OperationEquivalence::IgnoreDiscardableAttrs) &&
          !llvm::is_contained(found, user->getResult(0)))
        found.push_back(user->getResult(0));
  return found;
}

/// Maximum operators that move after the sums, for a value that these store.
static constexpr size_t kMostLate = 8;

/// Stores in the group's kernel values of the forward pass that it recomputes,
/// for readers that may come after it.
static void storeCopies(SumGroup &group,
                        const SplitReductionsRewrite &rewrite) {
  ReduceOp first = group.sums.front();
  for (Operation *copy :
       SmallVector<Operation *>(group.chain.begin(), group.chain.end())) {
    auto type = resultType(copy);
    int64_t bytes = type.getNumElements() * type.getElementTypeBitWidth() / 8;
    if (type.getElementTypeBitWidth() != 16 || !rewrite.fitsCache(bytes))
      continue;
    for (Value value : equalValues(group, copy->getResult(0))) {
      if (group.chain.contains(value.getDefiningOp()))
        continue;
      for (Operation *reader : llvm::make_early_inc_range(value.getUsers())) {
        if (!isa<ConvGradWeightOp>(reader) || !reader->isBeforeInBlock(first))
          continue;
        auto late = dependentsBefore(reader, first, kMostLate);
        if (!late)
          continue;
        reader->replaceUsesOfWith(value, copy->getResult(0));
        for (Operation *op : llvm::reverse(*late))
          op->moveAfter(first);
        reader->moveAfter(first);
        group.stored.insert(copy);
      }
    }
  }
}

//===----------------------------------------------------------------------===//
// Splitting
//===----------------------------------------------------------------------===//

void SplitReductions::split(const SumGroup &group, int64_t parts) {
  ReduceOp first = group.sums.front();
  NNBuilder b(first.getLoc(), first);
  Regrouping regrouping(b, group, parts);
  ArrayRef<int64_t> from = shapeOf(first.getX());
  int64_t outer = group.outer;
  SmallVector<int64_t> kept(from.take_front(outer));
  kept.push_back(parts);
  llvm::append_range(kept, from.drop_front(outer + first.getAxes().size()));
  SmallVector<Operation *> &ops = regrouping.built;
  SmallVector<Value> partial;
  for (ReduceOp sum : group.sums) {
    Value x = regrouping.regroup(sum.getX());
    Value wide = b.cast(x, workType(tensorType(x).getElementType()));
    if (wide != x)
      ops.push_back(wide.getDefiningOp());
    Value part = b.reduce(wide, sum.getKind(), outer + 1);
    ops.push_back(part.getDefiningOp());
    partial.push_back(part);
  }
  for (Value &part : partial)
    part = b.reshape(part, kept);
  for (Operation *op : group.stored) {
    Value value = op->getResult(0);
    value.replaceUsesWithIf(
        b.reshape(regrouping.moved.lookup(value), shapeOf(value)),
        [&](OpOperand &use) { return !group.chain.contains(use.getOwner()); });
  }
  SmallVector<Value> results;
  ColumnSums columns(b);
  for (size_t i = 0; i < partial.size(); ++i) {
    ReduceOp sum = group.sums[i];
    results.push_back(columns.reduce(partial[i], sum.getKind(), outer));
  }
  for (auto [sum, result] : llvm::zip(group.sums, results))
    columns.replace(sum, result);
  if (group.sums.size() > 1 || !group.stored.empty()) {
    createFusionOp(ops, ops.back()->getNextNode());
    columns.fuse();
  }
  for (ReduceOp sum : group.sums)
    sum.erase();
  // Readers come first in the chain.
  for (Operation *op : group.chain)
    op->erase();
}

/// Returns the value that `value` widens, or itself.
static Value narrowest(Value value) {
  while (auto cast = value.getDefiningOp<CastOp>()) {
    if (!isFloat(cast.getX()) ||
        tensorType(cast.getX()).getElementTypeBitWidth() >
            tensorType(value).getElementTypeBitWidth())
      break;
    value = cast.getX();
  }
  return value;
}

/// Computes a sum over leading dimensions from an earlier sum of the same value
/// that keeps the first of them. Example: a bias's gradient from the sums per
/// sample and channel.
static void sumSums(Block &block) {
  llvm::DenseMap<Value, SmallVector<ReduceOp>> known;
  for (auto op : llvm::make_early_inc_range(block.getOps<ReduceOp>())) {
    auto type = tensorType(op.getX());
    if (op.getKind() != Combiner::sum || !type.getElementType().isF32())
      continue;
    SmallVector<ReduceOp> &sums = known[narrowest(op.getX())];
    ArrayRef<int64_t> axes = op.getAxes();
    auto part = llvm::find_if(sums, [&](ReduceOp sum) {
      return axes.size() > 1 && axes.front() == 0 &&
             axes.drop_front() == ArrayRef<int64_t>(sum.getAxes()) &&
             sum.getX().getType() == type;
    });
    if (part == sums.end()) {
      sums.push_back(op);
      continue;
    }
    NNBuilder b(op.getLoc(), op);
    op.getY().replaceAllUsesWith(b.reduce(part->getY(), Combiner::sum, 0));
    op.erase();
  }
}

/// Lets kernels of products store f32 if all that follows is the sum of a batch
/// of them, which would otherwise add 16-bit numbers.
static void widenSummedProducts(Block &block) {
  for (auto op : llvm::to_vector(block.getOps<ReduceOp>())) {
    auto cast = op.getX().getDefiningOp<CastOp>();
    if (op.getKind() != Combiner::sum || !cast || !cast->hasOneUse() ||
        op.getAxes() != ArrayRef<int64_t>{0})
      continue;
    auto product = cast.getX().getDefiningOp<MatmulOp>();
    if (product && product->hasOneUse() && shapeOf(product).size() == 3 &&
        tensorType(cast).getElementType().isF32())
      createFusionOp({product, cast}, cast->getNextNode());
  }
}

/// Returns whether the reduced dimensions are successive and precede kept ones,
/// the columns.
static bool keepsColumns(ReduceOp op) {
  ArrayRef<int64_t> axes = op.getAxes();
  for (auto [i, axis] : llvm::enumerate(axes))
    if (axis != axes.front() + int64_t(i))
      return false;
  // Reductions of leading dimensions may reduce all.
  return axes.front() == 0 || axes.back() + 1 < tensorType(op.getX()).getRank();
}

void SplitReductions::run(Block &block) {
  sumSums(block);
  widenSummedProducts(block);
  auto *moments = rewrites.find<ColumnMomentsRewrite>();
  splitGroupStatistics(block, rewrite->parts, moments);
  splitBatchStatistics(block, rewrite->parts, moments);
  sumRowsFirst(block, *rewrite);
  SmallVector<ReduceOp> sums;
  llvm::DenseMap<Operation *, size_t> places; ///< of those that are not split
  llvm::DenseMap<Operation *, int64_t> partsOf;
  for (auto op : block.getOps<ReduceOp>())
    if (int64_t parts = keepsColumns(op) ? rewrite->parts(op) : 1; parts > 1) {
      partsOf[op] = parts;
      places[op] = sums.size();
      sums.push_back(op);
    }
  for (auto [place, sum] : llvm::enumerate(sums)) {
    int64_t parts = partsOf.lookup(sum);
    if (!places.contains(sum))
      continue;
    SumGroup group;
    group.leading = sum.getAxes().size();
    group.outer = sum.getAxes().front();
    group.sums.push_back(sum);
    group.findChain();
    group.addOthers(sums, places, place + 1, [&](ReduceOp other) {
      return partsOf.lookup(other) == parts;
    });
    for (ReduceOp member : group.sums)
      places.erase(member);
    storeRoots(group);
    if (group.sums.size() > 1)
      storeCopies(group, *rewrite);
    split(group, parts);
  }
  eraseDead(block);
}

std::unique_ptr<Pass> frit::createSplitReductions(const Target &target) {
  return std::make_unique<SplitReductions>(target);
}
