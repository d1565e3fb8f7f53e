//===- ComposePatterns.cpp - Recognise decomposed operators ---------------===//
//
// Exporters associate the same product in different orders, so these patterns
// match a product as the set of its factors:
//
//   x · 0.5 · (1 + erf(x / √2))                        ==>  gelu(x)
//   x · (0.5 + 0.5 · erf(x / √2))                      ==>  gelu(x)
//   0.5 · x · (1 + tanh(0.79788 · (x + 0.044715 · x³)))  ==>  gelu(x), tanh
//   x · sigmoid(x)                                     ==>  silu(x)
//   d / sqrt(mean(d · d) + ε) · scale + bias, d = x - mean(x)
//                                                      ==>  layer_norm(x)
//   x / sqrt(mean(x · x) + ε) · scale                  ==>  rms_norm(x)
//
//===----------------------------------------------------------------------===//

#include "compiler/transform/recognize/ComposePatterns.h"
#include "compiler/transform/Graph.h"

#include <cmath>

using namespace mlir;
using namespace frit;
using namespace frit::nn;

/// Compares with tolerance: models have constants rounded to a few decimal
/// places, or to the type of `value`, which is computed from them.
static bool isNear(double x, double y, Value value) {
  auto type = dyn_cast<FloatType>(tensorType(value).getElementType());
  double rounding = type ? std::ldexp(1, -int(type.getFPMantissaWidth())) : 0;
  return std::abs(x - y) <= std::max(1e-4, rounding) * std::abs(y);
}

static bool isNearSplat(Value value, double number) {
  auto found = splatNumber(value);
  return found && isNear(*found, number, value);
}

static bool readOnce(Operation *op) { return llvm::all_equal(op->getUsers()); }

namespace {
/// A product of a number and some values.
struct Product {
  double number = 1;
  SmallVector<Value> factors;
  /// Number of values that may still be decomposed. Bounds x·x of x·x etc.
  unsigned left = 32;

  /// Removes one occurrence of `value`; returns whether there was one.
  bool take(Value value) {
    auto *it = llvm::find(factors, value);
    if (it == factors.end())
      return false;
    factors.erase(it);
    return true;
  }
};
} // namespace

/// Multiplies `product` by `value`. Decomposes it into factors if it is a
/// product without other readers, or the `root`.
static void multiply(Product &product, Value value, Operation *root) {
  if (auto number = splatNumber(value)) {
    product.number *= *number;
    return;
  }
  Operation *op = value.getDefiningOp();
  if (op && product.left && (op == root || readOnce(op))) {
    --product.left;
    if (isa<MulOp>(op)) {
      multiply(product, op->getOperand(0), root);
      multiply(product, op->getOperand(1), root);
      return;
    }
    if (auto div = dyn_cast<DivOp>(op))
      if (auto number = splatNumber(div.getB())) {
        product.number /= *number;
        multiply(product, div.getA(), root);
        return;
      }
    if (auto pow = dyn_cast<PowOp>(op))
      if (auto number = splatNumber(pow.getB());
          number && (*number == 2 || *number == 3)) {
        for (int i = 0; i < *number; ++i)
          product.factors.push_back(pow.getA());
        return;
      }
  }
  product.factors.push_back(value);
}

static Product productOf(Value value) {
  Product product;
  multiply(product, value, value.getDefiningOp());
  return product;
}

/// Returns the other operand if `value` is an addition of about `number`, else
/// null.
static Value addedTo(Value value, double number) {
  auto add = value.getDefiningOp<AddOp>();
  if (!add)
    return {};
  if (isNearSplat(add.getB(), number))
    return add.getA();
  return isNearSplat(add.getA(), number) ? add.getB() : Value();
}

//===----------------------------------------------------------------------===//
// Activations
//===----------------------------------------------------------------------===//

/// Returns whether `value` is `number` · x.
static bool isScaled(Value value, Value x, double number) {
  Product product = productOf(value);
  return isNear(product.number, number, x) && product.take(x) &&
         product.factors.empty();
}

/// Returns whether `value` is √(2/π) · (x + 0.044715 · x³), in either
/// association.
static bool isTanhArgument(Value value, Value x) {
  constexpr double scale = 0.7978845608028654, cubic = 0.044715;
  Product product = productOf(value);
  if (!isNear(product.number, scale, x))
    return false;
  if (product.factors.size() == 2 && product.take(x)) {
    // x · (1 + 0.044715 · x²)
    Value square = addedTo(product.factors[0], 1);
    if (!square)
      return false;
    Product inner = productOf(square);
    return isNear(inner.number, cubic, x) && inner.take(x) && inner.take(x) &&
           inner.factors.empty();
  }
  if (product.factors.size() != 1)
    return false;
  auto sum = product.factors[0].getDefiningOp<AddOp>();
  if (!sum)
    return false;
  for (unsigned i = 0; i < 2; ++i) {
    if (sum->getOperand(i) != x)
      continue;
    Product cube = productOf(sum->getOperand(1 - i));
    // The cube's square may be shared, so decompose it too.
    if (isNear(cube.number, cubic, x) && cube.take(x) && cube.take(x) &&
        cube.take(x) && cube.factors.empty())
      return true;
  }
  return false;
}

