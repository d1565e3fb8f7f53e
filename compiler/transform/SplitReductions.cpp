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
// A kernel that reduces leading dimensions has work for as many threads as
// there are results. Where these are few, the target asks for parts.
// Elementwise operators that only the reduction reads move to the new shape
// with it, so that they stay in its kernel. Gradients are full of such sums:
// those of biases, scales and batch norms.
//
//===----------------------------------------------------------------------===//

#include "compiler/transform/Graph.h"
#include "compiler/transform/Passes.h"

namespace frit {
#define GEN_PASS_DEF_SPLITREDUCTIONS
#include "compiler/transform/Passes.h.inc"
} // namespace frit

using namespace mlir;
using namespace frit;
using namespace frit::nn;

namespace {
/// Moves the values that a reduction reads to another shape of the same
/// elements: `from` has `leading` dimensions that become parts × rows, the
/// others stay.
class Regrouping {
public:
  Regrouping(NNBuilder &b, ArrayRef<int64_t> from, size_t leading,
             int64_t parts)
      : b(b), from(from), leading(leading) {
    int64_t rows = 1;
    for (int64_t size : from.take_front(leading))
      rows *= size;
    to = {parts, rows / parts};
    llvm::append_range(to, from.drop_front(leading));
  }

  /// Returns `value` in the new shape; operators that only `reader` reads are
  /// computed there.
  Value regroup(Value value, Operation *reader);

private:
  /// Returns an operand, which broadcasts to the old shape, such that it
  /// broadcasts to the new one; null if it cannot.
  Value regroupBroadcast(Value value);

  NNBuilder &b;
  ArrayRef<int64_t> from;
  size_t leading;
  SmallVector<int64_t> to;
};

class SplitReductions
    : public frit::impl::SplitReductionsBase<SplitReductions> {
public:
  explicit SplitReductions(const Target &target) : target(target) {}

  void runOnOperation() override {
    SmallVector<ReduceOp> reductions;
    getOperation().walk([&](ReduceOp op) { reductions.push_back(op); });
    for (ReduceOp op : reductions)
      split(op);
  }

private:
  void split(ReduceOp op);

  const Target &target;
};
} // namespace

Value Regrouping::regroupBroadcast(Value value) {
  ArrayRef<int64_t> shape = shapeOf(value);
  size_t kept = from.size() - leading;
  while (!shape.empty() && shape.front() == 1 && shape.size() > kept)
    shape = shape.drop_front();
  // Without leading dimensions it aligns with those that stay.
  if (shape.size() <= kept)
    return b.reshape(value, shape);
  if (shape.size() != from.size() ||
      shape.take_front(leading) != from.take_front(leading))
    return {};
  SmallVector<int64_t> regrouped = {to[0], to[1]};
  llvm::append_range(regrouped, shape.drop_front(leading));
  return b.reshape(value, regrouped);
}

Value Regrouping::regroup(Value value, Operation *reader) {
  Operation *op = value.getDefiningOp();
  auto isOnlyReader = [&](Operation *user) { return user == reader; };
  if (!isa_and_nonnull<ElementwiseOp>(op) ||
      !llvm::all_of(op->getUsers(), isOnlyReader))
    return b.reshape(value, to);
  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
    Value moved = shapeOf(operand) == from ? regroup(operand, op)
                                           : regroupBroadcast(operand);
    if (!moved)
      return b.reshape(value, to);
    operands.push_back(moved);
  }
  Operation *clone = b.clone(*op);
  clone->setOperands(operands);
  clone->getResult(0).setType(tensorType(value).clone(to));
  return clone->getResult(0);
}

void SplitReductions::split(ReduceOp op) {
  ArrayRef<int64_t> axes = op.getAxes(), shape = shapeOf(op.getX());
  for (auto [i, axis] : llvm::enumerate(axes))
    if (axis != int64_t(i))
      return;
  int64_t parts = target.reductionParts(op);
  if (parts < 2)
    return;
  NNBuilder b(op.getLoc(), op);
  Type element = tensorType(op.getX()).getElementType();
  Regrouping regrouping(b, shape, axes.size(), parts);
  Value x = b.cast(regrouping.regroup(op.getX(), op), workType(element));
  Value partial = b.reduce(x, op.getKind(), 1);
  SmallVector<int64_t> kept = {parts};
  llvm::append_range(kept, shape.drop_front(axes.size()));
  Value sum = b.reduce(b.reshape(partial, kept), op.getKind(), 0);
  op.replaceAllUsesWith(b.cast(b.reshape(sum, shapeOf(op.getY())), element));
  op.erase();
}

std::unique_ptr<Pass> frit::createSplitReductions(const Target &target) {
  return std::make_unique<SplitReductions>(target);
}
