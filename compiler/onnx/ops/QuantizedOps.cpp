//===- QuantizedOps.cpp - ONNX Runtime's operators on quantized tensors ---===//
//
// ONNX Runtime's quantizer writes these in its own domain, com.microsoft. Most
// compute in f32 between a dequantization and a quantization:
//
//   QLinearSigmoid (x, x_scale, x_zero, y_scale, y_zero)
//   = QuantizeLinear (Sigmoid (DequantizeLinear (x, x_scale, x_zero)),
//                     y_scale, y_zero)
//
//===----------------------------------------------------------------------===//

#include "compiler/onnx/ops/Quantization.h"
#include "compiler/onnx/ops/Window.h"
#include "compiler/onnx/reader/Hooks.h"
#include "dialects/nn/operators/Quantized.h"

using namespace mlir;
using namespace frit;
using namespace frit::importer;

/// Returns the numbers of input `i`, whose scale and zero point follow it.
static Expr dequantized(Node &node, size_t i) {
  return dequantize(input(node, i), input(node, i + 1),
                    optionalInput(node, i + 2), /*axis=*/1, /*block=*/0);
}

/// Returns the type of the elements of input `i`.
static Type typeOf(Node &node, size_t i) { return input(node, i).element(); }

/// Quantizes y with the scale and the zero point that begin at input `i`;
/// without a zero point, to type `to`.
static Results quantized(Expr y, size_t i, Type to) {
  Node &node = *y.node;
  Expr scale = input(node, i), zero = optionalInput(node, i + 1);
  if (!y || !scale)
    return {};
  checkDivisor(scale);
  if (zero)
    to = zero.element();
  if (zero)
    zero = zero.reshape({});
  return {quantize(y, scale.reshape({}), zero, to, /*wraps=*/false)};
}

template <typename Op> static Results quantizedBinary(Node &node) {
  Expr a = dequantized(node, 0), b = dequantized(node, 3);
  return quantized(a.apply<Op>({b}), 6, typeOf(node, 0));
}

static Results qLinearSigmoid(Node &node) {
  return quantized(dequantized(node, 0).apply<nn::SigmoidOp>(), 3,
                   typeOf(node, 0));
}

static Results qLinearLeakyRelu(Node &node) {
  auto alpha = static_cast<float>(node.real("alpha", 0.01));
  return quantized(
      dequantized(node, 0).apply<nn::LeakyReluOp>(
          {}, {node.named("alpha", node.builder().getF32FloatAttr(alpha))}),
      3, typeOf(node, 0));
}

/// Imports QLinearSoftmax. Before opset 13, which the attribute `opset` tells,
/// a row spans all dimensions from `axis` on.
static Results qLinearSoftmax(Node &node) {
  Expr x = dequantized(node, 0);
  int64_t axis = node.integer("axis", -1);
  bool ofRows = node.integer("opset", 13) < 13;
  if (!x)
    return {};
  axis = node.axis(axis, x.rank());
  auto shape = x.shape();
  if (ofRows) {
    x = x.reshape({product(ArrayRef(shape).take_front(axis)),
                   product(ArrayRef(shape).drop_front(axis))});
    axis = 1;
  }
  x = x.apply<nn::SoftmaxOp>({}, {node.namedSigned("axis", axis)});
  return quantized(x.reshape(shape), 3, typeOf(node, 0));
}

/// Imports a pool of images, whose channels may be last.
static Results qLinearPool(Node &node, Results (*build)(Node &)) {
  Expr x = dequantized(node, 0);
  Type type = typeOf(node, 0);
  bool channelsLast = node.integer("channels_last", 0);
  if (!x)
    return {};
  auto order = llvm::to_vector(llvm::seq<int64_t>(x.rank()));
  if (channelsLast && order.size() > 2)
    std::rotate(order.begin() + 1, order.end() - 1, order.end());
  node.setInput(0, x.transpose(order));
  Results results = build(node);
  if (node.failed || results.empty())
    return {};
  if (channelsLast && order.size() > 2) {
    llvm::sort(order);
    std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  }
  return quantized(Expr(node, results[0]).transpose(order), 3, type);
}

static Results qLinearAveragePool(Node &node) {
  return qLinearPool(node, averagePool);
}

static Results qLinearGlobalAveragePool(Node &node) {
  return qLinearPool(node, globalAveragePool);
}

