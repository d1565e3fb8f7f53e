//===- AttentionPatterns.cpp - Attention that exporters wrote out ---------===//
//
//   %t = nn.transpose %k {perm = [0, 1, 3, 2]}
//   %s = nn.matmul nn.mul(%q, 0.35), nn.mul(%t, 0.35)
//   %y = nn.matmul nn.softmax(nn.add %s, %mask), %v
// ==>
//   %y = nn.attention %q, %k, %v, %mask {scale = 0.125}
//
// What is between the products may come in any order: numbers that scale the
// queries, the keys or the scores, masks that are added or selected by, casts,
// and views that merge or split batch and heads. A mask that hides the future
// and nothing else becomes the flag `causal`, and one that hides nothing goes.
// What PyTorch puts behind the softmax, zeros where that is no number because a
// query sees no key, is what attention means.
//
//===----------------------------------------------------------------------===//

#include "compiler/transform/AttentionPatterns.h"
#include "compiler/transform/Graph.h"
#include "compiler/transform/MaskValue.h"

#include <limits>

using namespace mlir;
using namespace frit;
using namespace frit::nn;

/// The number that all elements of a value are, seen through views.
static std::optional<double> numberOf(Value value) {
  while (Operation *def = value.getDefiningOp()) {
    if (!isa<ReshapeOp, ExpandOp>(def))
      break;
    value = def->getOperand(0);
  }
  return splatNumber(value);
}

/// The value that `op` multiplies by a number, which is multiplied to `scale`.
static Value takeScale(Operation *op, double &scale) {
  if (isa<MulOp>(op)) {
    for (unsigned i = 0; i < 2; ++i)
      if (auto number = numberOf(op->getOperand(1 - i));
          number && op->getOperand(i).getType() == op->getResult(0).getType()) {
        scale *= *number;
        return op->getOperand(i);
      }
    return {};
  }
  auto div = dyn_cast<DivOp>(op);
  if (!div || div.getA().getType() != div.getY().getType())
    return {};
  auto number = numberOf(div.getB());
  if (!number || *number == 0)
    return {};
  scale /= *number;
  return div.getA();
}

/// `value` without numbers that it is multiplied by, before or after transposes
/// and views, of at most `depth` operators in a row.
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

static bool isFloatCast(Operation *op) {
  auto cast = dyn_cast<CastOp>(op);
  return cast && isFloat(cast.getX()) && isFloat(cast.getY());
}

/// Whether a view leaves the last two dimensions alone.
static bool keepsMatrices(Operation *op) {
  auto reshape = dyn_cast<ReshapeOp>(op);
  if (!reshape)
    return false;
  ArrayRef<int64_t> from = shapeOf(reshape.getX()), to = shapeOf(reshape);
  return from.size() >= 2 && to.size() >= 2 &&
         from.take_back(2) == to.take_back(2);
}

static SmallVector<int64_t> leading(Value value) {
  return SmallVector<int64_t>(shapeOf(value).drop_back(2));
}

static int64_t product(ArrayRef<int64_t> sizes) {
  int64_t result = 1;
  for (int64_t size : sizes)
    result *= size;
  return result;
}

/// What `op` reads and replaces by zeros where it is no number, if that is all
/// it does and nothing else reads it; or null.
static Value withoutGuard(Operation *op) {
  auto where = dyn_cast<WhereOp>(op);
  auto isNan =
      where ? where.getCondition().getDefiningOp<IsNaNOp>() : IsNaNOp();
  if (!isNan || !isNan->hasOneUse() || isNan.getX() != where.getB() ||
      !where.getB().hasNUses(2) || numberOf(where.getA()) != 0 ||
      where.getB().getType() != where.getY().getType())
    return {};
  return where.getB();
}

namespace {
/// The way from a softmax back to the product of queries and keys.
class Scores {
public:
  explicit Scores(NNBuilder &b) : b(b) {}

  /// Collects scale and masks on the way from `value`, which the softmax reads.
  bool follow(Value value);
  /// Makes one mask of those found, for scores of batch×heads matrices.
  bool combineMasks(ArrayRef<int64_t> batchAndHeads);

  MatmulOp product;
  double scale = 1;
  bool causal = false;
  Value mask;
  /// The two dimensions before the scores' last two, wherever there are two.
  SmallVector<int64_t> batchAndHeads;

private:
  struct Mask {
    Value value;
    bool hides = false;           ///< true where scores do not count
    SmallVector<int64_t> leading; ///< of the scores that it applies to
    double scale = 1;             ///< which a mask that is added is scaled by
  };

  Value step(Operation *op);
  Value stepBias(AddOp op);
  Value stepSelection(WhereOp op);
  bool reaches(Value value, unsigned depth = 12) const;
  bool isKnownMask(Value mask, Value scores, double scale = 1);

  NNBuilder &b;
  SmallVector<Mask> masks;
};
} // namespace

