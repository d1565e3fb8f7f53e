//===- Quantization.cpp - Quantized tensors -------------------------------===//

#include "compiler/onnx/ops/Quantization.h"
#include "compiler/onnx/ops/Window.h"
#include "compiler/onnx/reader/Hooks.h"
#include "dialects/nn/operators/Quantized.h"

#include "mlir/IR/DialectResourceBlobManager.h"

#include <cmath>
#include <cstring>

using namespace mlir;
using namespace frit;
using namespace frit::importer;

/// Broadcasts a scale or zero point (`what`) to x: per tensor, per index along
/// `axis`, or per block along it.
static Expr spread(Expr factor, Expr x, int64_t axis, int64_t block,
                   StringRef what = "scale") {
  Node &node = *factor.node;
  if (!factor || !x || nn::tensorType(factor).getNumElements() == 1)
    return factor.reshape({});
  axis = node.axis(axis, x.rank());
  if (node.failed)
    return factor;
  auto shape = x.shape(), form = factor.shape();
  if (block == 0 && form.size() == 1 && form[0] == shape[axis]) {
    form.assign(x.rank(), 1);
    form[axis] = shape[axis];
    return factor.reshape(form);
  }
  bool fits = form.size() == shape.size() && form[axis] > 0;
  for (size_t dim = 0; fits && dim < form.size(); ++dim)
    fits = static_cast<int64_t>(dim) == axis || form[dim] == shape[dim];
  if (fits && block == 0)
    block = llvm::divideCeil(shape[axis], form[axis]);
  if (!fits || block < 1 ||
      static_cast<int64_t>(llvm::divideCeil(shape[axis], block)) !=
          form[axis]) {
    node.error() << "a " << what << " of shape " << nn::shapeText(form)
                 << " does not fit " << nn::shapeText(shape);
    return factor;
  }
  // Repeat each scale for its block; the last block may be shorter.
  auto apart = form, repeated = form, joined = form;
  apart.insert(apart.begin() + axis + 1, 1);
  repeated.insert(repeated.begin() + axis + 1, block);
  joined[axis] *= block;
  return factor.reshape(apart).expand(repeated).reshape(joined).slice(
      axis, 0, shape[axis]);
}

/// Returns the range of an integer type.
static std::pair<double, double> rangeOf(Type type) {
  unsigned bits = type.getIntOrFloatBitWidth();
  if (type.isUnsignedInteger())
    return {0, std::ldexp(1.0, bits) - 1};
  return {-std::ldexp(1.0, bits - 1), std::ldexp(1.0, bits - 1) - 1};
}

Expr frit::importer::quantize(Expr x, Expr scale, Expr zero, Type to,
                              bool wraps) {
  Node &node = *x.node;
  Expr y = x.to(scale.element()) / scale;
  if (isa<FloatType>(to)) {
    if (zero)
      y = y + zero.to(y.element());
    SmallVector<NamedAttribute> attributes = {
        node.named("to", TypeAttr::get(to))};
    if (wraps)
      attributes.push_back(node.named("wraps", node.builder().getUnitAttr()));
    return y.apply<nn::CastOp>({}, attributes);
  }
  // f16 does not hold all 16-bit integers.
  y = y.apply<nn::RoundOp>().to(nn::workType(y.element()));
  if (zero)
    y = y + zero.to(y.element());
  auto [low, high] = rangeOf(to);
  return y.clamp(low, high).to(to);
}

static Type typeAttribute(Node &node, StringRef name, Type otherwise) {
  int64_t given = node.integer(name, 0);
  Type type = given ? elementType(given, *node.context()) : otherwise;
  if (!type)
    node.error() << "element type " << dataTypeName(given)
                 << " is not supported";
  return type ? type : otherwise;
}

/// Returns the bytes of a constant; one element's for a splat.
static ArrayRef<char> bytesOf(Value value) {
  auto constant = value.getDefiningOp<nn::ConstantOp>();
  if (!constant)
    return {};
  if (auto resource =
          dyn_cast<DenseResourceElementsAttr>(constant.getValue())) {
    AsmResourceBlob *blob = resource.getRawHandle().getBlob();
    return blob ? blob->getData() : ArrayRef<char>();
  }
  auto dense = dyn_cast<DenseElementsAttr>(constant.getValue());
  return dense ? dense.getRawData() : ArrayRef<char>();
}

/// Returns whether a zero point is one of floats and 0: then nothing has to be
/// added or subtracted.
static bool isFloatZero(Expr zero) {
  if (!zero || !zero.isFloat())
    return false;
  ArrayRef<char> bytes = bytesOf(zero);
  return !bytes.empty() && llvm::all_of(bytes, [](char c) { return c == 0; });
}

