//===- RecomputeWide.cpp - Read 16 bits again, not 32 ---------------------===//
//
//   %w = nn.cast %x {to = f32}            %x: tensor<16384x768xbf16>
//   %c = nn.sub %w, %mean                 one number a row
//   … %c … (forward)
//   … %c … (backward)
// ==>
//   %w = nn.cast %x, %c = nn.sub %w, %mean
//   … %c …
//   %v = nn.cast %x, %d = nn.sub %v, %mean
//   … %d …
//
// A wide value that kernels of the forward and the backward pass read would be
// stored between them. Where it is an elementwise function of no more than its
// own size of 16-bit tensors, each reader computes it again: less memory, and
// less traffic. The attribute nn.recomputed tells fusion that it belongs in its
// reader's kernel. Readers that end up in one kernel share it again.
//
//===----------------------------------------------------------------------===//

#include "compiler/transform/Graph.h"
#include "compiler/transform/Passes.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

namespace frit {
#define GEN_PASS_DEF_RECOMPUTEWIDE
#include "compiler/transform/Passes.h.inc"
} // namespace frit

using namespace mlir;
using namespace frit;
using namespace frit::nn;

/// Longest chain of operators that is computed again, and the fewest elements
/// for which it pays.
static constexpr size_t kLongestChain = 8;
static constexpr int64_t kFewElements = 1 << 16;

/// Collects the elementwise operators of `value`'s shape that compute it from
/// 16-bit tensors, in order, and those tensors. Returns whether there are no
/// other tensors of that shape.
static bool findChain(Value value, ArrayRef<int64_t> shape,
                      llvm::SetVector<Operation *> &chain,
                      llvm::SmallSetVector<Value, 4> &roots) {
  Operation *op = value.getDefiningOp();
  if (!isa_and_nonnull<ElementwiseOp>(op) || shapeOf(value) != shape) {
    if (tensorType(value).getElementTypeBitWidth() != 16)
      return false;
    return roots.insert(value), true;
  }
  if (chain.contains(op))
    return true;
  // A 16-bit value is in memory, or as good as that.
  if (!chain.empty() && tensorType(value).getElementTypeBitWidth() == 16)
    return roots.insert(value), true;
  if (chain.size() >= kLongestChain)
    return false;
  chain.insert(op);
  for (Value operand : op->getOperands())
    if (tensorType(operand).getNumElements() ==
            tensorType(value).getNumElements() &&
        !findChain(operand, shape, chain, roots))
      return false;
  return true;
}

namespace {
class RecomputeWide : public frit::impl::RecomputeWideBase<RecomputeWide> {
public:
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      for (Block &block : function)
        run(block);
  }

private:
  static void run(Block &block);
};
} // namespace

void RecomputeWide::run(Block &block) {
  // Last ones first: a chain that is repeated takes what it reads with it.
  SmallVector<Operation *> ops;
  for (Operation &op : block)
    if (isa<ElementwiseOp>(op))
      ops.push_back(&op);
  llvm::DenseSet<Operation *> erased;
  for (Operation *op : llvm::reverse(ops)) {
    if (erased.contains(op))
      continue;
    Value value = op->getResult(0);
    auto type = tensorType(value);
    if (!type.getElementType().isF32() || type.getNumElements() < kFewElements)
      continue;
    llvm::SmallSetVector<Operation *, 4> readers(value.getUsers().begin(),
                                                 value.getUsers().end());
    if (readers.size() < 2)
      continue;
    llvm::SetVector<Operation *> chain;
    llvm::SmallSetVector<Value, 4> roots;
    if (!findChain(value, type.getShape(), chain, roots) || roots.size() > 2)
      continue;
    SmallVector<Operation *> order(chain.begin(), chain.end());
    llvm::sort(order, [](Operation *a, Operation *b) {
      return a->isBeforeInBlock(b);
    });
    for (Operation *reader : readers) {
      OpBuilder b(reader);
      IRMapping map;
      for (Operation *link : order)
        b.clone(*link, map)->setAttr("nn.recomputed", b.getUnitAttr());
      reader->replaceUsesOfWith(value, map.lookup(value));
    }
    for (Operation *link : llvm::reverse(order))
      if (link->use_empty()) {
        erased.insert(link);
        link->erase();
      }
  }
}
