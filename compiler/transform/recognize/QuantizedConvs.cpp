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
// Products of 8-bit floats, of which the operands have no zero points, become
// the operator's sums, and what follows stays as it is (FloatProducts.cpp).
//
// If the target has no kernel for the operator nor for its sums, nothing
// changes. A remark says why products of quantized tensors stay wide.
//
//===----------------------------------------------------------------------===//

#include "dialects/nn/rewrites/QuantizedConvs.h"
#include "compiler/transform/Graph.h"
#include "compiler/transform/Passes.h"
#include "compiler/transform/layout/LayoutPatterns.h"
#include "compiler/transform/recognize/FloatProducts.h"
#include "compiler/transform/recognize/QuantizedEpilogue.h"
#include "compiler/transform/recognize/QuantizedImages.h"
#include "dialects/nn/contraction/Contraction.h"

#include "mlir/IR/Remarks.h"

namespace frit {
#define GEN_PASS_DEF_QUANTIZEDCONVS
#include "compiler/transform/Passes.h.inc"
} // namespace frit

using namespace mlir;
using namespace frit;
using namespace frit::nn;

static constexpr StringRef kManyScales =
    "its scales are neither numbers nor, on the right, one for each filter";

namespace {
class QuantizedConvs : public frit::impl::QuantizedConvsBase<QuantizedConvs> {
public:
  QuantizedConvs(const Target &target, const QuantizedConvsOptions &options)
      : QuantizedConvsBase(options), target(target) {
    target.populateRewrites(rewrites);
  }

  void runOnOperation() override {
    wanted = rewrites.find<QuantizedRewrite>();
    SmallVector<Operation *> products;
    bool isDynamic = false;
    getOperation().walk([&](Operation *op) {
      if (isa<ConvOp, MatmulOp>(op))
        products.push_back(op);
      else if (auto pool = dyn_cast<MaxPoolOp>(op))
        poolBytes(pool);
      else if (auto round = dyn_cast<RoundOp>(op))
        isDynamic |= quantizes(round);
    });
    getOperation().walk([](CastOp cast) { dropQuantization(cast); });
    if (wanted && isDynamic)
      getOperation().walk(
          [&](ReduceOp reduce) { splitRange(reduce, wanted->longRange); });
    for (Operation *op : products) {
      bool isQuantized = llvm::any_of(op->getOperands().take_front(2),
                                      [](Value v) { return isDequantized(v); });
      auto conv = dyn_cast<ConvOp>(op);
      Legality why = conv ? rewrite(conv) : rewrite(cast<MatmulOp>(op));
      if (why && isQuantized)
        remark::missed(op->getLoc(), remark::RemarkOpts::name("Wide").category(
                                         "quantization"))
            << remark::add("multiplies quantized tensors in a wider type: {0}",
                           why->reason());
    }
    for (auto function : getOperation().getOps<func::FuncOp>())
      for (Block &block : function)
        eraseDead(block);
  }

private:
  /// Rewrite a product, or return why it stays as it is.
  Legality rewrite(ConvOp conv);
  Legality rewrite(MatmulOp product);
  /// Describes both operands, or returns why they are not quantized.
  static Legality describe(NNBuilder &b, Value a, Value w,
                           std::optional<Scaled> &left,
                           std::optional<Scaled> &right);
  Value create(QuantizedEpilogue &epilogue, Value x, Value w,
               const Scaled &left, const Scaled &right,
               const ConvWindows &windows);
  void padChannels(NNBuilder &b, const Scaled &left, const Scaled &right,
                   Value &x, Value &w) const;

  const Target &target;
  TargetRewrites rewrites;
  const QuantizedRewrite *wanted =
      nullptr; ///< null if the target has no wishes
};
} // namespace

/// Returns whether a target has a kernel for an operator, or for its sums.
/// Elementwise operators compute what follows them there.
static bool computes(const Target &target, NNBuilder &b, QuantizedConvOp op) {
  if (target.keepsWhole(cast<CompositeOp>(op.getOperation())))
    return true;
  if (!hasEnd(op))
    return false;
  auto sums = createSums(b, op);
  bool isKept = target.keepsWhole(cast<CompositeOp>(sums.getOperation()));
  sums.erase();
  return isKept;
}