namespace {
/// Root is the last operator: a multiplication, or a division by a number.
template <typename Root> struct RecogniseGelu : OpRewritePattern<Root> {
  using OpRewritePattern<Root>::OpRewritePattern;

  LogicalResult matchAndRewrite(Root op,
                                PatternRewriter &rewriter) const override {
    Value y = op.getY();
    Product product = productOf(y);
    if (product.factors.size() != 2)
      return rewriter.notifyMatchFailure(op, "no product of two values");
    for (unsigned i = 0; i < 2; ++i) {
      Value x = product.factors[i];
      Value gate = gateOf(product.factors[1 - i], product.number, y);
      if (!gate || x.getType() != y.getType())
        continue;
      StringRef approximate;
      if (auto erf = gate.getDefiningOp<ErfOp>();
          erf && isScaled(erf.getX(), x, 0.7071067811865476))
        approximate = "none";
      else if (auto tanh = gate.getDefiningOp<TanhOp>();
               tanh && isTanhArgument(tanh.getX(), x))
        approximate = "tanh";
      else
        continue;
      rewriter.replaceOpWithNewOp<GeluOp>(op, x, approximate);
      return success();
    }
    return rewriter.notifyMatchFailure(op, "no 1 + erf or 1 + tanh");
  }

private:
  /// Returns g if `number` · `value` is ½ + ½ · g, else null.
  static Value gateOf(Value value, double number, Value y) {
    auto add = value.getDefiningOp<AddOp>();
    for (unsigned i = 0; add && i < 2; ++i) {
      auto shift = splatNumber(add->getOperand(i));
      if (!shift || !isNear(number * *shift, 0.5, y))
        continue;
      Product scaled = productOf(add->getOperand(1 - i));
      if (scaled.factors.size() == 1 && isNear(number * scaled.number, 0.5, y))
        return scaled.factors.front();
    }
    return {};
  }
};

/// Recognises x · f(x) as one operator.
struct RecogniseGate : OpRewritePattern<MulOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(MulOp op,
                                PatternRewriter &rewriter) const override {
    for (unsigned i = 0; i < 2; ++i) {
      Value x = op->getOperand(i), gate = op->getOperand(1 - i);
      if (auto sigmoid = gate.getDefiningOp<SigmoidOp>();
          sigmoid && sigmoid.getX() == x) {
        rewriter.replaceOpWithNewOp<SiluOp>(op, x);
        return success();
      }
      auto tanh = gate.getDefiningOp<TanhOp>();
      if (!tanh)
        continue;
      if (auto softplus = tanh.getX().getDefiningOp<SoftplusOp>();
          softplus && softplus.getX() == x) {
        rewriter.replaceOpWithNewOp<MishOp>(op, x);
        return success();
      }
    }
    return failure();
  }
};

//===----------------------------------------------------------------------===//
// Norms
//===----------------------------------------------------------------------===//

/// A match of `x / sqrt(mean(x · x) + ε)`: a layer norm if x is centred, else
/// an RMS norm.
struct Normalized {
  Value x;
  bool centred;
  int64_t axis;
  double epsilon;
};
} // namespace

/// Returns the first axis of a mean over all trailing dimensions, or -1.
static int64_t trailingAxis(ReduceMeanOp mean) {
  ArrayRef<int64_t> axes = mean.getAxes();
  int64_t rank = tensorType(mean.getX()).getRank();
  for (auto [i, axis] : llvm::enumerate(axes))
    if (axis != rank - static_cast<int64_t>(axes.size() - i))
      return -1;
  return axes.empty() ? -1 : axes.front();
}

/// Matches `value` as a difference of a tensor and its mean along `axes`.
static SubOp centredAlong(Value value, ArrayRef<int64_t> axes) {
  auto sub = value.getDefiningOp<SubOp>();
  auto mean = sub ? sub.getB().getDefiningOp<ReduceMeanOp>() : ReduceMeanOp();
  return mean && mean.getX() == sub.getA() && mean.getAxes() == axes ? sub
                                                                     : SubOp();
}