/// Whether `value` leads to a product by operators that `step` goes through.
bool Scores::reaches(Value value, unsigned depth) const {
  Operation *def = value.getDefiningOp();
  if (!def || !def->hasOneUse() || depth == 0)
    return false;
  if (isa<MatmulOp>(def))
    return true;
  double ignored = 1;
  if (Value x = takeScale(def, ignored))
    return reaches(x, depth - 1);
  if (isFloatCast(def) || keepsMatrices(def))
    return reaches(def->getOperand(0), depth - 1);
  if (isa<AddOp, WhereOp>(def))
    return llvm::any_of(def->getOperands(), [&](Value operand) {
      return operand.getType() == def->getResult(0).getType() &&
             reaches(operand, depth - 1);
    });
  return false;
}

/// Whether `mask` is the causal one, which is then known, or hides nothing.
bool Scores::isKnownMask(Value mask, Value scores, double scale) {
  MaskKind kind = kindOfMask(mask, scale);
  if (kind == MaskKind::causal &&
      shapeOf(mask).take_back(2) != shapeOf(scores).take_back(2))
    return false;
  causal |= kind == MaskKind::causal;
  return kind != MaskKind::other;
}

Value Scores::stepBias(AddOp op) {
  for (unsigned i = 0; i < 2; ++i) {
    Value scores = op->getOperand(i), bias = op->getOperand(1 - i);
    if (scores.getType() != op.getY().getType() || !reaches(scores))
      continue;
    if (isKnownMask(bias, scores, scale))
      return scores;
    // What a selection wrote as numbers is one.
    auto where = bias.getDefiningOp<WhereOp>();
    constexpr double never = -std::numeric_limits<double>::infinity();
    if (where && numberOf(where.getA()) == 0 &&
        numberOf(where.getB()) == never &&
        shapeOf(where.getCondition()) == shapeOf(bias))
      masks.push_back({where.getCondition(), false, leading(scores)});
    else if (where && numberOf(where.getB()) == 0 &&
             numberOf(where.getA()) == never &&
             shapeOf(where.getCondition()) == shapeOf(bias))
      masks.push_back({where.getCondition(), true, leading(scores)});
    else
      masks.push_back({bias, false, leading(scores), scale});
    return scores;
  }
  return {};
}

Value Scores::stepSelection(WhereOp op) {
  for (bool hides : {false, true}) {
    Value scores = hides ? op.getB() : op.getA();
    auto other = numberOf(hides ? op.getA() : op.getB());
    if (!other || !(*other * scale <= kMasked) ||
        scores.getType() != op.getY().getType() || !reaches(scores))
      continue;
    Value condition = op.getCondition();
    Value allowed = hides ? NotOp::create(b, condition) : condition;
    if (isKnownMask(allowed, scores))
      return scores;
    // A query that sees nothing is told apart by a finite number only.
    if (*other != -std::numeric_limits<double>::infinity()) {
      Value zero = b.scalarLike(scores, 0);
      Value low = b.scalarLike(scores, *other);
      Value bias = WhereOp::create(b, allowed, zero, low);
      masks.push_back({bias, false, leading(scores), scale});
      return scores;
    }
    masks.push_back({condition, hides, leading(scores)});
    return scores;
  }
  return {};
}

/// The scores that `op` makes its result from; null where it is another
/// operator.
Value Scores::step(Operation *op) {
  if (Value x = takeScale(op, scale))
    return x;
  if (isFloatCast(op) || keepsMatrices(op))
    return op->getOperand(0);
  if (auto add = dyn_cast<AddOp>(op))
    return stepBias(add);
  if (auto where = dyn_cast<WhereOp>(op))
    return stepSelection(where);
  return {};
}

bool Scores::follow(Value value) {
  while (Operation *def = value.getDefiningOp()) {
    if (!def->hasOneUse())
      return false;
    if (shapeOf(value).size() == 4)
      batchAndHeads = leading(value);
    product = dyn_cast<MatmulOp>(def);
    if (product)
      return true;
    value = step(def);
    if (!value)
      return false;
  }
  return false;
}

bool Scores::combineMasks(ArrayRef<int64_t> batchAndHeads) {
  constexpr double never = -std::numeric_limits<double>::infinity();
  Value allowed, bias;
  for (Mask &found : masks) {
    Value value = found.value;
    SmallVector<int64_t> shape(shapeOf(value));
    bool fits = shape.size() <= 4 && ArrayRef(found.leading) == batchAndHeads;
    while (!fits && shape.size() > 2 && shape.front() == 1)
      shape.erase(shape.begin());
    if (!fits && shape.size() > 2) {
      // Scores of one dimension of matrices, which are batch×heads.
      if (shape.size() != 3 || shape[0] != ::product(batchAndHeads))
        return false;
      shape.erase(shape.begin());
      shape.insert(shape.begin(), batchAndHeads.begin(), batchAndHeads.end());
    }
    value = b.reshape(value, shape);
    if (tensorType(value).getElementType().isInteger(1)) {
      if (found.hides)
        value = NotOp::create(b, value);
      allowed = allowed ? Value(AndOp::create(b, allowed, value)) : value;
      continue;
    }
    if (found.scale != 1)
      value = b.mul(value, b.scalarLike(value, found.scale));
    if (bias)
      bias = b.cast(bias, tensorType(value).getElementType());
    bias = bias ? b.add(bias, value) : value;
  }
  if (allowed && bias)
    bias = WhereOp::create(b, allowed, bias, b.scalarLike(bias, never));
  mask = bias ? bias : allowed;
  return true;
}

