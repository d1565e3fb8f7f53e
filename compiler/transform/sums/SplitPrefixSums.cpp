//===- SplitPrefixSums.cpp - Prefix sums of long dimensions ---------------===//
//
// nn.cum_sum computes each result from scratch, in time quadratic in the
// dimension. A long one is split into blocks, which get the prefix sums of the
// block totals added, a shorter problem of the same kind (Blelloch, Prefix Sums
// and Their Applications, 1990):
//
//   %y = nn.cum_sum %x {axis = 0} : tensor<1000xf32>
// ==>
//   %b = nn.reshape (nn.pad %x) : tensor<16x64xf32>
//   %t = nn.cum_sum (nn.reduce %b {axes = [1]}) {axis = 0, exclusive}
//   %z = nn.add (nn.cum_sum %b {axis = 1}), %t
//   %y = nn.slice (nn.reshape %z) : tensor<1000xf32>
//
//===----------------------------------------------------------------------===//

#include "compiler/transform/Passes.h"

namespace frit {
#define GEN_PASS_DEF_SPLITPREFIXSUMS
#include "compiler/transform/Passes.h.inc"
} // namespace frit

using namespace mlir;
using namespace frit;
using namespace frit::nn;

static constexpr int64_t kBlock = 64;

/// Builds prefix sums or products along a dimension of any length.
template <class Op>
static Value cumulate(NNBuilder &b, Value x, int64_t axis, bool isExclusive,
                      bool isReverse) {
  int64_t length = shapeOf(x)[axis];
  if (length <= 2 * kBlock)
    return Op::create(b, x, axis, isExclusive, isReverse);
  constexpr bool isSum = std::is_same_v<Op, CumSumOp>;
  auto combine = [&](Value y, Value z) {
    return isSum ? b.add(y, z) : b.mul(y, z);
  };
  Type element = tensorType(x).getElementType();
  int64_t blocks = llvm::divideCeil(length, kBlock);
  Value wide = b.cast(x, workType(element));
  SmallVector<int64_t> whole(shapeOf(x)), low(whole.size()), high(whole.size()),
      ones(whole.size(), 1), shape = whole;
  high[axis] = blocks * kBlock - length;
  if (high[axis])
    wide = PadOp::create(b, wide, b.scalarLike(wide, isSum ? 0 : 1), low, high);
  SmallVector<int64_t> padded(shapeOf(wide)), parts = padded, sums = padded;
  sums[axis] = parts[axis] = blocks;
  parts.insert(parts.begin() + axis + 1, kBlock);
  Value inBlocks = b.reshape(wide, parts);
  Value totals =
      b.reduce(inBlocks, isSum ? Combiner::sum : Combiner::prod, {axis + 1});
  Value before = cumulate<Op>(b, b.reshape(totals, sums), axis,
                              /*isExclusive=*/true, isReverse);
  parts[axis + 1] = 1;
  Value inside = Op::create(b, inBlocks, axis + 1, isExclusive, isReverse);
  Value y = b.reshape(combine(inside, b.reshape(before, parts)), padded);
  if (high[axis])
    y = SliceOp::create(b, y, low, whole, ones);
  return b.cast(y, element);
}

template <class Op> static void split(Op op) {
  int64_t axis = axisOf(op.getX(), op.getAxis());
  if (shapeOf(op.getX())[axis] <= 2 * kBlock)
    return;
  NNBuilder b(op.getLoc(), op.getOperation());
  op.getY().replaceAllUsesWith(
      cumulate<Op>(b, op.getX(), axis, op.getExclusive(), op.getReverse()));
  op.erase();
}

namespace {
class SplitPrefixSums
    : public frit::impl::SplitPrefixSumsBase<SplitPrefixSums> {
public:
  void runOnOperation() override {
    SmallVector<Operation *> found;
    getOperation().walk([&](Operation *op) {
      if (isa<CumSumOp, CumProdOp>(op))
        found.push_back(op);
    });
    for (Operation *op : found) {
      if (auto sum = dyn_cast<CumSumOp>(op))
        split(sum);
      else
        split(cast<CumProdOp>(op));
    }
  }
};
} // namespace
