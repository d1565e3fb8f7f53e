//===- AttentionPatterns.cpp - Recognise decomposed attention -------------===//
//
//   %t = nn.transpose %k {perm = [0, 1, 3, 2]}
//   %s = nn.matmul nn.mul(%q, 0.35), nn.mul(%t, 0.35)
//   %y = nn.matmul nn.softmax(nn.add %s, %mask), %v
// ==>
//   %y = nn.attention %q, %k, %v, %mask {scale = 0.125}
//
// Operators between the products may come in any order: scalars that scale the
// queries, keys or scores, factors per row, masks that are added or used in a
// select, casts, and views that merge or split batch and heads. A mask that
// hides exactly the future becomes the flag `causal`, by a finite number only
// if no other mask can hide all of the past; one that hides nothing is dropped.
// A guard after the softmax gives zeros for queries that see no key: PyTorch
// replaces NaN, ONNX's operator asks whether the maximum is -inf. Without one
// such a query gives NaN, and the operator is `unguarded`.
//
//===----------------------------------------------------------------------===//

#include "compiler/transform/recognize/AttentionPatterns.h"

#include "compiler/transform/Graph.h"
#include "compiler/transform/recognize/AttentionScores.h"
#include "dialects/nn/training/Gradient.h"

#include <limits>

using namespace mlir;
using namespace frit;
using namespace frit::nn;

/// Returns `value` without scalar factors before or after transposes and views,
/// multiplying them into `scale`. Follows at most `depth` operators.
static Value withoutScale(OpBuilder &b, Value value, double &scale,
                          unsigned depth = 16) {
  Operation *def = value.getDefiningOp();
  if (!def || depth == 0)
    return value;
  if (Value x = takeScale(def, scale))
    return withoutScale(b, x, scale, depth - 1);
  if (!isa<TransposeOp, ReshapeOp>(def))
    return value;
  Value x = withoutScale(b, def->getOperand(0), scale, depth - 1);
  if (x == def->getOperand(0))
    return value;
  Operation *clone = b.clone(*def);
  clone->setOperand(0, x);
  return clone->getResult(0);
}

/// Returns whether `condition` is isnan(weights), and nothing else reads it.
static bool findsNaN(Value condition, Value weights) {
  auto isNan = condition.getDefiningOp<IsNaNOp>();
  return isNan && isNan->hasOneUse() && isNan.getX() == weights &&
         weights.hasNUses(2);
}

/// Returns the maximum of the scores that `condition` compares with -inf, if
/// `weights` is their softmax and nothing else reads them; else null.
static ReduceOp findsHidden(Value condition, Value weights) {
  auto equal = condition.getDefiningOp<EqualOp>();
  auto softmax = weights.getDefiningOp<SoftmaxOp>();
  if (!equal || !softmax || !equal->hasOneUse() || !weights.hasOneUse())
    return {};
  for (unsigned i = 0; i < 2; ++i) {
    auto most = equal->getOperand(i).getDefiningOp<ReduceOp>();
    int64_t last = tensorType(softmax.getX()).getRank() - 1;
    if (most && most->hasOneUse() && most.getKind() == Combiner::max &&
        most.getX() == softmax.getX() &&
        most.getAxes() == ArrayRef<int64_t>(last) &&
        softmax.getX().hasNUses(2) &&
        numberOf(equal->getOperand(1 - i)) ==
            -std::numeric_limits<double>::infinity())
      return most;
  }
  return {};
}

namespace {
/// Operators that replace weights of queries without keys by zeros.
struct RowGuard {
  Value weights; ///< what they replace
  ReduceOp most; ///< of the scores, if they ask for it
  explicit operator bool() const { return bool(weights); }
};
} // namespace

static RowGuard describeGuard(Operation *op) {
  auto where = dyn_cast<WhereOp>(op);
  if (!where || numberOf(where.getA()) != 0 ||
      where.getB().getType() != where.getY().getType())
    return {};
  if (findsNaN(where.getCondition(), where.getB()))
    return {where.getB(), {}};
  ReduceOp most = findsHidden(where.getCondition(), where.getB());
  return most ? RowGuard{where.getB(), most} : RowGuard();
}

namespace {
/// What computes the weights of values.
struct WeightsOfValues {
  SoftmaxOp softmax;
  RowGuard guard;
};
} // namespace

/// Returns the softmax, and the guard after it, that `weights` come from
/// through casts and views that nothing else reads.
static WeightsOfValues followWeights(Value weights) {
  WeightsOfValues found;
  RowGuard before;
  for (Operation *def = weights.getDefiningOp();
       def && (before || def->hasOneUse()); def = weights.getDefiningOp()) {
    found.softmax = dyn_cast<SoftmaxOp>(def);
    before = describeGuard(def);
    if (before)
      weights = (found.guard = before).weights;
    else if (!found.softmax && (isFloatCast(def) || keepsMatrices(def)))
      weights = def->getOperand(0);
    else
      break;
  }
  return found;
}