static bool isFloat8(Type type) {
  return isa<FloatType>(type) && type.getIntOrFloatBitWidth() == 8;
}

/// Reports a scale for which `isWrong`, of which the compiler knows the values;
/// `rule` says what scales are.
static void checkScales(Expr scale, StringRef rule,
                        function_ref<bool(const APFloat &)> isWrong) {
  auto type = dyn_cast<FloatType>(scale.element());
  ArrayRef<char> bytes = bytesOf(scale);
  if (!type || type.getWidth() > 32 || type.getWidth() < 16)
    return;
  size_t width = type.getWidth() / 8;
  for (size_t at = 0; at + width <= bytes.size(); at += width) {
    uint32_t bits = 0;
    memcpy(&bits, bytes.data() + at, width);
    APFloat number(type.getFloatSemantics(), APInt(type.getWidth(), bits));
    if (!isWrong(number))
      continue;
    SmallString<16> text;
    number.toString(text);
    scale.node->error() << "scale " << at / width << " is " << text << ", and "
                        << rule;
    return;
  }
}

static bool isNoFactor(const APFloat &number) {
  return !number.isFinite() || number.isNegative() || number.isZero();
}

void frit::importer::checkDivisor(Expr scale) {
  checkScales(scale, "numbers are divided by positive and finite scales",
              isNoFactor);
}

/// Reports scales of codes: those of integers may be 0, for zeros.
static void checkFactor(Expr scale, Type codes) {
  if (isFloat8(codes))
    checkScales(scale, "scales of floats of 8 bits are positive and finite",
                isNoFactor);
  else
    checkScales(scale, "scales are finite",
                [](const APFloat &number) { return !number.isFinite(); });
}

/// Quantizes to `codes`, unless the node says another type.
static Results quantizeTo(Node &node, Type codes) {
  Expr x = input(node, 0), scale = input(node, 1);
  Expr zero = optionalInput(node, 2);
  int64_t axis = node.integer("axis", 1), block = node.integer("block_size", 0);
  bool wraps = !node.integer("saturate", 1);
  Type to = typeAttribute(node, "output_dtype", zero ? zero.element() : codes);
  Type precision = typeAttribute(node, "precision", scale.element());
  if (!x || !scale)
    return {};
  checkDivisor(scale);
  scale = spread(scale.to(precision), x, axis, block);
  if (isFloatZero(zero))
    zero = {node, {}};
  if (zero)
    zero = spread(zero, x, axis, block, "zero point");
  return {quantize(x, scale, zero, to, wraps)};
}

static Results quantizeLinear(Node &node) {
  return quantizeTo(node, node.builder().getIntegerType(8, /*isSigned=*/false));
}
static Results quantizeFloats(Node &node) {
  return quantizeTo(node, Float8E4M3FNType::get(node.builder().getContext()));
}

Expr frit::importer::dequantize(Expr x, Expr scale, Expr zero, int64_t axis,
                                int64_t block) {
  Node &node = *x.node;
  if (!x || !scale)
    return {node, {}};
  if (zero && zero.element() != x.element()) {
    node.error() << "codes of " << x.element() << " have a zero point of "
                 << zero.element();
    return {node, {}};
  }
  // Wide enough for all differences of integers.
  Type work = node.builder().getI32Type();
  if (isa<FloatType>(x.element()))
    work = node.builder().getF32Type();
  Expr y = x.to(work);
  if (zero)
    y = y - spread(zero, x, axis, block, "zero point").to(work);
  scale = spread(scale, x, axis, block);
  Type wide = nn::workType(scale.element());
  return y.to(wide) * scale.to(wide);
}

/// Returns whether a tensor is a matrix of integers of the model, with blocks
/// along `axis` that nn.dequantize has.
static bool isMatrixOfCodes(Expr x, Expr scale, int64_t axis, int64_t block) {
  auto integer = dyn_cast<IntegerType>(x.element());
  return integer && (integer.getWidth() == 4 || integer.getWidth() == 8) &&
         x.value.getDefiningOp<nn::ConstantOp>() && x.rank() == 2 &&
         scale.rank() == 2 && block > 0 && (axis == 0 || axis == 1) &&
         x.size(axis) % block == 0 && x.size(axis) % 2 == 0 &&
         scale.size(axis) == x.size(axis) / block &&
         scale.size(1 - axis) == x.size(1 - axis);
}

