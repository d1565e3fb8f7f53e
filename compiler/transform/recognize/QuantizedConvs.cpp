//===- QuantizedConvs.cpp - Recognize products of quantized tensors -------===//
//
//   %x = nn.mul nn.cast(nn.sub(nn.cast %q : ui8, 117)), %s      dequantized
//   %w = nn.mul nn.cast(%v : i8), %t                             per filter
//   %y = nn.conv %x, %w, %b
//   %p = nn.cast nn.min(nn.max(nn.add(nn.round(nn.div %y, %u), 3), 0), 255)
// ==>
//   %p = nn.quantized_conv %q, %v, 117, 0, %s · %t / %u, %b / %u, 3
//
// between transposes that put channels last. Operands are quantized tensors
// minus their zero points, with or without scales: those of QDQ models, of
// QLinearConv and ConvInteger, and likewise of matrix products with one matrix
// on the right. Of what follows, sums with one number per filter, scales, a
// relu and a quantization become a part of it. As in ONNX Runtime, scales are
// multiplied first, so that a result halfway between two numbers may round the
// other way.
//
// If the target does not keep the operator, nothing changes.
//
//===----------------------------------------------------------------------===//

#include "compiler/transform/Graph.h"
#include "compiler/transform/Passes.h"
#include "compiler/transform/layout/LayoutPatterns.h"
#include "compiler/transform/recognize/QuantizedEpilogue.h"

namespace frit {
#define GEN_PASS_DEF_QUANTIZEDCONVS
#include "compiler/transform/Passes.h.inc"
} // namespace frit

using namespace mlir;
using namespace frit;
using namespace frit::nn;

namespace {
class QuantizedConvs : public frit::impl::QuantizedConvsBase<QuantizedConvs> {
public:
  explicit QuantizedConvs(const Target &target) : target(target) {}

  void runOnOperation() override {
    SmallVector<Operation *> products;
    getOperation().walk([&](Operation *op) {
      if (isa<ConvOp, MatmulOp>(op))
        products.push_back(op);
    });
    for (Operation *op : products)
      if (auto conv = dyn_cast<ConvOp>(op))
        rewrite(conv);
      else
        rewrite(cast<MatmulOp>(op));
    for (auto function : getOperation().getOps<func::FuncOp>())
      for (Block &block : function)
        eraseDead(block);
  }

private:
  void rewrite(ConvOp conv);
  void rewrite(MatmulOp product);
  Value create(QuantizedEpilogue &epilogue, Value x, Value w,
               const Scaled &left, const Scaled &right, ConvOp conv);

  const Target &target;
};
} // namespace

/// Creates the operator at the end of the epilogue; null if the target does
/// not keep it. `conv` is null for a product of matrices.
Value QuantizedConvs::create(QuantizedEpilogue &epilogue, Value x, Value w,
                             const Scaled &left, const Scaled &right,
                             ConvOp conv) {
  NNBuilder &b = epilogue.b;
  auto zeroOr = [&](const Bytes &bytes) {
    return bytes.zero
               ? bytes.zero
               : createByte(b, tensorType(bytes.value).getElementType(), 0);
  };
  Type element = resultType(epilogue.end).getElementType();
  auto y = QuantizedConvOp::create(
      b, x, w, zeroOr(left.bytes), zeroOr(right.bytes), epilogue.offset,
      epilogue.scale, epilogue.bias, epilogue.zero,
      conv ? conv.getStrides() : ArrayRef<int64_t>(),
      conv ? conv.getPads() : ArrayRef<int64_t>(),
      conv ? conv.getDilations() : ArrayRef<int64_t>(),
      conv ? conv.getGroup() : 1, epilogue.relu);
  if (!target.keepsWhole(cast<CompositeOp>(y.getOperation()))) {
    y.erase();
    return {};
  }
  return b.cast(y.getY(), element);
}

