//===- HoistPrepare.cpp - Compute functions of weights at load ------------===//
//
//   func.func @main(%x: tensor<2x4xf16>) -> tensor<2x3xf16> {
//     %w = nn.constant "fc.weight" dense_resource<fc.weight> : tensor<4x3xf32>
//     %h = nn.cast %w {to = f16} : ...
//     %y = nn.matmul %x, %h : ...
// ==>
//   func.func @main(%x: tensor<2x4xf16>,
//                   %h: tensor<4x3xf16> {nn.prepared = 0 : i64}) -> ... {
//     %y = nn.matmul %x, %h : ...
//   }
//   func.func @prepare() -> tensor<4x3xf16> {
//     %w = nn.constant "fc.weight" dense_resource<fc.weight> : tensor<4x3xf32>
//     %h = nn.cast %w {to = f16} : ...
//     return %h : tensor<4x3xf16>
//   }
//
// A value stays in @main if it costs nothing there: constants and views of
// them, broadcasts, and counters (iota), which fusions compute on the fly. A
// large splat constant therefore becomes a broadcast:
//
//   %c = nn.constant dense<1.0> : tensor<1024x1024xf32>
// ==>
//   %e = nn.constant dense<1.0> : tensor<f32>
//   %c = nn.expand %e {shape = array<i64: 1024, 1024>} : ...
//
//===----------------------------------------------------------------------===//

#include "compiler/transform/Graph.h"
#include "compiler/transform/Passes.h"
#include "compiler/transform/quantize/RoundableProducts.h"
#include "dialects/nn/operators/Quantized.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"

namespace frit {
#define GEN_PASS_DEF_HOISTPREPARE
#include "compiler/transform/Passes.h.inc"
} // namespace frit

using namespace mlir;
using namespace frit;
using namespace frit::nn;

namespace {
class HoistPrepare : public frit::impl::HoistPrepareBase<HoistPrepare> {
public:
  void runOnOperation() override;

private:
  void findConstantOps(Block &block);
  bool hoists(Operation *op) const;
  func::FuncOp createPrepare(func::FuncOp main, ArrayRef<Value> values);

  /// The operators that depend on constants only, constants included.
  llvm::SetVector<Operation *> constantOps;
};
} // namespace

/// Splat constants of at least this many bytes are not stored.
static constexpr int64_t kLargeSplat = 1 << 20;

/// Replaces large splats by broadcasts for readers that compute them on the
/// fly: elementwise operators, and the results of the model.
static void broadcastSplats(Block &block) {
  for (auto constant : llvm::make_early_inc_range(block.getOps<ConstantOp>())) {
    auto value = dyn_cast<SplatElementsAttr>(constant.getValue());
    if (!value || constant.getNameAttr())
      continue;
    unsigned bits = value.getElementType().getIntOrFloatBitWidth();
    if (value.getNumElements() * int64_t(bits) / 8 < kLargeSplat)
      continue;
    OpBuilder builder(constant);
    auto one = ConstantOp::create(
        builder, constant.getLoc(),
        value.resizeSplat(RankedTensorType::get({}, value.getElementType())),
        StringAttr());
    auto whole = ExpandOp::create(builder, constant.getLoc(), one,
                                  value.getType().getShape());
    constant.getY().replaceUsesWithIf(whole, [](OpOperand &use) {
      return isa<ElementwiseOp, func::ReturnOp>(use.getOwner());
    });
    for (Operation *op :
         {constant.getOperation(), whole.getOperation(), one.getOperation()})
      if (op->use_empty())
        op->erase();
  }
}

void HoistPrepare::findConstantOps(Block &block) {
  for (Operation &op : block.without_terminator()) {
    auto isConstant = [&](Value operand) {
      Operation *def = operand.getDefiningOp();
      return def && constantOps.contains(def);
    };
    if (isPure(&op) && !isCollective(&op) &&
        llvm::all_of(op.getOperands(), isConstant))
      constantOps.insert(&op);
  }
}

/// Returns whether an operator on constants is computed in @prepare and its
/// result stored. Weights that the target reads as codes stay codes, and those
/// that it reads without zeros stay so.
bool HoistPrepare::hoists(Operation *op) const {
  return constantOps.contains(op) &&
         !isa<ConstantOp, ReshapeOp, ExpandOp, IotaOp, DequantizeOp,
              DecompressOp>(op);
}

