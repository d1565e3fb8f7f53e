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

#include "compiler/transform/ColumnSums.h"
#include "compiler/transform/Graph.h"
#include "compiler/transform/SplitReductions.h"
#include "compiler/transform/SumGroup.h"

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
  SmallVector<Steps> sums;
  for (auto op : llvm::to_vector(block.getOps<ReduceOp>()))
    if (trailingAxes(op) && rewrite.parts(op) > 1)
      sums.push_back(reduceRowsFirst(op));
  llvm::DenseSet<Operation *> done;
  for (auto [i, sum] : llvm::enumerate(sums)) {
    if (done.contains(sum.rows))
      continue;
    SumGroup group;
    group.sums.push_back(sum.rows);
    group.findChain();
    SmallVector<ReduceOp> leading = {sum.leading};
    for (Steps other : ArrayRef(sums).drop_front(i + 1)) {
      size_t before = group.sums.size();
      if (!done.contains(other.rows) &&
          ArrayRef<int64_t>(other.leading.getAxes()) ==
              ArrayRef<int64_t>(sum.leading.getAxes()))
        group.tryAdd(other.rows);
      if (group.sums.size() > before)
        leading.push_back(other.leading);
    }
    done.insert_range(group.sums);
    if (leading.size() > 1)
      fuse(group, leading);
  }
}