/// Adds channels, of which the operands have zero points, up to the multiple
/// that the target wants.
void QuantizedConvs::padChannels(NNBuilder &b, const Scaled &left,
                                 const Scaled &right, Value &x,
                                 Value &w) const {
  int64_t channels = shapeOf(x).back(), multiple = wanted->channelMultiple;
  if (channels % multiple == 0 || channels < wanted->fewestChannels)
    return;
  auto pad = [&](Value value, Value zero) {
    SmallVector<int64_t> low(shapeOf(value).size(), 0), high = low;
    high.back() = llvm::alignTo(channels, multiple) - channels;
    return Value(PadOp::create(b, value, zero, low, high, "constant"));
  };
  x = pad(x, left.bytes.zero);
  w = pad(w, right.bytes.zero);
}

static bool isNumber(Value bytes, int64_t number) {
  auto integers = integersOf(bytes);
  return integers && *integers == ArrayRef<int64_t>(number);
}

/// Returns the number that each filter's sum of x · w exceeds that of (x -
/// zero) · w by, negated.
static Value offsetOf(NNBuilder &b, Value w, Value zero) {
  Type i32 = b.getI32Type();
  SmallVector<int64_t> axes =
      llvm::to_vector(llvm::seq<int64_t>(1, tensorType(w).getRank()));
  Value sums = b.reduce(b.cast(w, i32), Combiner::sum, axes);
  Value negative = b.sub(b.zeros(RankedTensorType::get({}, i32)),
                         b.cast(b.reshape(zero, {}), i32));
  return b.mul(b.reshape(sums, shapeOf(w).take_front()), negative);
}