/// Creates a function that computes `values` by clones of the needed operators.
func::FuncOp HoistPrepare::createPrepare(func::FuncOp main,
                                         ArrayRef<Value> values) {
  llvm::DenseSet<Operation *> needed;
  SmallVector<Operation *> work;
  for (Value value : values)
    work.push_back(value.getDefiningOp());
  while (!work.empty()) {
    Operation *op = work.pop_back_val();
    if (!needed.insert(op).second)
      continue;
    for (Value operand : op->getOperands())
      work.push_back(operand.getDefiningOp());
  }

  OpBuilder builder(&getContext());
  builder.setInsertionPointAfter(main);
  auto type = builder.getFunctionType({}, TypeRange(ValueRange(values)));
  auto prepare = func::FuncOp::create(builder, main.getLoc(), "prepare", type);
  builder.setInsertionPointToEnd(prepare.addEntryBlock());
  IRMapping map;
  for (Operation *op : constantOps)
    if (needed.contains(op))
      builder.clone(*op, map);
  auto results = llvm::map_to_vector(
      values, [&](Value value) { return map.lookup(value); });
  func::ReturnOp::create(builder, main.getLoc(), results);
  return prepare;
}

static int64_t bitsOf(Value value) {
  return tensorType(value).getElementTypeBitWidth();
}

/// Returns the bytes of the codes that a value is computed from: of the largest
/// constant of elements of at most 8 bits.
static int64_t codeBytesOf(Value value) {
  int64_t most = 0;
  llvm::SetVector<Operation *> work;
  work.insert(value.getDefiningOp());
  for (size_t i = 0; i < work.size(); ++i) {
    Operation *op = work[i];
    for (Value operand : op->getOperands())
      work.insert(operand.getDefiningOp());
    auto constant = dyn_cast<ConstantOp>(op);
    if (constant && bitsOf(constant.getY()) <= 8)
      most = std::max(most, tensorType(constant.getY()).getNumElements() *
                                bitsOf(constant.getY()) / 8);
  }
  return most;
}

/// Remarks on products whose weight, a value of @prepare, is made of codes:
/// they read numbers that take several times as much memory.
static void tellWide(Value weight) {
  auto type = tensorType(weight);
  int64_t count = type.getNumElements();
  if (!isa<FloatType>(type.getElementType()) || count < kFewestRounded)
    return;
  int64_t codes = codeBytesOf(weight), bytes = count * bitsOf(weight) / 8;
  // Codes have from 2 to 8 bits.
  if (codes < count / 4 || codes >= bytes)
    return;
  SmallVector<OpOperand *> work = llvm::map_to_vector(
      weight.getUses(), [](OpOperand &use) { return &use; });
  while (!work.empty()) {
    OpOperand *use = work.pop_back_val();
    Operation *user = use->getOwner();
    if (isa<ReshapeOp, TransposeOp>(user))
      for (OpOperand &next : user->getResult(0).getUses())
        work.push_back(&next);
    else if (isa<MatmulOp, ConvOp>(user) && use->getOperandNumber() < 2)
      remark::missed(
          user->getLoc(),
          remark::RemarkOpts::name("WideWeight").category("quantization"))
          << remark::add("its weight takes {0} bytes as {1} from loading on, "
                         "and {2} as codes: the target has no product of this "
                         "type by codes in this form",
                         bytes, type.getElementType(), codes);
  }
}

void HoistPrepare::runOnOperation() {
  auto main = getOperation().lookupSymbol<func::FuncOp>("main");
  if (!main || main.isExternal())
    return;
  constantOps.clear();
  Block &block = main.getBody().front();
  broadcastSplats(block);
  findConstantOps(block);

  // A reshape or broadcast that only hoisted operators read needs no copy of
  // its operand in @main.
  auto readInMain = [&](Value value) {
    SmallVector<Operation *> work(value.getUsers());
    while (!work.empty()) {
      Operation *user = work.pop_back_val();
      if (hoists(user))
        continue;
      if (!constantOps.contains(user))
        return true;
      llvm::append_range(work, user->getUsers());
    }
    return false;
  };
  SmallVector<Value> frontier;
  for (Operation *op : constantOps)
    if (hoists(op))
      llvm::copy_if(op->getResults(), std::back_inserter(frontier), readInMain);
  if (frontier.empty())
    return;
  llvm::for_each(frontier, tellWide);

  createPrepare(main, frontier);
  Builder builder(&getContext());
  unsigned first = main.getNumArguments();
  SmallVector<DictionaryAttr> attributes;
  for (size_t i = 0; i < frontier.size(); ++i)
    attributes.push_back(builder.getDictionaryAttr(
        builder.getNamedAttr("nn.prepared", builder.getI64IntegerAttr(i))));
  if (failed(main.insertArguments(
          SmallVector<unsigned>(frontier.size(), first),
          SmallVector<Type>(ValueRange(frontier).getTypes()), attributes,
          llvm::map_to_vector(frontier,
                              [](Value value) { return value.getLoc(); }))))
    return signalPassFailure();
  for (auto [value, argument] :
       llvm::zip_equal(frontier, main.getArguments().drop_front(first)))
    value.replaceAllUsesWith(argument);
  for (Operation *op : llvm::reverse(constantOps))
    if (op->use_empty())
      op->erase();
  constantOps.clear();
}