namespace {
struct RecogniseAttention : OpRewritePattern<MatmulOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(MatmulOp op,
                                PatternRewriter &rewriter) const override {
    Operation *before = op->getPrevNode();
    if (succeeded(recognise(op, rewriter)))
      return success();
    // What was made for nothing would be found dead, and be made again.
    while (op->getPrevNode() != before)
      rewriter.eraseOp(op->getPrevNode());
    return failure();
  }

private:
  static LogicalResult recognise(MatmulOp op, PatternRewriter &rewriter) {
    Value weights = op.getA();
    SmallVector<int64_t> batchAndHeads;
    SoftmaxOp softmax;
    bool isGuarded = false;
    for (Operation *def = weights.getDefiningOp();
         def && (isGuarded || def->hasOneUse());
         def = weights.getDefiningOp()) {
      softmax = dyn_cast<SoftmaxOp>(def);
      Value guarded = withoutGuard(def);
      isGuarded = bool(guarded);
      if (guarded)
        weights = guarded;
      else if (!softmax && (isFloatCast(def) || keepsMatrices(def)))
        weights = def->getOperand(0);
      else
        break;
    }
    if (!softmax || op.getTransposeA() || !resultType(op).hasStaticShape())
      return rewriter.notifyMatchFailure(op, "no softmax of its own");
    int64_t rank = tensorType(softmax.getX()).getRank();
    if (rank < 2 || (softmax.getAxis() != -1 && softmax.getAxis() != rank - 1))
      return rewriter.notifyMatchFailure(op, "a softmax along another axis");

    // Below the product everything is made anew; what stays unread goes away.
    NNBuilder b(op.getLoc(), rewriter);
    Scores scores(b);
    if (!scores.follow(softmax.getX()))
      return rewriter.notifyMatchFailure(op, "no product of queries and keys");
    Value q = scores.product.getA(), k = scores.product.getB();
    Value v = op.getB();
    if (llvm::any_of(ValueRange{q, k, v}, [](Value x) {
          return shapeOf(x).size() < 2 || !tensorType(x).hasStaticShape();
        }))
      return rewriter.notifyMatchFailure(op, "an operand is a vector");
    if (tensorType(q).getElementType() != tensorType(v).getElementType() ||
        !isFloat(v))
      return rewriter.notifyMatchFailure(op, "element types differ");
    if (scores.product.getTransposeA())
      q = swapLast(b, q);
    if (!scores.product.getTransposeB())
      k = swapLast(b, k);
    if (op.getTransposeB())
      v = swapLast(b, v);
    double scale = scores.scale;
    q = withoutScale(b, q, scale);
    k = withoutScale(b, k, scale);

    // Batch and heads, from wherever they are two dimensions.
    for (Value value : {q, Value(op.getA()), Value(op.getY())})
      if (shapeOf(value).size() == 4)
        batchAndHeads = leading(value);
    if (scores.batchAndHeads.size() == 2)
      batchAndHeads = scores.batchAndHeads;
    if (batchAndHeads.empty())
      batchAndHeads = {1, product(leading(q))};
    auto groups = groupsOf(q, k, v, batchAndHeads);
    if (!groups)
      return rewriter.notifyMatchFailure(op, "batch and heads do not fit");
    if (!scores.combineMasks(batchAndHeads))
      return rewriter.notifyMatchFailure(op, "a mask does not fit");

    auto four = [&](Value x, int64_t heads) {
      SmallVector<int64_t> shape = {batchAndHeads[0], heads};
      llvm::append_range(shape, shapeOf(x).take_back(2));
      return b.reshape(x, shape);
    };
    b.setLoc(fuseLocations({scores.product, softmax, op}));
    Value y = AttentionOp::create(
        b, four(q, batchAndHeads[1]), four(k, *groups), four(v, *groups),
        scores.mask, APFloat(float(scale)), scores.causal, /*tf32=*/false);
    rewriter.replaceOp(op, b.reshape(y, resultType(op).getShape()));
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

  /// How many heads of keys and values there are; nothing where they do not go
  /// with the queries'.
  static std::optional<int64_t> groupsOf(Value q, Value k, Value v,
                                         ArrayRef<int64_t> batchAndHeads) {
    int64_t matrices = product(batchAndHeads);
    if (product(leading(q)) != matrices || leading(k) != leading(v))
      return std::nullopt;
    if (leading(k) == leading(q))
      return batchAndHeads[1];
    // One head that all queries read.
    SmallVector<int64_t> one = {batchAndHeads[0], 1};
    return leading(k) == one ? std::optional<int64_t>(1) : std::nullopt;
  }
};
} // namespace

void frit::populateAttention(RewritePatternSet &patterns) {
  patterns.add<RecogniseAttention>(patterns.getContext());
}