/// Imports QLinearConcat. Inputs are the result's scale and zero point, then
/// three for each tensor.
static Results qLinearConcat(Node &node) {
  size_t count = node.inputs().size();
  if (count % 3 != 2) {
    node.error() << "has " << count
                 << " inputs, but needs a scale and a zero "
                    "point, and three inputs for each tensor";
    return {};
  }
  SmallVector<Value> parts;
  for (size_t i = 2; i < count; i += 3)
    parts.push_back(dequantized(node, i));
  int64_t axis = node.integer("axis", 0);
  if (node.failed)
    return {};
  return quantized(
      {node, node.create<nn::ConcatOp>(parts, node.namedSigned("axis", axis))},
      0, typeOf(node, 2));
}

static Results qLinearWhere(Node &node) {
  Expr x = dequantized(node, 1), y = dequantized(node, 4);
  return quantized(input(node, 0).select(x, y), 7, typeOf(node, 1));
}

/// Builds alpha · a · b plus a bias, which is i32 in the product's scale.
/// Without a scale of its own the result is not quantized.
static Results qGemm(Node &node) {
  bool transposeA = node.integer("transA", 0);
  bool transposeB = node.integer("transB", 0);
  double alpha = node.real("alpha", 1);
  Expr a = subtractZero(input(node, 0), optionalInput(node, 2), !transposeA);
  Expr b = subtractZero(input(node, 3), optionalInput(node, 5), transposeB);
  SmallVector<NamedAttribute> transposed;
  UnitAttr unit = node.builder().getUnitAttr();
  if (transposeA)
    transposed.push_back(node.named("transpose_a", unit));
  if (transposeB)
    transposed.push_back(node.named("transpose_b", unit));
  Expr y = a.apply<nn::MatmulOp>({b}, transposed);
  if (node.has(6))
    y = y + input(node, 6).to(y.element());
  Type f32 = node.builder().getF32Type();
  y = y.to(f32) * (input(node, 1).to(f32) * input(node, 4).to(f32) * alpha);
  if (!node.has(7))
    return {y};
  return quantized(y, 7, typeOf(node, 0));
}

//===----------------------------------------------------------------------===//
// Products with results in f32
//===----------------------------------------------------------------------===//

static Results withBias(Node &node, Expr y, size_t bias) {
  return {node.has(bias) ? y + input(node, bias).to(y.element()) : y};
}

/// Imports MatMulIntegerToFloat. Inputs: a, b, their scales, their zero points,
/// and a bias.
static Results matMulIntegerToFloat(Node &node) {
  Expr a = subtractZero(input(node, 0), optionalInput(node, 4), true);
  Expr b = subtractZero(input(node, 1), optionalInput(node, 5), false);
  Expr scale = input(node, 2) * input(node, 3);
  return withBias(node, a.matmul(b).to(scale.element()) * scale, 6);
}

/// Imports DynamicQuantizeMatMul. Inputs: a, which is quantized to u8; b, its
/// scale and zero point; a bias.
static Results dynamicQuantizeMatMul(Node &node) {
  Expr x = input(node, 0);
  if (!x)
    return {};
  auto [a, scale, zero] = quantizeDynamically(x);
  Expr b = subtractZero(input(node, 1), optionalInput(node, 3), false);
  Expr y = subtractZero(a, zero, true).matmul(b).to(x.element());
  return withBias(node, y * (scale * input(node, 2)), 4);
}

/// Splits bytes [rows, n] into numbers of `bits` bits, the lowest first:
/// [rows, n · 8 / bits].
static Expr unpack(Expr bytes, int64_t bits) {
  Node &node = *bytes.node;
  if (bits == 8)
    return bytes;
  int64_t rows = bytes.size(0), n = bytes.size(1), count = 8 / bits;
  double base = 1 << bits;
  Expr rest = bytes.reshape({rows, n, 1});
  SmallVector<Value> parts;
  for (int64_t i = 0; i < count; ++i) {
    parts.push_back(rest.mod(rest.number(base)));
    rest = rest / base;
  }
  Expr all = {node,
              node.create<nn::ConcatOp>(parts, node.namedSigned("axis", 2))};
  return all.reshape({rows, n * count});
}

