//===- Simplify.cpp - Canonicalise, fold, merge equal ops -----------------===//
//
//   %s = nn.constant dense<[2, 3]> : tensor<2xi64>
//   %n = nn.reduce %s {kind = #nn.combiner<prod>, axes = [0]} : ...
//   %a = nn.cast %n {to = f32} : (tensor<1xi64>) -> tensor<1xf32>
//   %b = nn.expand %a {shape = [4, 6]} : ...
//   %y = nn.mul %x, %b : ...
// ==>
//   %a = nn.constant dense<6.0> : tensor<4x6xf32>
//   %y = nn.mul %x, %a : ...
//
// Values of weights are never used, so that they can be replaced in the
// artifact; isFoldable (Graph.h) defines which constants may be folded.
//
//===----------------------------------------------------------------------===//

#include "compiler/transform/Graph.h"
#include "compiler/transform/Passes.h"
#include "compiler/transform/recognize/AttentionPatterns.h"
#include "compiler/transform/simplify/RowMovement.h"
#include "compiler/transform/simplify/SimplifyMovement.h"
#include "dialects/nn/Fold.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

#include <cmath>
#include <limits>

namespace frit {
#define GEN_PASS_DEF_SIMPLIFY
#include "compiler/transform/Passes.h.inc"
} // namespace frit

using namespace mlir;
using namespace frit;
using namespace frit::nn;

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

namespace {
/// Replaces an operator on small constants by its value.
struct FoldConstants : RewritePattern {
  explicit FoldConstants(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}

  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    // Fusions compute a counter on the fly, which is cheaper than loading its
    // elements.
    if (!isa<ElementwiseOp, StructuralOp, ReshapeOp>(op) || isa<IotaOp>(op))
      return failure();
    for (Value operand : op->getOperands()) {
      auto constant = operand.getDefiningOp<ConstantOp>();
      if (!constant || !isFoldable(constant))
        return rewriter.notifyMatchFailure(op, "an operand is no constant");
    }
    DenseElementsAttr value = evaluate(op);
    if (!value)
      return rewriter.notifyMatchFailure(op, "too many elements");
    rewriter.replaceOpWithNewOp<ConstantOp>(op, value, StringAttr());
    return success();
  }
};

/// Folds an operator on splats of any size whose result is a splat.
struct FoldSplats : RewritePattern {
  explicit FoldSplats(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}

  /// Returns the element of the result, as a splat of any shape.
  static DenseElementsAttr element(Operation *op, OpBuilder &builder) {
    if (isa<TransposeOp, SliceOp, ExpandOp, ReshapeOp, GatherOp>(op))
      return splatOf(op->getOperand(0));
    if (auto concat = dyn_cast<ConcatOp>(op)) {
      DenseElementsAttr first = splatOf(op->getOperand(0));
      for (Value x : concat.getXs()) {
        DenseElementsAttr splat = splatOf(x);
        if (!first || !splat ||
            splat.getSplatValue<Attribute>() !=
                first.getSplatValue<Attribute>())
          return {};
      }
      return first;
    }
    if (!isa<ElementwiseOp>(op) || !llvm::all_of(op->getOperands(), splatOf))
      return {};
    // Apply the same operator to single elements.
    SmallVector<Operation *> scalars;
    IRMapping map;
    for (Value operand : op->getOperands()) {
      DenseElementsAttr splat = splatOf(operand);
      auto type = RankedTensorType::get({}, splat.getElementType());
      Value scalar = createSplat(builder, op->getLoc(), type, splat);
      scalars.push_back(scalar.getDefiningOp());
      map.map(operand, scalar);
    }
    Operation *clone = builder.clone(*op, map);
    clone->getResult(0).setType(resultType(op).clone(ArrayRef<int64_t>()));
    DenseElementsAttr value = evaluate(clone);
    clone->erase();
    for (Operation *scalar : scalars)
      scalar->erase();
    return value;
  }

  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    if (op->getNumResults() != 1 || op->getNumOperands() == 0 ||
        !isa<RankedTensorType>(op->getResult(0).getType()) ||
        !resultType(op).hasStaticShape())
      return failure();
    // Create temporary operators with a builder that the rewrite driver does
    // not watch.
    OpBuilder scratch(op);
    DenseElementsAttr value = element(op, scratch);
    if (!value)
      return rewriter.notifyMatchFailure(op, "not all elements are equal");
    rewriter.replaceOp(
        op, createSplat(rewriter, op->getLoc(), resultType(op), value));
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

/// Replaces x + 0, x · 1 and the like by x, broadcast if necessary.
struct DropIdentity : RewritePattern {
  explicit DropIdentity(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}

