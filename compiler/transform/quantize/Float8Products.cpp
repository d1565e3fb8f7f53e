//===- Float8Products.cpp - Train with products in 8 bits -----------------===//
//
//   %y = nn.matmul %x, %w {transpose_b}      bf16; %w is a weight that trains
//   %dx = nn.matmul %dy, %w                  its gradient
//   %dw = nn.matmul %dy, %x {transpose_a}
// ==>
//   %t = ⌈nn.max (nn.reduce (nn.abs %w) {max, a row}) / 448, 2⁻¹⁰⁰⌉
//   %v = nn.cast (nn.mul %w, 1 / %t) {to = f8E4M3FN}    codes of the weights
//   %s = ⌈nn.max (nn.reduce (nn.abs %x) {max, a row}) / 448, 2⁻¹⁰⁰⌉
//   %q = nn.cast (nn.mul %x, 1 / %s) {to = f8E4M3FN}
//   %y = nn.cast (nn.quantized_conv %q, %v) · %t · %s {to = bf16}
//   %e = nn.mul %dy, %t
//   %u = ⌈nn.max (nn.reduce (nn.abs %e) {max, a row}) / 57344, 2⁻¹⁰⁰⌉
//   %g = nn.cast (nn.mul %e, 1 / %u) {to = f8E5M2}
//   %dx = nn.cast (nn.quantized_conv %g, (nn.transpose %v)) · %u {to = bf16}
//   %m = nn.reduce %s · %u {max, all rows}
//   %h = nn.cast (nn.mul %g, %s · %u / %m) {to = f8E5M2}
//   %dw = nn.cast (nn.quantized_conv (nn.transpose %h), (nn.transpose %q)) · %m
//   / %t
//
// ⌈⌉ is the next power of two. A row of an input, or of its gradient, gets its
// scale in the call that rounds it, by its largest number. So nothing
// overflows, no state is needed, and one kernel finds the scale and rounds
// while it has the row. The weights of each output share a scale. Weights are
// rounded once: the gradient by the input multiplies their codes, too, and
// their scales, which are factors of its sums' terms there, multiply the
// gradient before it is rounded.
//
// The gradients of weights sum over rows, whose scales are factors of the terms
// there. So the codes of the gradient are multiplied by both scales of the row,
// relative to those of the row where they are largest. All are powers of two,
// and e5m2 has 32 of them: the codes keep their bits, but for rows that are
// smaller than others by many powers. Tensor cores take 8 bits only with the
// terms of a sum side by side: both operands are transposed, as codes. With
// gradients in e4m3 or bf16 these products stay in 16 bits.
//
// A GELU, or its gradient, gets scales by a bound instead of its largest
// numbers (Float8Bounds.h), so that the product before stores its codes.
//
// First and last products stay in 16 bits, as do those of odd sizes, and all
// that multiply no weights, such as attention. Remarks say so. If the target
// does not multiply 8-bit floats, it multiplies what they stand for.
//
//===----------------------------------------------------------------------===//

#include "compiler/transform/Graph.h"
#include "compiler/transform/Passes.h"
#include "compiler/transform/quantize/Float8Bounds.h"
#include "compiler/transform/quantize/LinearProducts.h"
#include "dialects/nn/Match.h"
#include "dialects/nn/rewrites/QuantizedConvs.h"

#include "mlir/IR/Remarks.h"

namespace frit {
#define GEN_PASS_DEF_FLOAT8PRODUCTS
#include "compiler/transform/Passes.h.inc"
} // namespace frit

using namespace mlir;
using namespace frit;
using namespace frit::nn;

/// Tensor cores and TMA take rows of whole 16 bytes. Smaller products would
/// gain less than rounding costs.
static constexpr int64_t kFloat8Multiple = 16, kFewestFloat8 = 32;
/// The least scale, which keeps those of zeros finite.
static constexpr double kLeastFloat8Scale = 0x1p-100;

namespace {
/// Floats of 8 bits, and the scale of each row, or of other slices; `wide` is
/// what was rounded.
struct RoundedTensor {
  Value codes, scale, wide;
};

class Float8Products : public frit::impl::Float8ProductsBase<Float8Products> {
public:
  Float8Products(const Target &target, const Float8ProductsOptions &options)
      : Float8ProductsBase(options), target(target) {
    target.populateRewrites(rewrites);
  }

  void runOnOperation() override;

private:
  Legality rewrite(const LinearProduct &product, const LinearProducts &all);
  /// A product of a gradient by weights, what the forward product read, and
  /// both rounded.
  struct Backward {
    MatmulOp gradient;
    Value x;
    RoundedTensor inputs, weights;
  };

