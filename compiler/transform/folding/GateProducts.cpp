//===- GateProducts.cpp - Values and gates of one product -----------------===//
//
//   %p = nn.add nn.matmul(%x, %w), %b
//   %v = nn.slice %p, the first half of its columns
//   %g = nn.slice %p, the second half
//   %y = nn.mul %v, nn.gelu %g
// ==>
//   %p = nn.add nn.matmul(%x, %w'), %b'
//   %y = nn.gate_columns %p {activation = "gelu"}
//
// where w' and b' have a column of values and one of gates in turn, in the
// order of nn.gate_columns. The product's kernel then has both at hand: the
// columns, twice as many as the result's, are neither written nor read. The
// weights move in @prepare. They must have no other reader, else both orders
// would be on the device. The halves may come in either order.
//
//===----------------------------------------------------------------------===//

#include "dialects/nn/rewrites/GateProducts.h"

#include "compiler/transform/Graph.h"
#include "compiler/transform/Passes.h"
#include "compiler/transform/TargetRewritePass.h"
#include "dialects/nn/operators/Quantized.h"

namespace frit {
#define GEN_PASS_DEF_GATEPRODUCTS
#include "compiler/transform/Passes.h.inc"
} // namespace frit

using namespace mlir;
using namespace frit;
using namespace frit::nn;

/// Returns the name of an activation in nn.gate_columns, or "".
static StringRef gateName(Operation *op) {
  if (isa_and_nonnull<SiluOp>(op))
    return "silu";
  auto gelu = dyn_cast_or_null<GeluOp>(op);
  if (!gelu)
    return "";
  return gelu.getApproximate() == "tanh" ? "gelu_tanh" : "gelu";
}

/// Returns which half of the columns of its operand a slice is; -1 if none.
static int halfOf(SliceOp slice) {
  ArrayRef<int64_t> from = shapeOf(slice.getX()), to = shapeOf(slice.getY());
  int64_t start = slice.getStarts().back();
  if (llvm::any_of(slice.getSteps(), [](int64_t step) { return step != 1; }) ||
      from.drop_back() != to.drop_back() || 2 * to.back() != from.back() ||
      start % to.back() != 0)
    return -1;
  return start / to.back();
}

namespace {
/// A product whose columns are values and gates.
struct Gated {
  MatmulOp product;
  AddOp sum; ///< of the product and a bias; or null
  Value bias;
  SliceOp value, gate;
  Operation *activation;
  MulOp result;

  Value columns() { return value.getX(); }
};

class GateProducts
    : public TargetRewritePass<frit::impl::GateProductsBase<GateProducts>,
                               GateProductsRewrite> {
public:
  using TargetRewritePass::TargetRewritePass;

private:
  void run(Block &block) override {
    for (auto result : llvm::make_early_inc_range(block.getOps<MulOp>()))
      if (auto gated = match(result))
        gate(*gated);
  }

  std::optional<Gated> match(MulOp result) const;
  void gate(Gated gated) const;
};
} // namespace

/// Finds the product and the bias of `found.columns()`.
static bool findProduct(Gated &found) {
  Value columns = found.columns();
  found.product = columns.getDefiningOp<MatmulOp>();
  found.sum = columns.getDefiningOp<AddOp>();
  for (unsigned i = 0; found.sum && !found.product && i < 2; ++i) {
    Value bias = found.sum->getOperand(i);
    auto product = found.sum->getOperand(1 - i).getDefiningOp<MatmulOp>();
    if (!product || !product->hasOneUse() || !dependsOnConstants(bias) ||
        product.getY().getType() != columns.getType() ||
        shapeOf(bias) != shapeOf(columns).take_back() || !isReadOnce(bias))
      continue;
    found.product = product;
    found.bias = bias;
  }
  return found.product && shapeOf(found.product.getB()).size() == 2 &&
         !found.product.getB().getDefiningOp<DequantizeOp>() &&
         dependsOnConstants(found.product.getB()) &&
         isReadOnce(found.product.getB());
}

std::optional<Gated> GateProducts::match(MulOp result) const {
  for (unsigned i = 0; i < 2; ++i) {
    Gated found;
    found.result = result;
    found.value = result->getOperand(i).getDefiningOp<SliceOp>();
    found.activation = result->getOperand(1 - i).getDefiningOp();
    if (!found.value || gateName(found.activation).empty())
      continue;
    found.gate = found.activation->getOperand(0).getDefiningOp<SliceOp>();
    if (!found.gate || found.gate.getX() != found.value.getX() ||
        !tensorType(found.value.getX()).hasStaticShape() ||
        !found.activation->hasOneUse() || !found.value->hasOneUse() ||
        !found.gate->hasOneUse() || !found.columns().hasNUses(2))
      continue;
    int value = halfOf(found.value), gate = halfOf(found.gate);
    if (value < 0 || gate < 0 || value == gate ||
        shapeOf(found.columns()).back() % kGatedColumns != 0 ||
        !findProduct(found) || !rewrite->takes(found.product))
      continue;
    return found;
  }
  return std::nullopt;
}

/// Puts the columns of a weight or bias, dimension `axis`, in the order of
/// nn.gate_columns.
static Value inPairs(NNBuilder &b, Value v, int64_t axis, bool valuesFirst) {
  SmallVector<int64_t> parted(shapeOf(v));
  int64_t groups = parted[axis] / kGatedColumns;
  // [half, group, pair, parity] becomes [group, parity, pair, half].
  int64_t halves[] = {2, groups, kGatedColumns / 4, 2};
  parted.erase(parted.begin() + axis);
  parted.insert(parted.begin() + axis, std::begin(halves), std::end(halves));
  SmallVector<int64_t> order =
      llvm::to_vector(llvm::seq<int64_t>(0, parted.size()));
  const int64_t from[] = {1, 3, 2, 0};
  for (int64_t i = 0; i < 4; ++i)
    order[axis + i] = axis + from[i];
  Value halved = b.reshape(v, parted);
  if (!valuesFirst) {
    SmallVector<int64_t> starts(parted.size(), 0), sizes(parted),
        steps(parted.size(), 1);
    sizes[axis] = 1;
    Value gates = SliceOp::create(b, halved, starts, sizes, steps);
    starts[axis] = 1;
    Value values = SliceOp::create(b, halved, starts, sizes, steps);
    halved = ConcatOp::create(b, ValueRange{values, gates}, axis);
  }
  return b.reshape(TransposeOp::create(b, halved, order), shapeOf(v));
}

void GateProducts::gate(Gated gated) const {
  MatmulOp product = gated.product;
  SmallVector<Operation *> replaced = {product};
  if (gated.sum)
    replaced.push_back(gated.sum);
  replaced.append({gated.value, gated.gate, gated.activation, gated.result});
  NNBuilder b(fuseLocations(replaced), gated.result);
  bool valuesFirst = halfOf(gated.value) == 0;
  Value w =
      inPairs(b, product.getB(), product.getTransposeB() ? 0 : 1, valuesFirst);
  Value columns =
      MatmulOp::create(b, product.getA(), w, product.getTransposeA(),
                       product.getTransposeB(), product.getTf32());
  if (gated.bias)
    columns = b.add(columns, inPairs(b, gated.bias, 0, valuesFirst));
  Value y = GateColumnsOp::create(b, columns, gateName(gated.activation));
  Operation *last = gated.result;
  last->replaceAllUsesWith(ValueRange{y});
  for (Operation *op : llvm::reverse(replaced))
    op->erase();
}

std::unique_ptr<Pass> frit::createGateProducts(const Target &target) {
  return std::make_unique<GateProducts>(target);
}
