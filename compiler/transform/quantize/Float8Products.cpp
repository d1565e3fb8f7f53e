//===- Float8Products.cpp - Train with products in 8 bits -----------------===//
//
//   %y = nn.matmul %x, %w {transpose_b}      bf16; %w is a weight that trains
//   %dx = nn.matmul %dy, %w                  its gradient
//   %dw = nn.matmul %dy, %x {transpose_a}
// ==>
//   %t = nn.max (nn.reduce (nn.abs %w) {max, a row}) / 448, 2⁻¹⁰⁰
//   %v = nn.cast (nn.mul %w, 1 / %t) {to = f8E4M3FN}    codes of the weights
//   %s = nn.max (nn.reduce (nn.abs %x) {max, a row}) / 448, 2⁻¹⁰⁰
//   %q = nn.cast (nn.mul %x, 1 / %s) {to = f8E4M3FN}
//   %y = nn.cast (nn.quantized_conv %q, %v) · %t · %s {to = bf16}
//   %e = nn.mul %dy, %t
//   %u = nn.max (nn.reduce (nn.abs %e) {max, a row}) / 57344, 2⁻¹⁰⁰
//   %g = nn.cast (nn.mul %e, 1 / %u) {to = f8E5M2}
//   %dx = nn.cast (nn.quantized_conv %g, (nn.transpose %v)) · %u {to = bf16}
//   %dw = nn.matmul %dy, %x {transpose_a}
//
// A row of an input, or of its gradient, gets its scale in the call that rounds
// it, by its largest number. So nothing overflows, no state is needed, and one
// kernel finds the scale and rounds while it has the row. The weights of each
// output share a scale. Weights are rounded once: the gradient by the input
// multiplies their codes, too, and their scales, which are factors of its sums'
// terms there, multiply the gradient before it is rounded.
//
// The gradients of weights stay in 16 bits: they sum over rows, whose scales
// are factors of the terms, and tensor cores take 8 bits only with the terms of
// a sum side by side, for which both operands had to be transposed.
//
// First and last products stay in 16 bits, as do those of odd sizes, and all
// that multiply no weights, such as attention. Remarks say so. If the target
// does not multiply 8-bit floats, it multiplies what they stand for.
//
//===----------------------------------------------------------------------===//

#include "compiler/transform/Graph.h"
#include "compiler/transform/Passes.h"
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
/// Floats of 8 bits, and the scale of each row, or of other slices.
struct RoundedTensor {
  Value codes, scale;
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
  void rewriteGradient(MatmulOp gradient, const RoundedTensor &weights);
  Value multiply(NNBuilder &b, MatmulOp product, const RoundedTensor &rows,
                 Value weights, Value columns);

  const Target &target;
  TargetRewrites rewrites;
  Type gradientFormat; ///< null: gradients stay in 16 bits
  /// By the tensor, and the axis along which numbers share a scale.
  llvm::DenseMap<std::pair<Value, int64_t>, RoundedTensor> known;
};
} // namespace

/// Rounds a tensor of f32. Numbers along `axis` share a scale.
static RoundedTensor roundTensor(NNBuilder &b, Value x, int64_t axis,
                                 Type format) {
  const llvm::fltSemantics &semantics =
      cast<FloatType>(format).getFloatSemantics();
  Value most =
      b.scalarLike(x, APFloat::getLargest(semantics).convertToDouble());
  Value scale = b.reduce(AbsOp::create(b, x), Combiner::max, axis);
  scale =
      MaxOp::create(b, b.div(scale, most), b.scalarLike(x, kLeastFloat8Scale));
  Value inverse = b.div(b.scalarLike(scale, 1), scale);
  return {b.cast(b.mul(x, inverse), format), scale};
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

/// Creates what replaces a product: rows of codes times the codes of weights,
/// times the scales of the rows and, if there are any, of the columns. The
/// scales come before a view, so that the kernel of the sums multiplies them.
Value Float8Products::multiply(NNBuilder &b, MatmulOp product,
                               const RoundedTensor &rows, Value weights,
                               Value columns) {
  int64_t depth = shapeOf(rows.codes).back();
  int64_t count = tensorType(rows.codes).getNumElements() / depth;
  Value codes = b.reshape(rows.codes, {count, depth});
  if (!product.getTransposeB())
    weights = TransposeOp::create(b, weights, ArrayRef<int64_t>{1, 0});
  Value none;
  ArrayRef<int64_t> empty;
  auto sums =
      QuantizedConvOp::create(b, codes, weights, none, none, none, none, none,
                              none, empty, empty, empty, 1, /*relu=*/false);
  Value y = sums.getY();
  const auto *wanted = rewrites.find<QuantizedRewrite>();
  if (wanted && wanted->narrowsFloats &&
      !target.keepsWhole(cast<CompositeOp>(sums.getOperation()))) {
    sums.erase();
    Type bf16 = b.getBF16Type();
    y = MatmulOp::create(b, b.cast(codes, bf16), b.cast(weights, bf16),
                         /*transpose_a=*/false, /*transpose_b=*/true,
                         /*tf32=*/false);
    y = b.cast(y, b.getF32Type());
  }
  if (columns)
    y = b.mul(y, b.reshape(columns, {shapeOf(y).back()}));
  y = b.mul(y, b.reshape(rows.scale, {count, 1}));
  return b.reshape(b.cast(y, b.getBF16Type()), shapeOf(product.getY()));
}

/// Rewrites the product of a gradient by weights.
void Float8Products::rewriteGradient(MatmulOp gradient,
                                     const RoundedTensor &weights) {
  NNBuilder b(gradient.getLoc(), gradient.getOperation());
  Value dy = b.cast(gradient.getA(), b.getF32Type());
  int64_t outputs = tensorType(weights.scale).getNumElements();
  dy = b.mul(dy, b.reshape(weights.scale, {outputs}));
  RoundedTensor rows =
      roundTensor(b, dy, tensorType(dy).getRank() - 1, gradientFormat);
  gradient.replaceAllUsesWith(
      multiply(b, gradient, rows, weights.codes, /*columns=*/Value()));
  gradient.erase();
}

Legality Float8Products::rewrite(const LinearProduct &product,
                                 const LinearProducts &all) {
  if (Legality why = checkFloat8(product))
    return why;
  auto forward = cast<MatmulOp>(product.op);
  Value x = forward.getA(), w = forward.getB();
  Location loc = forward.getLoc();
  auto roundOnce = [&](Value value, int64_t axis) -> const RoundedTensor & {
    RoundedTensor &rounded = known[{value, axis}];
    if (!rounded.codes) {
      NNBuilder b = builderAfter(loc, value);
      rounded = roundTensor(b, b.cast(value, b.getF32Type()), axis,
                            Float8E4M3FNType::get(b.getContext()));
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
    rewriteGradient(gradient, weights);
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
  }
}

std::unique_ptr<Pass>
frit::createFloat8Products(const Target &target,
                           Float8ProductsOptions options) {
  return std::make_unique<Float8Products>(target, options);
}