  void rewriteGradient(const Backward &product);
  void rewriteWeightGradients(Value x, const RoundedTensor &inputs, Value dy,
                              const RoundedTensor &gradients,
                              Value weightScale);
  Value multiply(NNBuilder &b, MatmulOp product, const RoundedTensor &rows,
                 Value weights, Value columns);
  Value sumOf(NNBuilder &b, Value x, Value w);

  const Target &target;
  TargetRewrites rewrites;
  Type gradientFormat; ///< null: gradients stay in 16 bits
  /// By the tensor, and the axis along which numbers share a scale.
  llvm::DenseMap<std::pair<Value, int64_t>, RoundedTensor> known;
  Float8Bounds bounds;
  SmallVector<Backward> backward;
};
} // namespace

/// Rounds a tensor of f32. Numbers along `axis` share a scale: by their largest
/// one, or by `bound`, which none of them exceeds.
static RoundedTensor roundTensor(NNBuilder &b, Value x, int64_t axis,
                                 Type format, Value bound = Value()) {
  const llvm::fltSemantics &semantics =
      cast<FloatType>(format).getFloatSemantics();
  Value most =
      b.scalarLike(x, APFloat::getLargest(semantics).convertToDouble());
  Value scale =
      bound ? bound : b.reduce(AbsOp::create(b, x), Combiner::max, axis);
  Value least = b.scalarLike(x, kLeastFloat8Scale);
  scale = MaxOp::create(b, b.div(scale, most), least);
  // Rounded up to a power of two, which no code needs bits for.
  Type power = Float8E8M0FNUType::get(b.getContext());
  scale = b.cast(CastOp::create(b, scale, power), b.getF32Type());
  Value inverse = b.div(b.scalarLike(scale, 1), scale);
  return {b.cast(b.mul(x, inverse), format), scale, x};
}

/// Returns the axis of a product's weights that its sums run along.
static int64_t summedAxis(MatmulOp product) {
  return product.getTransposeB() ? 1 : 0;
}

static bool isBf16(Value value) {
  return tensorType(value).getElementType().isBF16();
}

static NNBuilder builderAfter(Location loc, Value value) {
  if (Operation *def = value.getDefiningOp())
    return NNBuilder(loc, def->getBlock(), std::next(def->getIterator()));
  Block *block = value.getParentBlock();
  return NNBuilder(loc, block, block->begin());
}

/// Returns why a product stays in 16 bits.
static Legality checkFloat8(const LinearProduct &product) {
  auto matmul = dyn_cast<MatmulOp>(product.op);
  if (!matmul)
    return Mismatch("it is a convolution");
  Value x = matmul.getA(), w = matmul.getB();
  if (!isWeightMatrix(w) || tensorType(w).getRank() != 2 ||
      tensorType(x).getRank() < 2 || matmul.getTransposeA())
    return Mismatch("its operands are not rows and one matrix of weights");
  if (!isBf16(x) || !isBf16(w))
    return Mismatch("its operands are of f32");
  if (product.isFirst)
    return Mismatch("it is a first layer: no other weights lie before it");
  if (product.isLast)
    return Mismatch("it is a last layer: no other weights lie behind it");
  if (!tensorType(x).hasStaticShape())
    return Mismatch("its shape is not static");
  int64_t k = shapeOf(w)[summedAxis(matmul)];
  int64_t n = shapeOf(w)[1 - summedAxis(matmul)];
  for (int64_t size : {k, n})
    if (size % kFloat8Multiple != 0 || size < kFewestFloat8)
      return Mismatch("it has weights of " + Twine(k) + " inputs and " +
                      Twine(n) + " outputs, which are not multiples of " +
                      Twine(kFloat8Multiple) + " from " + Twine(kFewestFloat8) +
                      " on");
  return std::nullopt;
}

/// Multiplies rows of codes by rows of codes. The sums are f32.
Value Float8Products::sumOf(NNBuilder &b, Value x, Value w) {
  Value none;
  ArrayRef<int64_t> empty;
  auto sums =
      QuantizedConvOp::create(b, x, w, none, none, none, none, none, none,
                              empty, empty, empty, 1, /*relu=*/false);
  const auto *wanted = rewrites.find<QuantizedRewrite>();
  if (!wanted || !wanted->narrowsFloats ||
      target.keepsWhole(cast<CompositeOp>(sums.getOperation())))
    return sums.getY();
  sums.erase();
  Type bf16 = b.getBF16Type();
  Value weights = b.cast(w, bf16);
  Value y = MatmulOp::create(b, b.cast(x, bf16), weights,
                             /*transpose_a=*/false, /*transpose_b=*/true,
                             /*tf32=*/false);
  return b.cast(y, b.getF32Type());
}

/// Returns a tensor as a matrix of its rows.
static Value matrixOf(NNBuilder &b, Value x) {
  int64_t depth = shapeOf(x).back();
  return b.reshape(x, {tensorType(x).getNumElements() / depth, depth});
}

