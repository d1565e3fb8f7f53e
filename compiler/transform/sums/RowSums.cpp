//===- RowSums.cpp - Sums of leading and trailing dimensions --------------===//
//
//   %a = nn.reduce %dy {axes = [0, 2, 3]}     %dy: tensor<32x64x28x28xf32>
//   %b = nn.reduce (nn.mul %dy, %x) {axes = [0, 2, 3]}
// ==>
//   %r:2 = nn.fusion(%dy, %x) { nn.reduce … {axes = [2, 3]}, nn.reduce … }
//   %s:2 = nn.fusion(%r#0, %r#1) { nn.reduce … {axes = [0]}, nn.reduce … }
//
// Gradients and statistics of channels-first norms are such sums. One block
// reduces the row of a channel and sample. Sums that read the same tensor share
// kernels.
//
//===----------------------------------------------------------------------===//

#include "compiler/transform/Graph.h"
#include "compiler/transform/sums/ColumnSums.h"
#include "compiler/transform/sums/SumGroup.h"
#include "dialects/nn/rewrites/SplitReductions.h"

using namespace mlir;
using namespace frit;
using namespace frit::nn;

/// Returns the number of trailing dimensions that `op` reduces, if it reduces
/// leading and trailing ones; else 0.
static int64_t trailingAxes(ReduceOp op) {
  ArrayRef<int64_t> axes = op.getAxes();
  int64_t next = shapeOf(op.getX()).size(), count = 0;
  while (count < int64_t(axes.size()) && axes.end()[-1 - count] == next - 1)
    ++count, --next;
  int64_t leading = axes.size() - count;
  if (!leading || axes[leading - 1] != leading - 1 || next == leading)
    return 0;
  return count;
}

namespace {
/// The two steps of a reduction.
struct Steps {
  ReduceOp rows, leading;
};
} // namespace

/// Reduces the trailing dimensions first.
static Steps reduceRowsFirst(ReduceOp op) {
  NNBuilder b(op.getLoc(), op);
  Type element = tensorType(op.getX()).getElementType();
  int64_t trailing = trailingAxes(op);
  Value x = b.cast(op.getX(), workType(element));
  Value rows = b.reduce(x, op.getKind(), op.getAxes().take_back(trailing));
  Value all = b.reduce(rows, op.getKind(), op.getAxes().drop_back(trailing));
  op.getY().replaceAllUsesWith(b.cast(all, element));
  op.erase();
  return {rows.getDefiningOp<ReduceOp>(), all.getDefiningOp<ReduceOp>()};
}

/// Fuses the sums of rows into one kernel, those of `leading` dimensions into
/// another.
static void fuse(SumGroup &rows, MutableArrayRef<ReduceOp> leading) {
  ReduceOp first = rows.sums.front();
  SmallVector<Operation *> members = llvm::to_vector(llvm::reverse(rows.chain));
  llvm::append_range(members, rows.sums);
  // Their operands are computed before the first sum.
  for (Operation *op : members)
    if (first->isBeforeInBlock(op))
      op->moveBefore(first);
  llvm::sort(members,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  NNBuilder b(first.getLoc(), first->getNextNode());
  ColumnSums columns(b);
  SmallVector<Value> results;
  for (auto [sum, all] : llvm::zip_equal(rows.sums, leading)) {
    ArrayRef<int64_t> shape = shapeOf(sum.getY());
    size_t count = all.getAxes().size();
    SmallVector<int64_t> flat = {1};
    for (int64_t size : shape.take_front(count))
      flat[0] *= size;
    llvm::append_range(flat, shape.drop_front(count));
    results.push_back(
        columns.reduce(b.reshape(sum.getY(), flat), all.getKind()));
  }
  for (auto [all, result] : llvm::zip_equal(leading, results))
    columns.replace(all, result);
  createFusionOp(members, first->getNextNode());
  columns.fuse();
  for (ReduceOp all : leading)
    all.erase();
}

void frit::sumRowsFirst(Block &block, const SplitReductionsRewrite &rewrite) {
  SmallVector<ReduceOp> sums;
  llvm::DenseMap<Operation *, size_t> places; ///< of those in no kernel yet
  llvm::DenseMap<Operation *, ReduceOp> leadingOf;
  for (auto op : llvm::to_vector(block.getOps<ReduceOp>()))
    if (trailingAxes(op) && rewrite.parts(op) > 1) {
      Steps steps = reduceRowsFirst(op);
      leadingOf[steps.rows] = steps.leading;
      places[steps.rows] = sums.size();
      sums.push_back(steps.rows);
    }
  for (auto [place, sum] : llvm::enumerate(sums)) {
    if (!places.contains(sum))
      continue;
    SumGroup group;
    group.sums.push_back(sum);
    group.findChain();
    ArrayRef<int64_t> axes = leadingOf.lookup(sum).getAxes();
    group.addOthers(sums, places, place + 1, [&](ReduceOp other) {
      return ArrayRef<int64_t>(leadingOf.lookup(other).getAxes()) == axes;
    });
    SmallVector<ReduceOp> leading;
    for (ReduceOp member : group.sums) {
      places.erase(member);
      leading.push_back(leadingOf.lookup(member));
    }
    if (leading.size() > 1)
      fuse(group, leading);
  }
}