  /// Returns the right operand that leaves the left one unchanged.
  static std::optional<double> identity(Operation *op) {
    static constexpr double inf = std::numeric_limits<double>::infinity();
    return TypeSwitch<Operation *, std::optional<double>>(op)
        .Case<AddOp, SubOp, OrOp>([](auto) { return 0.0; })
        .Case<MulOp, DivOp, PowOp, AndOp>([](auto) { return 1.0; })
        .Case<MaxOp>([](auto) { return -inf; })
        .Case<MinOp>([](auto) { return inf; })
        .Default(std::nullopt);
  }

  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    auto number = identity(op);
    if (!number)
      return failure();
    for (unsigned i = 0; i < 2; ++i) {
      Value kept = op->getOperand(i);
      bool commutes = isa<AddOp, MulOp, MaxOp, MinOp, AndOp, OrOp>(op);
      auto type = resultType(op);
      if ((i == 0 || commutes) && isSplat(op->getOperand(1 - i), *number) &&
          tensorType(kept).getElementType() == type.getElementType()) {
        if (kept.getType() != type && !type.hasStaticShape())
          continue;
        if (kept.getType() != type)
          kept =
              ExpandOp::create(rewriter, op->getLoc(), kept, type.getShape());
        rewriter.replaceOp(op, kept);
        return success();
      }
    }
    return failure();
  }
};

/// Expands small powers into products and roots.
struct ExpandPow : OpRewritePattern<PowOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(PowOp op,
                                PatternRewriter &rewriter) const override {
    auto exponent = splatNumber(op.getB());
    Value x = op.getA();
    if (!exponent || x.getType() != op.getY().getType() || !isFloat(x))
      return rewriter.notifyMatchFailure(op, "not a known power of a float");
    Location loc = op.getLoc();
    Value y;
    if (*exponent == 2 || *exponent == 3) {
      y = MulOp::create(rewriter, loc, x, x);
      if (*exponent == 3)
        y = MulOp::create(rewriter, loc, y, x);
    } else if (*exponent == 0.5) {
      y = SqrtOp::create(rewriter, loc, x);
    } else if (*exponent == -0.5) {
      y = RsqrtOp::create(rewriter, loc, x);
    } else if (*exponent == -1) {
      y = ReciprocalOp::create(rewriter, loc, x);
    } else {
      return rewriter.notifyMatchFailure(op, "another exponent");
    }
    rewriter.replaceOp(op, y);
    return success();
  }
};

/// Replaces 1 / sqrt(x) by rsqrt(x).
struct FormRsqrt : OpRewritePattern<ReciprocalOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ReciprocalOp op,
                                PatternRewriter &rewriter) const override {
    auto sqrt = op.getX().getDefiningOp<SqrtOp>();
    if (!sqrt)
      return failure();
    rewriter.replaceOpWithNewOp<RsqrtOp>(op, sqrt.getX());
    return success();
  }
};

struct FormReciprocal : OpRewritePattern<DivOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(DivOp op,
                                PatternRewriter &rewriter) const override {
    if (!isFloat(op.getA()) || !isSplat(op.getA(), 1) ||
        op.getB().getType() != op.getY().getType())
      return failure();
    rewriter.replaceOpWithNewOp<ReciprocalOp>(op, op.getB());
    return success();
  }
};

/// Folds a selection whose condition is known.
struct FoldWhere : OpRewritePattern<WhereOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(WhereOp op,
                                PatternRewriter &rewriter) const override {
    auto condition = splatNumber(op.getCondition());
    if (!condition)
      return failure();
    Value x = *condition != 0 ? op.getA() : op.getB();
    if (x.getType() != op.getY().getType())
      x = ExpandOp::create(rewriter, op.getLoc(), x, shapeOf(op.getY()));
    rewriter.replaceOp(op, x);
    return success();
  }
};

/// Returns whether the float type `wide` represents every value of the type
/// `narrow`.
static bool represents(Type wide, Type narrow) {
  auto w = dyn_cast<FloatType>(wide), n = dyn_cast<FloatType>(narrow);
  if (w && narrow.isInteger())
    return narrow.getIntOrFloatBitWidth() <= w.getFPMantissaWidth();
  if (!w || !n)
    return false;
  return w == n || APFloat::isRepresentableBy(n.getFloatSemantics(),
                                              w.getFloatSemantics());
}

/// Drops a cast before another cast if it is exact, or if the compiler inserted
/// it and it has no other reader. The rounding of the model's own casts is
/// kept.
///
/// If the value is a sum, a reshape may lie between the casts. Between casts of
/// an elementwise value it separates kernels, which then store the value in the
/// narrow type.
struct DropCast : OpRewritePattern<CastOp> {
  using OpRewritePattern::OpRewritePattern;