/// Multiplies the scales of both operands. Returns whether they are numbers
/// or, on the right, one for each filter.
static bool takeScales(QuantizedEpilogue &epilogue, const Scaled &left,
                       const Scaled &right, int64_t axis, int64_t count) {
  for (Value scale : left.scales) {
    if (!hasOneElement(scale))
      return false;
    epilogue.multiply(epilogue.b.reshape(scale, {}));
  }
  int64_t rank = tensorType(right.bytes.value).getRank();
  for (Value scale : right.scales) {
    Value vector = alongAxis(epilogue.b, scale, rank, axis, count);
    if (!vector)
      return false;
    epilogue.multiply(vector);
  }
  return true;
}

void QuantizedConvs::rewrite(ConvOp conv) {
  int64_t rank = tensorType(conv.getX()).getRank();
  if (rank < 3 || rank > 4 || !tensorType(conv.getX()).hasStaticShape() ||
      !tensorType(conv.getW()).hasStaticShape())
    return;
  NNBuilder b(conv.getLoc(), conv.getOperation());
  auto left = describeScaled(b, conv.getX());
  auto right = left ? describeScaled(b, conv.getW()) : std::nullopt;
  if (!right || !dependsOnConstants(right->bytes.value))
    return;
  bool isLast = conv.getChannelsLast();
  int64_t filters = shapeOf(conv.getW())[0];
  QuantizedEpilogue epilogue(b, conv, isLast ? rank - 1 : 1, filters);
  if (!takeScales(epilogue, *left, *right, 0, filters))
    return;
  if (conv.getBias() && !epilogue.takeBias(conv.getBias()))
    return;
  epilogue.extend();
  b.setInsertionPoint(epilogue.end);
  b.setLoc(fuseLocations({conv, epilogue.end}));
  Value x = left->bytes.value, w = right->bytes.value;
  if (!isLast) {
    x = transposeToLast(b, x);
    w = transposeToLast(b, w);
  }
  Value y = create(epilogue, x, w, *left, *right, conv);
  if (!y)
    return;
  epilogue.end->replaceAllUsesWith(
      ValueRange{isLast ? y : transposeToFirst(b, y)});
}

void QuantizedConvs::rewrite(MatmulOp product) {
  auto typeA = tensorType(product.getA()), typeB = tensorType(product.getB());
  if (typeB.getRank() != 2 || typeA.getRank() < 2 || product.getTransposeA() ||
      !typeA.hasStaticShape() || !typeB.hasStaticShape() ||
      typeA.getNumElements() == 0 || typeB.getNumElements() == 0)
    return;
  NNBuilder b(product.getLoc(), product.getOperation());
  auto left = describeScaled(b, product.getA());
  auto right = left ? describeScaled(b, product.getB()) : std::nullopt;
  if (!right || !dependsOnConstants(right->bytes.value))
    return;
  bool isTransposed = product.getTransposeB();
  int64_t columns = typeB.getDimSize(isTransposed ? 0 : 1);
  int64_t depth = typeA.getShape().back();
  QuantizedEpilogue epilogue(b, product, typeA.getRank() - 1, columns);
  if (!takeScales(epilogue, *left, *right, isTransposed ? 0 : 1, columns))
    return;
  epilogue.extend();
  b.setInsertionPoint(epilogue.end);
  b.setLoc(fuseLocations({product, epilogue.end}));
  Value x =
      b.reshape(left->bytes.value, {typeA.getNumElements() / depth, depth});
  Value w = right->bytes.value;
  if (!isTransposed)
    w = TransposeOp::create(b, w, {1, 0});
  Value y = create(epilogue, x, w, *left, *right, ConvOp());
  if (!y)
    return;
  epilogue.end->replaceAllUsesWith(
      ValueRange{b.reshape(y, shapeOf(epilogue.end->getResult(0)))});
}

std::unique_ptr<Pass> frit::createQuantizedConvs(const Target &target) {
  return std::make_unique<QuantizedConvs>(target);
}