namespace {
struct RecogniseAttention : OpRewritePattern<MatmulOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(MatmulOp op,
                                PatternRewriter &rewriter) const override {
    Operation *before = op->getPrevNode();
    if (succeeded(recognise(op, rewriter)))
      return success();
    // Erase the new operators: the driver would find them dead and retry
    // forever.
    while (op->getPrevNode() != before)
      rewriter.eraseOp(op->getPrevNode());
    return failure();
  }

private:
  static LogicalResult recognise(MatmulOp op, PatternRewriter &rewriter) {
    auto [softmax, guard] = followWeights(op.getA());
    if (!softmax || op.getTransposeA() || !resultType(op).hasStaticShape())
      return rewriter.notifyMatchFailure(op, "no softmax of its own");
    int64_t rank = tensorType(softmax.getX()).getRank();
    if (rank < 2 || (softmax.getAxis() != -1 && softmax.getAxis() != rank - 1))
      return rewriter.notifyMatchFailure(op, "a softmax along another axis");

    // Rebuild the product's operands; unused operators are erased later.
    NNBuilder b(op.getLoc(), rewriter);
    AttentionScores scores(b);
    if (!scores.follow(softmax.getX(), guard.most ? 2 : 1))
      return rewriter.notifyMatchFailure(op, "no product of queries and keys");
    Value q = scores.product.getA(), k = scores.product.getB();
    Value v = op.getB();
    if (llvm::any_of(ValueRange{q, k, v}, [](Value x) {
          return shapeOf(x).size() < 2 || !tensorType(x).hasStaticShape();
        }))
      return rewriter.notifyMatchFailure(op, "an operand is a vector");
    if (!isFloat(q) || !isFloat(k) || !isFloat(v))
      return rewriter.notifyMatchFailure(op, "an operand is no float");
    if (scores.product.getTransposeA())
      q = swapLast(b, q);
    if (!scores.product.getTransposeB())
      k = swapLast(b, k);
    if (op.getTransposeB())
      v = swapLast(b, v);
    double scale = scores.scale;
    q = withoutScale(b, q, scale);
    k = withoutScale(b, k, scale);
    if (scores.rowScale) {
      if (leadingShape(q) != scores.scaledShape)
        return rewriter.notifyMatchFailure(op, "rows are scaled as others");
      q = b.mul(q, b.cast(scores.rowScale, tensorType(q).getElementType()));
    }

    // Take batch and heads from a value in which they are two dimensions.
    SmallVector<int64_t> batchAndHeads;
    for (Value value : {q, Value(op.getA()), Value(op.getY())})
      if (shapeOf(value).size() == 4)
        batchAndHeads = leadingShape(value);
    if (scores.batchAndHeads.size() == 2)
      batchAndHeads = scores.batchAndHeads;
    if (batchAndHeads.empty())
      batchAndHeads = {1, ShapedType::getNumElements(leadingShape(q))};
    auto groups = groupsOf(q, k, v, batchAndHeads);
    if (!groups)
      return rewriter.notifyMatchFailure(op, "batch and heads do not fit");
    if (!scores.combineMasks(batchAndHeads))
      return rewriter.notifyMatchFailure(op, "a mask does not fit");

    // A mask of a wider type leaves the weights, and values, wider than
    // queries.
    Type work = tensorType(v).getElementType();
    if (tensorType(q).getElementTypeBitWidth() > work.getIntOrFloatBitWidth())
      work = tensorType(q).getElementType();
    auto four = [&](Value x, int64_t heads) {
      SmallVector<int64_t> shape = {batchAndHeads[0], heads};
      llvm::append_range(shape, shapeOf(x).take_back(2));
      return b.reshape(b.cast(x, work), shape);
    };
    b.setLoc(fuseLocations({scores.product, softmax, op}));
    Value y = AttentionOp::create(
        b, four(q, batchAndHeads[1]), four(k, *groups), four(v, *groups),
        scores.mask, APFloat(float(scale)), scores.causal, /*tf32=*/false,
        /*unguarded=*/scores.mask && !hasRanges(scores.mask) && !guard);
    rewriter.replaceOp(op, b.cast(b.reshape(y, resultType(op).getShape()),
                                  resultType(op).getElementType()));
    return success();
  }

  static Value swapLast(NNBuilder &b, Value x) {
    auto perm = llvm::to_vector(llvm::seq<int64_t>(0, shapeOf(x).size()));
    std::swap(perm[perm.size() - 2], perm.back());
    if (auto inner = x.getDefiningOp<TransposeOp>();
        inner && inner.getPerm() == ArrayRef(perm))
      return inner.getX();
    return TransposeOp::create(b, x, perm);
  }

  /// Returns the number of heads of keys and values, or nothing if it does not
  /// match the queries' heads.
  static std::optional<int64_t> groupsOf(Value q, Value k, Value v,
                                         ArrayRef<int64_t> batchAndHeads) {
    int64_t matrices = ShapedType::getNumElements(batchAndHeads);
    SmallVector<int64_t> one = {batchAndHeads[0], 1};
    // Either one head that all queries share, or one per query head.
    auto headsOf = [&](Value x) -> std::optional<int64_t> {
      if (ShapedType::getNumElements(leadingShape(x)) == matrices)
        return batchAndHeads[1];
      return leadingShape(x) == one ? std::optional<int64_t>(1) : std::nullopt;
    };
    auto heads = headsOf(k);
    if (ShapedType::getNumElements(leadingShape(q)) != matrices ||
        headsOf(v) != heads)
      return std::nullopt;
    return heads;
  }
};
} // namespace

void frit::populateAttention(RewritePatternSet &patterns) {
  patterns.add<RecogniseAttention>(patterns.getContext());
}