/// Matches `x` / sqrt(`padded`), where `padded` is the mean of its squares + ε.
static std::optional<Normalized> matchNormalized(Value x, Value padded) {
  auto add = padded.getDefiningOp<AddOp>();
  if (!add)
    return std::nullopt;
  unsigned i = splatNumber(add.getB()) ? 0 : 1;
  auto epsilon = splatNumber(add->getOperand(1 - i));
  auto mean = add->getOperand(i).getDefiningOp<ReduceMeanOp>();
  if (!epsilon || !mean)
    return std::nullopt;
  SubOp sub = centredAlong(x, mean.getAxes());
  // The square may be a product or a power, of this difference or an equal one.
  Product square = productOf(mean.getX());
  auto isSame = [&](Value v) {
    auto other = v.getDefiningOp<SubOp>();
    return v == x || (sub && other && other.getA() == sub.getA() &&
                      other.getB() == sub.getB());
  };
  int64_t axis = trailingAxis(mean);
  if (axis < 0 || square.number != 1 || square.factors.size() != 2 ||
      !llvm::all_of(square.factors, isSame))
    return std::nullopt;
  return Normalized{sub ? sub.getA() : x, bool(sub), axis, *epsilon};
}

/// Returns the parameter that `op`'s only reader, an `Op`, combines it with, if
/// it has the normalised dimensions, and advances `op` to the reader; else
/// null.
template <typename Op>
static Value takeParameter(Operation *&op, ArrayRef<int64_t> shape) {
  if (!op->hasOneUse())
    return {};
  auto reader = dyn_cast<Op>(*op->user_begin());
  if (!reader || reader.getY().getType() != op->getResult(0).getType())
    return {};
  Value parameter =
      reader.getA() == op->getResult(0) ? reader.getB() : reader.getA();
  ArrayRef<int64_t> found = shapeOf(parameter);
  while (found.size() > shape.size() && found.front() == 1)
    found = found.drop_front();
  if (found != shape)
    return {};
  op = reader;
  return parameter;
}

/// Drops casts to f32 and back around a norm, which computes in f32 anyway;
/// advances `op` to the last cast.
static Value withoutCasts(Operation *&op, Value x) {
  auto widened = x.getDefiningOp<CastOp>();
  auto narrowed =
      op->hasOneUse() ? dyn_cast<CastOp>(*op->user_begin()) : CastOp();
  if (!widened || !narrowed || !isFloat(widened.getX()) ||
      narrowed.getY().getType() != widened.getX().getType() ||
      !tensorType(x).getElementType().isF32())
    return x;
  op = narrowed;
  return widened.getX();
}

static LogicalResult formNorm(Operation *root, const Normalized &found,
                              PatternRewriter &rewriter) {
  ArrayRef<int64_t> shape = shapeOf(found.x).drop_front(found.axis);
  Operation *last = root;
  Value x = withoutCasts(last, found.x);
  Value scale = takeParameter<MulOp>(last, shape), bias;
  if (found.centred)
    bias = takeParameter<AddOp>(last, shape);
  rewriter.setInsertionPoint(last);
  NNBuilder b(root->getLoc(), rewriter);
  // The norm operators require a scale.
  if (scale)
    scale = b.reshape(scale, shape);
  else
    scale = createSplat(b, b.getLoc(), tensorType(x).clone(shape), 1);
  if (bias)
    bias = b.reshape(bias, shape);
  APFloat epsilon(static_cast<float>(found.epsilon));
  if (found.centred)
    rewriter.replaceOpWithNewOp<LayerNormOp>(last, x, scale, bias, found.axis,
                                             epsilon);
  else
    rewriter.replaceOpWithNewOp<RmsNormOp>(last, x, scale, found.axis, epsilon);
  return success();
}

namespace {
/// Recognises x / sqrt(mean + ε).
struct RecogniseNormDiv : OpRewritePattern<DivOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(DivOp op,
                                PatternRewriter &rewriter) const override {
    auto sqrt = op.getB().getDefiningOp<SqrtOp>();
    if (!sqrt)
      return failure();
    auto found = matchNormalized(op.getA(), sqrt.getX());
    if (!found)
      return rewriter.notifyMatchFailure(op, "not a normalisation");
    return formNorm(op, *found, rewriter);
  }
};

/// Recognises x · rsqrt(mean + ε).
struct RecogniseNormMul : OpRewritePattern<MulOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(MulOp op,
                                PatternRewriter &rewriter) const override {
    for (unsigned i = 0; i < 2; ++i) {
      auto rsqrt = op->getOperand(i).getDefiningOp<RsqrtOp>();
      if (!rsqrt)
        continue;
      if (auto found = matchNormalized(op->getOperand(1 - i), rsqrt.getX()))
        return formNorm(op, *found, rewriter);
    }
    return failure();
  }
};
} // namespace

void frit::populateRecognition(RewritePatternSet &patterns) {
  patterns.add<RecogniseGelu<MulOp>, RecogniseGelu<DivOp>, RecogniseGate,
               RecogniseNormDiv, RecogniseNormMul>(patterns.getContext());
}