/// Creates the operator at the end of the epilogue; null if the target does
/// not compute it.
Value QuantizedConvs::create(QuantizedEpilogue &epilogue, Value x, Value w,
                             const Scaled &left, const Scaled &right,
                             const ConvWindows &windows) {
  NNBuilder &b = epilogue.b;
  auto zeroOr = [&](const Bytes &bytes) {
    return bytes.zero
               ? bytes.zero
               : createByte(b, tensorType(bytes.value).getElementType(), 0);
  };
  Type element = resultType(epilogue.end).getElementType();
  Value zeroX = zeroOr(left.bytes), zeroW = zeroOr(right.bytes);
  Value offset = epilogue.offset;
  bool isPadded =
      llvm::any_of(windows.pads, [](int64_t pad) { return pad != 0; });
  if (wanted && wanted->movesZeros && !isPadded && isNumber(zeroW, 0) &&
      !isNumber(zeroX, 0) && windows.group == 1) {
    Value moved = offsetOf(b, w, zeroX);
    offset = offset ? b.add(offset, moved) : moved;
    zeroX = createByte(b, tensorType(zeroX).getElementType(), 0);
  }
  auto y = QuantizedConvOp::create(
      b, x, w, zeroX, zeroW, offset, epilogue.scale, epilogue.bias,
      epilogue.zero, windows.strides, windows.pads, windows.dilations,
      windows.group, epilogue.relu);
  if (!computes(target, b, y)) {
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

Legality QuantizedConvs::describe(NNBuilder &b, Value a, Value w,
                                  std::optional<Scaled> &left,
                                  std::optional<Scaled> &right) {
  left = describeScaled(b, a);
  right = left ? describeScaled(b, w) : std::nullopt;
  if (!right)
    return Mismatch(Twine("its ") + (left ? "right" : "left") +
                    " operand is not bytes with one zero point");
  if (!dependsOnConstants(right->bytes.value, kWeightDepth))
    return Mismatch("both operands are computed");
  if (hasFloats(*left) != hasFloats(*right))
    return Mismatch("one operand is of integers, the other of floats");
  return std::nullopt;
}

Legality QuantizedConvs::rewrite(ConvOp conv) {
  int64_t rank = tensorType(conv.getX()).getRank();
  if (rank < 3 || rank > 4 || !tensorType(conv.getX()).hasStaticShape() ||
      !tensorType(conv.getW()).hasStaticShape())
    return Mismatch("its shape is not static, or not of one or two spatial "
                    "dimensions");
  NNBuilder b(conv.getLoc(), conv.getOperation());
  std::optional<Scaled> left, right;
  if (Legality why = describe(b, conv.getX(), conv.getW(), left, right))
    return why;
  if (hasFloats(*left))
    return rewriteFloats(b, conv, *left, *right,
                         {target, wanted, narrowsFloats});
  bool isLast = conv.getChannelsLast();
  int64_t filters = shapeOf(conv.getW())[0];
  QuantizedEpilogue epilogue(b, conv, isLast ? rank - 1 : 1, filters);
  if (!takeScales(epilogue, *left, *right, 0, filters))
    return Mismatch(kManyScales);
  if (conv.getBias() && !epilogue.takeBias(conv.getBias()))
    return Mismatch("its bias is neither of integers nor of f32");
  epilogue.extend();
  b.setInsertionPoint(epilogue.end);
  b.setLoc(fuseLocations({conv, epilogue.end}));
  Value x = left->bytes.value, w = right->bytes.value;
  ConvWindows windows = {
      llvm::to_vector(conv.getStrides()), llvm::to_vector(conv.getPads()),
      llvm::to_vector(conv.getDilations()), int64_t(conv.getGroup())};
  ArrayRef<int64_t> result = shapeOf(conv.getY());
  ConvBytes bytes = {x, w, left->bytes.zero, right->bytes.zero};
  bool isFolded = wanted && !isLast && rank == 4 &&
                  foldSquares(b, bytes, result.take_back(2), windows, *wanted);
  if (!isFolded && !isLast) {
    bytes.x = transposeToLast(b, x);
    bytes.w = transposeToLast(b, w);
  }
  if (!isFolded && wanted)
    pairPixels(b, bytes, result[isLast ? rank - 2 : rank - 1], windows,
               *wanted);
  x = bytes.x;
  w = bytes.w;
  if (wanted && conv.getGroup() == 1)
    padChannels(b, *left, *right, x, w);
  Value y = create(epilogue, x, w, *left, *right, windows);
  if (!y)
    return Mismatch("the target has no kernel for it, with " +
                    Twine(conv.getGroup()) + " groups");
  epilogue.end->replaceAllUsesWith(
      ValueRange{isLast ? y : transposeToFirst(b, y)});
  return std::nullopt;
}

Legality QuantizedConvs::rewrite(MatmulOp product) {
  auto typeA = tensorType(product.getA()), typeB = tensorType(product.getB());
  if (!typeA.hasStaticShape() || !typeB.hasStaticShape() ||
      typeA.getNumElements() == 0 || typeB.getNumElements() == 0)
    return Mismatch("its shape is not static, or empty");
  if (typeB.getRank() != 2 || typeA.getRank() < 2 || product.getTransposeA())
    return Mismatch("its operands are not rows and one matrix");
  NNBuilder b(product.getLoc(), product.getOperation());
  std::optional<Scaled> left, right;
  if (Legality why = describe(b, product.getA(), product.getB(), left, right))
    return why;
  if (hasFloats(*left))
    return rewriteFloats(b, product, *left, *right,
                         {target, wanted, narrowsFloats});
  bool isTransposed = product.getTransposeB();
  int64_t columns = typeB.getDimSize(isTransposed ? 0 : 1);
  int64_t depth = typeA.getShape().back();
  QuantizedEpilogue epilogue(b, product, typeA.getRank() - 1, columns);
  if (!takeScales(epilogue, *left, *right, isTransposed ? 0 : 1, columns))
    return Mismatch(kManyScales);
  epilogue.extend();
  b.setInsertionPoint(epilogue.end);
  b.setLoc(fuseLocations({product, epilogue.end}));
  Value x =
      b.reshape(left->bytes.value, {typeA.getNumElements() / depth, depth});
  Value w = right->bytes.value;
  if (!isTransposed)
    w = TransposeOp::create(b, w, {1, 0});
  Value y = create(epilogue, x, w, *left, *right, {});
  if (!y)
    return Mismatch("the target has no kernel for it");
  epilogue.end->replaceAllUsesWith(
      ValueRange{b.reshape(y, shapeOf(epilogue.end->getResult(0)))});
  return std::nullopt;
}

std::unique_ptr<Pass>
frit::createQuantizedConvs(const Target &target,
                           QuantizedConvsOptions options) {
  return std::make_unique<QuantizedConvs>(target, options);
}