static Value transposed(NNBuilder &b, Value matrix) {
  return TransposeOp::create(b, matrix, ArrayRef<int64_t>{1, 0});
}

/// Creates what replaces a product: rows of codes times the codes of weights,
/// times the scales of the rows and, if there are any, of the columns. The
/// scales come before a view, so that the kernel of the sums multiplies them.
Value Float8Products::multiply(NNBuilder &b, MatmulOp product,
                               const RoundedTensor &rows, Value weights,
                               Value columns) {
  Value codes = matrixOf(b, rows.codes);
  if (!product.getTransposeB())
    weights = transposed(b, weights);
  Value y = sumOf(b, codes, weights);
  if (columns)
    y = b.mul(y, b.reshape(columns, {shapeOf(y).back()}));
  y = b.mul(y, b.reshape(rows.scale, {shapeOf(y).front(), 1}));
  y = b.cast(y, b.getBF16Type());
  bounds.addSums(y, rows.wide, rows.scale, columns);
  return b.reshape(y, shapeOf(product.getY()));
}

/// Rewrites the product of a gradient by weights, and the gradient of these.
void Float8Products::rewriteGradient(const Backward &product) {
  auto [gradient, x, inputs, weights] = product;
  Value dy = bounds.flatten(gradient.getA());
  NNBuilder rounding = builderAfter(gradient.getLoc(), dy);
  int64_t outputs = tensorType(weights.scale).getNumElements();
  // Formats of a smaller range need the largest number.
  Value bound;
  if (isa<Float8E5M2Type>(gradientFormat))
    bound = bounds.ofRows(rounding, dy);
  if (bound) {
    dy = shareGeluSlope(dy);
    Value most = rounding.reduce(weights.scale, Combiner::max, {0, 1});
    bound = rounding.mul(bound, rounding.reshape(most, {}));
  }
  Value wide = rounding.cast(dy, rounding.getF32Type());
  wide = rounding.mul(wide, rounding.reshape(weights.scale, {outputs}));
  RoundedTensor rows = roundTensor(
      rounding, wide, tensorType(wide).getRank() - 1, gradientFormat, bound);
  NNBuilder b(gradient.getLoc(), gradient.getOperation());
  gradient.replaceAllUsesWith(
      multiply(b, gradient, rows, weights.codes, /*columns=*/Value()));
  gradient.erase();
  rewriteWeightGradients(x, inputs, dy, rows, weights.scale);
}

/// Returns the products of the transposed rows of `dy` and the rows of `x`, or
/// the reverse.
static SmallVector<MatmulOp> weightGradientsOf(Value x, Value dy) {
  SmallVector<MatmulOp> found;
  SmallVector<Value> views = {throughReshapes(x)};
  while (!views.empty())
    for (Operation *user : views.pop_back_val().getUsers()) {
      if (auto view = dyn_cast<ReshapeOp>(user))
        views.push_back(view.getY());
      auto matmul = dyn_cast<MatmulOp>(user);
      if (!matmul || !matmul.getTransposeA() || matmul.getTransposeB() ||
          tensorType(matmul.getY()).getRank() != 2 || !isBf16(matmul.getY()))
        continue;
      Value a = throughReshapes(matmul.getA());
      Value b = throughReshapes(matmul.getB());
      if ((a == throughReshapes(x) && b == throughReshapes(dy)) ||
          (b == throughReshapes(x) && a == throughReshapes(dy)))
        found.push_back(matmul);
    }
  return found;
}

/// Multiplies codes of e5m2 by `factor` / `most`, which are powers of two, the
/// second the larger one: that lowers their exponents. Numbers below the least
/// normal one keep wrong bits or become zero.
static Value lowerExponents(NNBuilder &b, Value codes, Value factor,
                            Value most) {
  MLIRContext *context = b.getContext();
  Type wide = b.getI32Type();
  Type byte = IntegerType::get(context, 8, IntegerType::Unsigned);
  auto bitsOf = [&](Value x) -> Value { return BitCastOp::create(b, x, wide); };
  Value all = b.cast(BitCastOp::create(b, codes, byte), wide);
  auto integer = [&](double value) { return b.scalarLike(all, value); };
  // From the places of an exponent of f32 to those of one of e5m2.
  Value places = integer(23 - 2), own = bitsOf(factor);
  Value lower =
      BitShiftOp::create(b, b.sub(bitsOf(most), own), places, "RIGHT");
  Value size = BitwiseAndOp::create(b, all, integer(127));
  Value zero = integer(0);
  size = MaxOp::create(b, b.sub(size, lower), zero);
  Value sign = BitwiseAndOp::create(b, all, integer(128));
  Value lowered = b.cast(BitwiseOrOp::create(b, size, sign), byte);
  return BitCastOp::create(b, lowered, tensorType(codes).getElementType());
}