/// Builds the numbers of such a matrix: x - zero is code - middle plus what is
/// scaled to an offset.
static Expr dequantizeCodes(Expr x, Expr scale, Expr zero, int64_t axis,
                            Type to) {
  Node &node = *x.node;
  OpBuilder &b = node.builder();
  auto type = cast<IntegerType>(x.element());
  bool isFour = type.getWidth() == 4;
  double middle = isFour ? 8 : 128;
  Type i32 = b.getI32Type(), wide = nn::workType(scale.element());
  Expr codes = x.to(i32), offsets = {node, {}};
  if (!type.isUnsigned())
    codes = codes + middle;
  double plain = type.isUnsigned() ? middle : 0;
  if (zero)
    offsets = (plain - zero.to(i32).to(wide)) * scale.to(wide);
  else if (plain)
    offsets = scale.to(wide) * plain;
  if (offsets)
    offsets = offsets.to(scale.element());
  auto byRow = [&](Expr of) { return axis == 0 ? of.transpose({1, 0}) : of; };
  codes = byRow(codes);
  int64_t rows = codes.size(0), columns = codes.size(1);
  if (isFour) {
    codes = codes.reshape({rows, columns / 2, 2});
    codes = (codes.slice(2, 0, 1) + codes.slice(2, 1, 1) * 16.0)
                .reshape({rows, columns / 2});
  }
  SmallVector<Value> operands = {byRow(scale)};
  if (offsets)
    operands.push_back(byRow(offsets));
  return byRow(
      codes.to(b.getIntegerType(8, /*isSigned=*/false))
          .apply<nn::DequantizeOp>(
              operands,
              {node.named("code", b.getStringAttr(isFour ? "int4" : "int8")),
               node.named("to", TypeAttr::get(to))}));
}

static Results dequantizeLinear(Node &node) {
  Expr x = input(node, 0), scale = input(node, 1);
  int64_t axis = node.integer("axis", 1), block = node.integer("block_size", 0);
  Type to = typeAttribute(node, "output_dtype", scale.element());
  Expr zero = optionalInput(node, 2);
  if (isFloatZero(zero))
    zero = {node, {}};
  if (x && scale && axis < 0)
    axis += x.rank();
  if (x && isa<FloatType>(x.element()) &&
      x.element().getIntOrFloatBitWidth() > 8) {
    node.error() << "dequantizes numbers of " << x.element()
                 << ", which are no codes; in a model that Model Optimizer "
                    "quantized, torch.onnx.export leaves weights that its "
                    "modelopt.onnx.export has yet to round";
    return {};
  }
  if (x && scale)
    checkFactor(scale, x.element());
  if (x && scale && isMatrixOfCodes(x, scale, axis, block))
    return {dequantizeCodes(x, scale, zero, axis, to)};
  return {dequantize(x, scale, zero, axis, block).to(to)};
}

Quantized frit::importer::quantizeDynamically(Expr x) {
  Node &node = *x.node;
  auto all = llvm::to_vector(llvm::seq<int64_t>(x.rank()));
  Expr high = x.reduce(nn::Combiner::max, all).reshape({}).max(x.number(0));
  Expr low = x.reduce(nn::Combiner::min, all).reshape({}).min(x.number(0));
  // The scale of zeros is not 0: its reciprocal, and x / scale, are numbers.
  Expr range = high.equals(low).select(high.number(1), high - low);
  Expr scale = range / 255.0;
  Type u8 = node.builder().getIntegerType(8, /*isSigned=*/false);
  Expr zero = (0.0 - low / scale).clamp(0, 255).apply<nn::RoundOp>().to(u8);
  return {quantize(x, scale, zero, u8, false), scale, zero};
}

static Results dynamicQuantize(Node &node) {
  Expr x = input(node, 0);
  if (!x)
    return {};
  auto [y, scale, zero] = quantizeDynamically(x);
  return {y, scale, zero};
}

//===----------------------------------------------------------------------===//
// Products of integers
//===----------------------------------------------------------------------===//

Expr frit::importer::subtractZero(Expr x, Expr zero, bool byRow) {
  Type i32 = x.node->builder().getI32Type();
  x = x.to(i32);
  if (!zero)
    return x;
  zero = zero.to(i32);
  if (byRow && zero.rank() == 1 && zero.size(0) > 1)
    zero = zero.reshape({zero.size(0), 1});
  return x - zero;
}

static Expr centred(Node &node, size_t i, size_t zeroInput, bool byRow) {
  return subtractZero(input(node, i), optionalInput(node, zeroInput), byRow);
}

static Results matMulInteger(Node &node) {
  return {centred(node, 0, 2, true).matmul(centred(node, 1, 3, false))};
}

