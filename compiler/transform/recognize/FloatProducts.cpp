//===- FloatProducts.cpp - Products of 8-bit floats -----------------------===//
//
//   %x = nn.mul nn.cast(%q : f8E4M3FN), %s
//   %w = nn.mul nn.cast(%v : f8E4M3FN), %t                      per column
//   %y = nn.matmul %x, %w
// ==>
//   %y = nn.mul (nn.quantized_conv %q, %v), (nn.mul %s, %t)
//
// The left operand may also have a scale for each of its rows, as dynamic
// quantization has. Kernels of the sums compute elementwise operators after
// them, so that nothing else has to become a part of the operator.
//
//===----------------------------------------------------------------------===//

#include "compiler/transform/recognize/FloatProducts.h"

#include "compiler/transform/Graph.h"
#include "compiler/transform/layout/LayoutPatterns.h"

using namespace mlir;
using namespace frit;
using namespace frit::nn;

namespace {
class FloatProduct {
public:
  FloatProduct(NNBuilder &b, Operation *product, const FloatTarget &on)
      : b(b), product(product), on(on), conv(dyn_cast<ConvOp>(product)),
        type(resultType(product)) {}

  Legality rewrite(const Scaled &left, const Scaled &right);

private:
  /// The factors of the sums, which have columns or filters last: a number or
  /// vector, and those of rows.
  struct Factors {
    Value columns;
    SmallVector<Value> rows;
  };
  std::optional<Factors> factorsOf(const Scaled &left, const Scaled &right);
  Value createSums(Value x, Value w, bool &isNarrow);
  void padChannels(Value &x, Value &w);

  NNBuilder &b;
  Operation *product;
  const FloatTarget &on;
  ConvOp conv; ///< null for a product of matrices
  RankedTensorType type;
};
} // namespace

/// Returns the number of a product's columns, or filters, and sets `axis` to
/// their axis in the right operand.
static int64_t columnsOf(Operation *product, int64_t &axis) {
  auto matmul = dyn_cast<MatmulOp>(product);
  axis = matmul && !matmul.getTransposeB() ? 1 : 0;
  return shapeOf(product->getOperand(1))[axis];
}

std::optional<FloatProduct::Factors>
FloatProduct::factorsOf(const Scaled &left, const Scaled &right) {
  Factors factors;
  auto multiply = [&](Value factor) {
    Value &all = factors.columns;
    all = all ? b.mul(all, factor) : factor;
  };
  for (Value scale : left.scales) {
    ArrayRef<int64_t> shape = shapeOf(scale);
    if (hasOneElement(scale))
      multiply(b.reshape(scale, {}));
    else if (!conv && shape.back() == 1)
      factors.rows.push_back(scale);
    else
      return std::nullopt;
  }
  int64_t axis;
  int64_t columns = columnsOf(product, axis);
  int64_t rank = tensorType(right.bytes.value).getRank();
  for (Value scale : right.scales) {
    Value vector = alongAxis(b, scale, rank, axis, columns);
    if (!vector)
      return std::nullopt;
    multiply(vector);
  }
  return factors;
}

/// Adds channels of zeros up to the multiple that the target wants.
void FloatProduct::padChannels(Value &x, Value &w) {
  int64_t channels = shapeOf(x).back(), multiple = on.wanted->channelMultiple;
  if (channels % multiple == 0 || channels < on.wanted->fewestChannels)
    return;
  for (Value *value : {&x, &w}) {
    Value codes = *value;
    SmallVector<int64_t> low(shapeOf(codes).size(), 0), high = low;
    high.back() = llvm::alignTo(channels, multiple) - channels;
    auto element = cast<FloatType>(tensorType(codes).getElementType());
    Value zero = ConstantOp::create(
        b,
        DenseElementsAttr::get(RankedTensorType::get({}, element),
                               APFloat::getZero(element.getFloatSemantics())),
        StringAttr());
    *value = PadOp::create(b, codes, zero, low, high, "constant");
  }
}

/// Creates the sums of the products, in f32; null if the target has neither a
/// kernel for them nor for bf16.
Value FloatProduct::createSums(Value x, Value w, bool &isNarrow) {
  Value none;
  ArrayRef<int64_t> strides, pads, dilations;
  int64_t group = 1;
  if (conv) {
    strides = conv.getStrides();
    pads = conv.getPads();
    dilations = conv.getDilations();
    group = conv.getGroup();
  }
  Value paddedX = x, paddedW = w;
  if (on.wanted && conv && group == 1)
    padChannels(paddedX, paddedW);
  auto sums = QuantizedConvOp::create(b, paddedX, paddedW, none, none, none,
                                      none, none, none, strides, pads,
                                      dilations, group, /*relu=*/false);
  if (on.target.keepsWhole(cast<CompositeOp>(sums.getOperation())))
    return sums.getY();
  sums.erase();
  if (!on.wanted || !on.wanted->narrowsFloats || !on.narrowsFloats)
    return {};
  isNarrow = true;
  Type bf16 = b.getBF16Type();
  x = b.cast(x, bf16);
  w = b.cast(w, bf16);
  Value y = conv ? Value(ConvOp::create(b, x, w, none, strides, pads, dilations,
                                        group, /*channels_last=*/true,
                                        /*tf32=*/false))
                 : Value(MatmulOp::create(b, x, w, /*transpose_a=*/false,
                                          /*transpose_b=*/true,
                                          /*tf32=*/false));
  return b.cast(y, b.getF32Type());
}

Legality FloatProduct::rewrite(const Scaled &left, const Scaled &right) {
  if (!type.getElementType().isF32())
    return Mismatch("its result is not of f32");
  std::optional<Factors> factors = factorsOf(left, right);
  if (!factors)
    return Mismatch("its scales are neither numbers nor one for each row on "
                    "the left, or for each column or filter on the right");
  Value x = left.bytes.value, w = right.bytes.value;
  bool isFirst = conv && !conv.getChannelsLast();
  if (!conv) {
    int64_t depth = shapeOf(x).back();
    x = b.reshape(x, {tensorType(x).getNumElements() / depth, depth});
    if (!cast<MatmulOp>(product).getTransposeB())
      w = TransposeOp::create(b, w, {1, 0});
  } else if (isFirst) {
    x = transposeToLast(b, x);
    w = transposeToLast(b, w);
  }
  bool isNarrow = false;
  Value y = createSums(x, w, isNarrow);
  if (!y)
    return Mismatch("the target does not multiply floats of 8 bits" +
                    Twine(conv && conv.getGroup() > 1 ? " in groups" : ""));
  if (!conv)
    y = b.reshape(y, type.getShape());
  if (factors->columns)
    y = b.mul(y, factors->columns);
  for (Value rows : factors->rows)
    y = b.mul(y, rows);
  if (Value bias = conv ? conv.getBias() : Value())
    y = b.add(y, bias);
  product->replaceAllUsesWith(ValueRange{isFirst ? transposeToFirst(b, y) : y});
  if (isNarrow)
    return Mismatch("the target does not multiply them, so floats of 8 bits "
                    "become bf16");
  return std::nullopt;
}

Legality frit::rewriteFloats(NNBuilder &b, Operation *product,
                             const Scaled &left, const Scaled &right,
                             const FloatTarget &on) {
  return FloatProduct(b, product, on).rewrite(left, right);
}