/// Builds x · bᵀ for codes in whole blocks. Zero points become offsets.
static Expr multiplyCodes(Expr x, Expr bytes, Expr scale, int64_t bits,
                          int64_t inner, int64_t block) {
  Node &node = *x.node;
  int64_t blocks = inner / block, rows = product(scale.shape()) / blocks;
  Type work = nn::workType(x.element());
  scale = scale.reshape({rows, blocks});
  Value offsets;
  if (Expr zero = optionalInput(node, 3)) {
    if (!zero.isFloat())
      zero = unpack(zero.reshape(
                        {rows, int64_t(llvm::divideCeil(blocks * bits, 8))}),
                    bits)
                 .slice(1, 0, blocks);
    Expr middle = 0.0 - (zero.to(work).reshape({rows, blocks}) -
                         static_cast<double>(1 << (bits - 1)));
    offsets = (middle * scale.to(work)).to(scale.element());
  }
  OpBuilder &b = node.builder();
  SmallVector<Value> operands = {scale};
  if (offsets)
    operands.push_back(offsets);
  Type byte = b.getIntegerType(8, /*isSigned=*/false);
  Expr codes = bytes.to(byte).reshape({rows, inner * bits / 8});
  Expr weight = codes.apply<nn::DequantizeOp>(
      operands,
      {node.named("code", b.getStringAttr(bits == 4 ? "int4" : "int8")),
       node.named("to", TypeAttr::get(x.element()))});
  return x.apply<nn::MatmulOp>({weight},
                               node.named("transpose_b", b.getUnitAttr()));
}

/// Builds x · bᵀ. Rows of b have K numbers in blocks; each block has a scale
/// and a zero point. Several numbers share a byte.
static Results matMulNBits(Node &node) {
  Expr x = input(node, 0), bytes = input(node, 1), scale = input(node, 2);
  int64_t inner = node.integer("K", 0), rows = node.integer("N", 0);
  int64_t bits = node.integer("bits", 4);
  int64_t block = node.integer("block_size", 0);
  node.ignore("accuracy_level");
  if (!x || !bytes || !scale)
    return {};
  if (!llvm::is_contained({2, 4, 8}, bits) || block < 16 || block > 4096 ||
      !llvm::isPowerOf2_64(block) || inner < 1 || rows < 1) {
    node.error() << "K = " << inner << ", N = " << rows << ", bits = " << bits
                 << ", block_size = " << block << " is not supported";
    return {};
  }
  if (node.has(4)) {
    node.error() << "an order of the columns (g_idx) is not supported";
    return {};
  }
  int64_t blocks = llvm::divideCeil(inner, block);
  auto holds = [&](Expr of, int64_t count, StringRef what) {
    if (product(of.shape()) == count)
      return true;
    node.error() << what << " have shape " << nn::shapeText(of.shape())
                 << ", but there are " << rows << " rows of " << blocks
                 << " blocks";
    return false;
  };
  Type work = nn::workType(x.element());
  int64_t zeroBytes = int64_t(llvm::divideCeil(blocks * bits, 8));
  if (!holds(bytes, rows * blocks * block * bits / 8, "bytes") ||
      !holds(scale, rows * blocks, "scales"))
    return {};
  if (bits >= 4 && inner % block == 0)
    return withBias(node, multiplyCodes(x, bytes, scale, bits, inner, block),
                    5);
  Expr b = unpack(bytes.reshape({rows, blocks * block * bits / 8}), bits)
               .to(work)
               .reshape({rows, blocks, block});
  if (Expr zero = optionalInput(node, 3)) {
    bool packed = !zero.isFloat();
    if (!holds(zero, rows * (packed ? zeroBytes : blocks), "zero points"))
      return {};
    if (packed)
      zero = unpack(zero.reshape({rows, zeroBytes}), bits).slice(1, 0, blocks);
    b = b - zero.to(work).reshape({rows, blocks, 1});
  } else {
    b = b - static_cast<double>(1 << (bits - 1));
  }
  b = b * scale.to(work).reshape({rows, blocks, 1});
  b = b.to(x.element()).reshape({rows, blocks * block}).slice(1, 0, inner);
  return withBias(
      node,
      x.apply<nn::MatmulOp>(
          {b}, node.named("transpose_b", node.builder().getUnitAttr())),
      5);
}

//===----------------------------------------------------------------------===//
// Rows of quantized tables
//===----------------------------------------------------------------------===//

/// Splits the bytes of the last dimension into numbers of `bits` bits.
static Expr unpackLast(Expr bytes, int64_t bits) {
  SmallVector<int64_t> shape = bytes.shape();
  int64_t last = shape.back(), count = last * 8 / bits;
  shape.back() = count;
  return unpack(bytes.reshape(
                    {product(shape) / std::max<int64_t>(count, 1), last}),
                bits)
      .reshape(shape);
}