static Results qLinearMatMul(Node &node) {
  Expr a = centred(node, 0, 2, true), b = centred(node, 3, 5, false);
  Expr aScale = input(node, 1), bScale = input(node, 4);
  Expr yScale = input(node, 6), zero = input(node, 7);
  if (node.failed)
    return {};
  checkDivisor(yScale);
  if (aScale.rank() == 1 && aScale.size(0) > 1)
    aScale = aScale.reshape({aScale.size(0), 1});
  Type f32 = node.builder().getF32Type();
  Expr y = a.matmul(b).to(f32) * aScale.to(f32) * bScale.to(f32);
  return {quantize(y, yScale.to(f32), zero, zero.element(), false)};
}

/// Convolves integers minus their zero points, in a float type that holds all
/// sums exactly.
static Expr integerConv(Node &node, size_t x, size_t xZero, size_t w,
                        size_t wZero) {
  Expr image = input(node, x), filter = input(node, w);
  int64_t group = node.integer("group", 1);
  node.ignore("kernel_shape");
  if (!image || !filter || image.rank() < 3 || filter.rank() != image.rank()) {
    if (!node.failed)
      node.error() << "needs an image and filters";
    return {node, {}};
  }
  auto size = filter.shape();
  int64_t terms = product(ArrayRef(size).drop_front(1));
  Type work = terms < 256 ? Type(node.builder().getF32Type())
                          : node.builder().getF64Type();
  Expr a = image.to(work), b = filter.to(work);
  if (node.has(xZero))
    a = a - input(node, xZero).to(work).reshape({});
  if (node.has(wZero)) {
    Expr zero = input(node, wZero).to(work);
    SmallVector<int64_t> column(filter.rank(), 1);
    column[0] = product(zero.shape());
    b = b - zero.reshape(column);
  }
  auto window = readWindow(node, image, ArrayRef(size).drop_front(2));
  if (!window)
    return {node, {}};
  return a.apply<nn::ConvOp>(
      {b},
      {node.named("strides", window->strides), node.named("pads", window->pads),
       node.named("dilations", window->dilations),
       node.named("group", node.builder().getI64IntegerAttr(group))});
}

static Results convInteger(Node &node) {
  return {integerConv(node, 0, 2, 1, 3).to(node.builder().getI32Type())};
}

static Results qLinearConv(Node &node) {
  Expr y = integerConv(node, 0, 2, 3, 5);
  Expr xScale = input(node, 1), wScale = input(node, 4);
  Expr yScale = input(node, 6), zero = input(node, 7);
  if (!y || node.failed)
    return {};
  checkDivisor(yScale);
  SmallVector<int64_t> column(y.rank() - 1, 1);
  if (node.has(8)) {
    column[0] = y.size(1);
    y = y + input(node, 8).to(y.element()).reshape(column);
  }
  column[0] = product(wScale.shape());
  Type f32 = node.builder().getF32Type();
  y = y.to(f32) * xScale.reshape({}) * wScale.reshape(column);
  return {
      quantize(y, yScale.reshape({}), zero.reshape({}), zero.element(), false)};
}

ArrayRef<Hook> frit::importer::quantizationHooks() {
  static constexpr Hook hooks[] = {
      {"QuantizeLinear", 10, 2, 3, quantizeLinear},
      {"DequantizeLinear", 10, 2, 3, dequantizeLinear},
      {"DynamicQuantizeLinear", 11, 1, 1, dynamicQuantize},
      {"MatMulInteger", 10, 2, 4, matMulInteger},
      {"QLinearMatMul", 10, 8, 8, qLinearMatMul},
      {"ConvInteger", 10, 2, 4, convInteger},
      {"QLinearConv", 10, 8, 9, qLinearConv},
      // ONNX Runtime's quantizer writes these below opset 21 for types that
      // ONNX has from there on.
      {"com.microsoft::QuantizeLinear", 1, 2, 3, quantizeLinear},
      {"com.microsoft::DequantizeLinear", 1, 2, 3, dequantizeLinear},
      // TensorRT Model Optimizer's, below opset 19 and by its older versions.
      {"trt::TRT_FP8QuantizeLinear", 1, 2, 2, quantizeFloats},
      {"trt::TRT_FP8DequantizeLinear", 1, 2, 2, dequantizeLinear},
      {"trt::TRT_INT4QuantizeLinear", 1, 2, 3, quantizeLinear},
      {"trt::TRT_INT4DequantizeLinear", 1, 2, 3, dequantizeLinear},
      {"trt::DequantizeLinear", 1, 2, 3, dequantizeLinear},
  };
  return hooks;
}
