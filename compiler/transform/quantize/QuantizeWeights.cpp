//===- QuantizeWeights.cpp - Round weights of products to few bits --------===//
//
//   %w = nn.constant "fc.weight" ... : tensor<4096x1024xbf16>
//   %y = nn.matmul %x, %w {transpose_b}
// ==>
//   %c = nn.constant ... : tensor<4096x512xui8>
//   %s = nn.constant ... : tensor<4096x16xf16>
//   %w = nn.dequantize %c, %s {code = "int4", to = bf16}
//   %y = nn.matmul %x, %w {transpose_b}
//
// Matrices that are read along the other dimension are transposed. A table of
// which a product reads all and a gather some rows is stored once. Products
// whose result leaves the model, such as logits, have int8: their errors are
// not averaged by what follows.
//
//===----------------------------------------------------------------------===//

#include "compiler/transform/Graph.h"
#include "compiler/transform/Passes.h"
#include "compiler/transform/quantize/RoundableProducts.h"
#include "compiler/transform/quantize/RoundedWeights.h"
#include "compiler/transform/sparse/Sparsity.h"

#include "mlir/IR/Remarks.h"

namespace frit {
#define GEN_PASS_DEF_QUANTIZEWEIGHTS
#include "compiler/transform/Passes.h.inc"
} // namespace frit

using namespace mlir;
using namespace frit;
using namespace frit::nn;

/// Returns whether a value reaches the function's results through elementwise
/// operators and movement only.
static bool isResult(Value value, unsigned depth = 16) {
  return depth > 0 && !value.use_empty() &&
         llvm::all_of(value.getUsers(), [&](Operation *user) {
           return isa<func::ReturnOp>(user) ||
                  (isa<ElementwiseOp, ReshapeOp, SliceOp, ArgMaxOp, ReduceOp,
                       UpdateOp, GatherOp, ConcatOp>(user) &&
                   isResult(user->getResult(0), depth - 1));
         });
}

bool frit::endsModel(MatmulOp product) { return isResult(product.getY()); }

bool frit::isRoundable(MatmulOp product) {
  Value weight = product.getB();
  return tensorType(weight).getRank() == 2 && dependsOnConstants(weight) &&
         !weight.getDefiningOp<DequantizeOp>();
}

namespace {
class QuantizeWeights
    : public frit::impl::QuantizeWeightsBase<QuantizeWeights> {
public:
  QuantizeWeights(StringRef chosen, RoundedWeights *shared) : shared(shared) {
    format = chosen.str();
  }

  LogicalResult initialize(MLIRContext *context) override {
    auto read = readWeightFormat(format);
    if (!read)
      return emitError(UnknownLoc::get(context))
             << "'" << format << "' is no format of weights";
    chosen = *read;
    return success();
  }

  void runOnOperation() override {
    SmallVector<MatmulOp> products;
    getOperation().walk([&](MatmulOp op) { products.push_back(op); });
    for (MatmulOp op : products)
      quantize(op);
    for (auto function : getOperation().getOps<func::FuncOp>())
      for (Block &block : function)
        eraseDead(block);
  }

private:
  void quantize(MatmulOp op);
  Value build(NNBuilder &b, Value weight, bool transposed, Type to,
              WeightFormat format);

  WeightFormat chosen;
  RoundedWeights *shared, own;
};
} // namespace

/// Returns the codes of a weight, rounding it once for all functions.
static std::optional<WeightCodes> codesOf(RoundedWeights &rounded,
                                          ElementsAttr value, bool transposed,
                                          WeightFormat format) {
  auto key = std::tuple(value.getAsOpaquePointer(), transposed,
                        int(format.code), format.block);
  auto found = rounded.find(key);
  if (found == rounded.end())
    found = rounded.emplace(key, roundWeights(value, transposed, format)).first;
  return found->second;
}

/// Builds the quantized form of a weight, which is a constant or joins some;
/// null if it has none.
Value QuantizeWeights::build(NNBuilder &b, Value weight, bool transposed,
                             Type to, WeightFormat format) {
  Operation *def = weight.getDefiningOp();
  if (auto cast = dyn_cast_or_null<CastOp>(def))
    return build(b, cast.getX(), transposed, to, format);
  if (auto move = dyn_cast_or_null<TransposeOp>(def))
    return move.getPerm() == ArrayRef<int64_t>{1, 0}
               ? build(b, move.getX(), !transposed, to, format)
               : Value();
  if (auto concat = dyn_cast_or_null<ConcatOp>(def)) {
    if (axisOf(concat.getY(), concat.getAxis()) != (transposed ? 1 : 0))
      return {};
    SmallVector<Value> parts;
    for (Value x : concat.getXs()) {
      parts.push_back(build(b, x, transposed, to, format));
      if (!parts.back())
        return {};
    }
    return ConcatOp::create(b, parts, 0);
  }
  auto constant = dyn_cast_or_null<ConstantOp>(def);
  if (!constant || tensorType(weight).getRank() != 2 ||
      tensorType(weight).getNumElements() < fewest)
    return {};
  auto codes =
      codesOf(shared ? *shared : own, constant.getValue(), transposed, format);
  if (!codes)
    return {};
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(constant);
  Location loc = constant.getLoc();
  auto name = [&](StringRef part) {
    StringAttr own = constant.getNameAttr();
    return own ? b.getStringAttr(own.getValue() + part) : StringAttr();
  };
  auto coded = ConstantOp::create(b, loc, codes->codes, name(".codes"));
  if (constant->hasAttr(kSparse))
    coded->setAttr(kSparse, b.getUnitAttr());
  Value values = coded.getY();
  Value scales =
      ConstantOp::create(b, loc, codes->scales, name(".scales")).getY();
  return DequantizeOp::create(b, loc, values, scales, Value(),
                              nameOf(format.code), to, /*tiled=*/false);
}

void QuantizeWeights::quantize(MatmulOp op) {
  Value weight = op.getB();
  auto type = tensorType(weight);
  if (!isRoundable(op))
    return;
  NNBuilder b(op.getLoc(), op);
  WeightFormat format = chosen;
  if (endsModel(op))
    format = {Code::int8, 0};
  Value codes =
      build(b, weight, !op.getTransposeB(), type.getElementType(), format);
  if (!codes) {
    remark::missed(op.getLoc(),
                   remark::RemarkOpts::name("NotQuantized").category("weights"))
        << remark::add("its weight stays {0}: it is small, not finite, or has "
                       "rows that are no whole blocks",
                       type.getElementType());
    return;
  }
  op.getBMutable().assign(codes);
  op.setTransposeB(true);
  if (!codes.getDefiningOp<DequantizeOp>() || weight.use_empty())
    return;
  // Embeddings of a tied head.
  for (OpOperand &use : llvm::make_early_inc_range(weight.getUses()))
    if (auto gather = dyn_cast<GatherOp>(use.getOwner());
        gather && use.getOperandNumber() == 0 &&
        axisOf(weight, gather.getAxis()) == 0 &&
        shapeOf(codes) == shapeOf(weight)) {
      codes.getDefiningOp()->moveAfter(weight.getDefiningOp());
      for (Value operand : codes.getDefiningOp()->getOperands())
        operand.getDefiningOp()->moveBefore(codes.getDefiningOp());
      use.set(codes);
    }
}

std::unique_ptr<Pass> frit::createQuantizeWeights(StringRef format,
                                                  RoundedWeights *rounded) {
  return std::make_unique<QuantizeWeights>(format, rounded);
}