/// Imports GatherBlockQuantized: gathers from `data` in blocks along
/// quantize_axis, each with a scale and a zero point, and dequantizes what it
/// gathered. Bytes hold 8 / bits numbers each.
static Results gatherBlockQuantized(Node &node) {
  Expr data = input(node, 0), indices = input(node, 1), scale = input(node, 2);
  Expr zero = optionalInput(node, 3);
  int64_t bits = node.integer("bits", 4);
  int64_t block = node.integer("block_size", 128);
  int64_t along = node.integer("gather_axis", 0);
  int64_t blocked = node.integer("quantize_axis", 1);
  if (!data || !indices || !scale)
    return {};
  int64_t rank = data.rank(), last = rank - 1;
  along = node.axis(along, rank);
  blocked = node.axis(blocked, rank);
  if (node.failed)
    return {};
  bool isBytes = data.element().isUnsignedInteger(8);
  bool isPacked = isBytes && bits != 8;
  bool fitsBits = isBytes ? llvm::is_contained({2, 4, 8}, bits)
                          : data.isFloat() || bits == 4;
  bool wholeAxis = data.isFloat() && block == 0;
  if (!fitsBits ||
      (!wholeAxis && (block < 16 || !llvm::isPowerOf2_64(block)))) {
    node.error() << "bits = " << bits << ", block_size = " << block << " on "
                 << data.element() << " is not supported";
    return {};
  }
  if (!node.checkIndices(indices, data.size(along)))
    return {};
  if (isPacked && (blocked != last || along == last)) {
    node.error() << "several numbers in a byte must be along quantize_axis, "
                 << "the last one, and not along gather_axis";
    return {};
  }
  // Scales have an entry for each block.
  SmallVector<int64_t> form = data.shape();
  if (isPacked)
    form[last] *= 8 / bits;
  if (wholeAxis)
    block = std::max<int64_t>(form[blocked], 1);
  form[blocked] = llvm::divideCeil(form[blocked], block);
  if (data.isFloat() && scale.rank() == rank)
    scale = scale.expand(form);
  auto zeroForm = form;
  if (isPacked)
    zeroForm[last] = llvm::divideCeil(form[last] * bits, 8);
  auto holds = [&](Expr of, ArrayRef<int64_t> shape, StringRef what) {
    if (of.shape() != shape)
      node.error() << what << " have shape " << nn::shapeText(of.shape())
                   << " instead of " << nn::shapeText(shape);
  };
  holds(scale, form, "scales");
  if (zero)
    holds(zero, zeroForm, "zero points");
  if (node.failed)
    return {};
  // Gather first, so that numbers stay packed in memory.
  Expr blocks = indices;
  if (along == blocked)
    blocks = fromFront(indices, data.size(along)) / static_cast<double>(block);
  data = data.gather(indices, along);
  scale = scale.gather(blocks, along);
  if (zero)
    zero = zero.gather(blocks, along);
  if (isPacked) {
    data = unpackLast(data, bits);
    if (zero)
      zero = unpackLast(zero, bits).slice(zero.rank() - 1, 0, form[last]);
  }
  if (isBytes && !zero)
    zero = data.number(1 << (bits - 1));
  if (along == blocked)
    block = 1;
  else if (along < blocked)
    blocked += indices.rank() - 1;
  return {dequantize(data, scale, zero, blocked, block).to(scale.element())};
}

ArrayRef<Hook> frit::importer::quantizedOpHooks() {
  static constexpr Hook hooks[] = {
      {"com.microsoft::QLinearAdd", 1, 7, 8, quantizedBinary<nn::AddOp>},
      {"com.microsoft::QLinearMul", 1, 7, 8, quantizedBinary<nn::MulOp>},
      {"com.microsoft::QLinearSigmoid", 1, 4, 5, qLinearSigmoid},
      {"com.microsoft::QLinearLeakyRelu", 1, 4, 5, qLinearLeakyRelu},
      {"com.microsoft::QLinearSoftmax", 1, 5, 5, qLinearSoftmax},
      {"com.microsoft::QLinearAveragePool", 1, 4, 5, qLinearAveragePool},
      {"com.microsoft::QLinearGlobalAveragePool", 1, 5, 5,
       qLinearGlobalAveragePool},
      {"com.microsoft::QLinearConcat", 1, 5, -1, qLinearConcat},
      {"com.microsoft::QLinearWhere", 1, 9, 9, qLinearWhere},
      {"com.microsoft::QGemm", 1, 6, 9, qGemm},
      {"com.microsoft::MatMulIntegerToFloat", 1, 4, 7, matMulIntegerToFloat},
      {"com.microsoft::DynamicQuantizeMatMul", 1, 3, 5, dynamicQuantizeMatMul},
      {"com.microsoft::MatMulNBits", 1, 3, 6, matMulNBits},
      {"com.microsoft::GatherBlockQuantized", 1, 3, 4, gatherBlockQuantized},
  };
  return hooks;
}