/// Rewrites the gradients of weights by an input and the gradient of an output.
void Float8Products::rewriteWeightGradients(Value x,
                                            const RoundedTensor &inputs,
                                            Value dy,
                                            const RoundedTensor &gradients,
                                            Value weightScale) {
  int64_t rows = tensorType(inputs.scale).getNumElements();
  int64_t outputs = tensorType(weightScale).getNumElements();
  if (rows % kFloat8Multiple != 0 || !isa<Float8E5M2Type>(gradientFormat))
    return;
  for (MatmulOp product : weightGradientsOf(x, dy)) {
    NNBuilder b(product.getLoc(), product);
    bool isLeft = throughReshapes(product.getA()) == throughReshapes(dy);
    if (shapeOf(product.getA()).front() != rows)
      continue;
    Value scales = b.reshape(gradients.scale, {rows, 1});
    Value factor = b.mul(b.reshape(inputs.scale, {rows, 1}), scales);
    Value most = b.reduce(factor, Combiner::max, 0);
    Value codes = lowerExponents(b, matrixOf(b, gradients.codes), factor, most);
    Value left = transposed(b, codes);
    Value right = transposed(b, matrixOf(b, inputs.codes));
    if (!isLeft)
      std::swap(left, right);
    Value y = sumOf(b, left, right);
    y = b.mul(y, b.reshape(most, {}));
    y = b.div(y, isLeft ? b.reshape(weightScale, {outputs, 1})
                        : b.reshape(weightScale, {outputs}));
    product.replaceAllUsesWith(b.cast(y, b.getBF16Type()));
    product.erase();
  }
}

Legality Float8Products::rewrite(const LinearProduct &product,
                                 const LinearProducts &all) {
  if (Legality why = checkFloat8(product))
    return why;
  auto forward = cast<MatmulOp>(product.op);
  Value x = bounds.flatten(forward.getA()), w = forward.getB();
  Location loc = forward.getLoc();
  auto roundOnce = [&](Value value, int64_t axis) -> const RoundedTensor & {
    RoundedTensor &rounded = known[{value, axis}];
    if (!rounded.codes) {
      NNBuilder b = builderAfter(loc, value);
      Value bound = bounds.ofRows(b, value);
      rounded = roundTensor(b, b.cast(value, b.getF32Type()), axis,
                            Float8E4M3FNType::get(b.getContext()), bound);
    }
    return rounded;
  };
  int64_t axis = summedAxis(forward);
  RoundedTensor weights = roundOnce(w, axis);
  RoundedTensor rows = roundOnce(x, tensorType(x).getRank() - 1);
  NNBuilder b(loc, forward.getOperation());
  Value y = multiply(b, forward, rows, weights.codes, weights.scale);
  SmallVector<MatmulOp> gradients;
  if (gradientFormat)
    for (OpOperand &use : w.getUses())
      if (auto matmul = dyn_cast<MatmulOp>(use.getOwner());
          matmul && use.getOperandNumber() == 1 && !all.isForward(matmul) &&
          !matmul.getTransposeA() && summedAxis(matmul) != axis &&
          tensorType(matmul.getA()).getRank() >= 2 && isBf16(matmul.getA()))
        gradients.push_back(matmul);
  for (MatmulOp gradient : gradients)
    backward.push_back({gradient, x, rows, weights});
  forward.replaceAllUsesWith(y);
  forward.erase();
  return std::nullopt;
}

void Float8Products::runOnOperation() {
  MLIRContext *context = &getContext();
  gradientFormat = gradients == "e5m2"   ? Type(Float8E5M2Type::get(context))
                   : gradients == "e4m3" ? Type(Float8E4M3FNType::get(context))
                                         : Type();
  for (auto function : getOperation().getOps<func::FuncOp>()) {
    if (function.isExternal() || function.getName() != "main")
      continue;
    known.clear();
    bounds.clear();
    backward.clear();
    LinearProducts products(function.getBody().front());
    for (const LinearProduct &product : products.list()) {
      Location loc = product.op->getLoc();
      if (Legality why = rewrite(product, products))
        remark::missed(
            loc, remark::RemarkOpts::name("Wide").category("quantization"))
            << remark::add("multiplies more than 8 bits: {0}", why->reason());
      else
        remark::passed(
            loc, remark::RemarkOpts::name("Float8").category("quantization"))
            << remark::add("multiplies floats of 8 bits");
    }
    // The last one first, so that a gradient's bound is known.
    for (const Backward &product : llvm::reverse(backward))
      rewriteGradient(product);
  }
}

std::unique_ptr<Pass>
frit::createFloat8Products(const Target &target,
                           Float8ProductsOptions options) {
  return std::make_unique<Float8Products>(target, options);
}