  static bool isSum(Value value) {
    Operation *op = value.getDefiningOp();
    while (isa_and_nonnull<ReshapeOp>(op))
      op = op->getOperand(0).getDefiningOp();
    return isa_and_nonnull<ReduceOp>(op);
  }

  LogicalResult matchAndRewrite(CastOp op,
                                PatternRewriter &rewriter) const override {
    auto reshape = op.getX().getDefiningOp<ReshapeOp>();
    if (reshape && !reshape->hasOneUse())
      return failure();
    auto inner = (reshape ? reshape.getX() : op.getX()).getDefiningOp<CastOp>();
    if (!inner || (reshape && !isSum(inner.getX())))
      return failure();
    Type from = tensorType(inner.getX()).getElementType();
    bool floats = isa<FloatType>(from) && isa<FloatType>(inner.getTo()) &&
                  isa<FloatType>(op.getTo()) && inner.getStorage();
    // From an integer, only a cast to float may skip it.
    bool exact = represents(inner.getTo(), from) &&
                 (isa<FloatType>(from) || isa<FloatType>(op.getTo()));
    if (!exact && !(floats && inner->hasOneUse()))
      return rewriter.notifyMatchFailure(op, "the first cast rounds");
    Value x = inner.getX();
    if (reshape)
      x = ReshapeOp::create(rewriter, op.getLoc(), x, reshape.getShape());
    rewriter.modifyOpInPlace(op, [&] { op.getXMutable().assign(x); });
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

/// Drops expands before elementwise operators, which broadcast themselves. If
/// all operands are expanded, expands the result instead.
struct DropExpand : OpInterfaceRewritePattern<ElementwiseOp> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;

  LogicalResult matchAndRewrite(ElementwiseOp op,
                                PatternRewriter &rewriter) const override {
    for (OpOperand &use : op->getOpOperands()) {
      auto expand = use.get().getDefiningOp<ExpandOp>();
      if (!expand)
        continue;
      SmallVector<ArrayRef<int64_t>> shapes;
      for (OpOperand &other : op->getOpOperands())
        shapes.push_back(&other == &use ? shapeOf(expand.getX())
                                        : shapeOf(other.get()));
      auto shape = broadcastShapes(shapes);
      auto type = resultType(op);
      if (!shape)
        continue;
      if (ArrayRef(*shape) == type.getShape()) {
        rewriter.modifyOpInPlace(op, [&] { use.set(expand.getX()); });
        return success();
      }
      if (!type.hasStaticShape())
        continue;
      Operation *less = rewriter.clone(*op);
      less->setOperand(use.getOperandNumber(), expand.getX());
      less->getResult(0).setType(type.clone(*shape));
      rewriter.replaceOpWithNewOp<ExpandOp>(op, less->getResult(0),
                                            type.getShape());
      return success();
    }
    return failure();
  }
};

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

class Simplify : public frit::impl::SimplifyBase<Simplify> {
public:
  using SimplifyBase::SimplifyBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    // Folding creates scalar bodies in these dialects.
    registry.insert<NNDialect, arith::ArithDialect, math::MathDialect>();
  }

  LogicalResult initialize(MLIRContext *context) override {
    RewritePatternSet set(context);
    // Filter here: MLIR's lookup by dialect fails if many other dialects are
    // registered.
    for (RegisteredOperationName name : context->getRegisteredOperations())
      if (name.getDialectNamespace() == NNDialect::getDialectNamespace())
        name.getCanonicalizationPatterns(set, context);
    set.add<FoldConstants, FoldSplats, DropIdentity, ExpandPow, FormRsqrt,
            FormReciprocal, FoldWhere, DropCast, DropExpand>(context);
    populateMovement(set);
    populateQuantizedWeights(set);
    populateSharedHeads(set);
    if (sliceRows)
      populateRowSlices(set);
    patterns = std::move(set);
    return success();
  }

  /// Bound of the number of rewrites. Real models take about one per operator.
  static constexpr int64_t kFewRewrites = 1000, kRewritesPerOperator = 32;

  void runOnOperation() override {
    // Equal weights with different names must stay separate.
    GreedyRewriteConfig config;
    config.enableConstantCSE(false);
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      // Patterns that undo each other must not hang the compiler. The graph is
      // correct when the bound is reached, if not the simplest.
      int64_t size = llvm::range_size(function.getOps());
      config.setMaxNumRewrites(kFewRewrites + kRewritesPerOperator * size);
      (void)applyPatternsGreedily(function, patterns, config);
    }
    IRRewriter rewriter(&getContext());
    DominanceInfo dominance(getOperation());
    eliminateCommonSubExpressions(rewriter, dominance, getOperation());
  }

private:
  FrozenRewritePatternSet patterns;
};
} // namespace
