//===- RowTransposes.cpp - Transposes around products ---------------------===//
//
// Modules with the sequence before the batch transpose at both ends:
//
//   %t = nn.transpose %x {perm = [1, 0, 2]}              B×S×E -> S×B×E
//   %p = nn.add nn.matmul(%t, %w), %b
//   %o = nn.transpose nn.attention(views of %p)          -> S×B×H×D
//   %y = nn.transpose nn.matmul(%o as (S·B)×E, %v) as S×B×E
// ==>
//   %p = nn.transpose nn.add(nn.matmul(%x, %w), %b)      strides, to attention
//   %o = nn.transpose nn.attention(views of %p)          -> B×S×H×D
//   %y = nn.matmul %o as B×S×E, %v
//
// A product computes each row independently, so rows may be permuted before or
// after it.
//
//===----------------------------------------------------------------------===//

#include "compiler/transform/Graph.h"
#include "compiler/transform/simplify/RowMovement.h"

using namespace mlir;
using namespace frit;
using namespace frit::nn;

/// Returns the transpose that defines `value` if it keeps the last dimension,
/// else null.
static TransposeOp rowTranspose(Value value) {
  auto transpose = value.getDefiningOp<TransposeOp>();
  if (!transpose || !resultType(transpose).hasStaticShape())
    return {};
  ArrayRef<int64_t> perm = transpose.getPerm();
  bool keepsRows =
      perm.size() > 2 && perm.back() == static_cast<int64_t>(perm.size()) - 1;
  return keepsRows ? transpose : TransposeOp();
}

/// Returns the product of rows by a matrix that defines `value`, or null.
static MatmulOp rowProduct(Value value) {
  auto product = value.getDefiningOp<MatmulOp>();
  bool fits = product && !product.getTransposeA() &&
              shapeOf(product.getB()).size() == 2 &&
              shapeOf(product.getA()).size() >= 2 &&
              resultType(product).hasStaticShape();
  return fits ? product : MatmulOp();
}

/// Returns the operand of an addition that is a bias for each row of `rows`, or
/// null.
static Value rowBias(AddOp op, Value rows) {
  Value bias = op.getA() == rows ? op.getB() : op.getA();
  ArrayRef<int64_t> shape = shapeOf(op.getY());
  bool fits = rows.getType() == op.getY().getType() && !shape.empty() &&
              shapeOf(bias) == shape.take_back(1);
  return fits ? bias : Value();
}

/// Returns whether all uses of a value lead to operands of an attention.
static bool feedsAttention(Value value, unsigned depth = 12) {
  if (value.use_empty() || depth == 0)
    return false;
  return llvm::all_of(value.getUsers(), [&](Operation *user) {
    if (isa<AttentionOp>(user))
      return true;
    if (auto add = dyn_cast<AddOp>(user); add && !rowBias(add, value))
      return false;
    return isa<AddOp, ReshapeOp, TransposeOp, SliceOp>(user) &&
           feedsAttention(user->getResult(0), depth - 1);
  });
}

static Value withoutViews(Value value) {
  while (auto reshape = value.getDefiningOp<ReshapeOp>()) {
    if (!reshape->hasOneUse())
      break;
    value = reshape.getX();
  }
  return value;
}

Value RowProduct::apply(NNBuilder &b, Value rows) {
  b.setLoc(product.getLoc());
  Value y = MatmulOp::create(b, rows, product.getB(), product.getTransposeA(),
                             product.getTransposeB(), product.getTf32());
  return bias ? b.add(y, bias) : y;
}

std::optional<RowProduct> frit::findRowProduct(Value value) {
  value = withoutViews(value);
  RowProduct found;
  if (auto add = value.getDefiningOp<AddOp>(); add && add->hasOneUse())
    for (Value rows : add->getOperands())
      if (rowProduct(rows) && (found.bias = rowBias(add, rows))) {
        value = rows;
        break;
      }
  found.product = rowProduct(value);
  if (!found.product || !found.product->hasOneUse())
    return std::nullopt;
  return found;
}

namespace {
struct TransposeAfterProduct : OpRewritePattern<MatmulOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(MatmulOp op,
                                PatternRewriter &rewriter) const override {
    TransposeOp transpose = rowTranspose(op.getA());
    if (!transpose || !rowProduct(op.getY()) || !feedsAttention(op.getY()))
      return rewriter.notifyMatchFailure(op, "no transpose for an attention");
    Value y =
        MatmulOp::create(rewriter, op.getLoc(), transpose.getX(), op.getB(),
                         op.getTransposeA(), op.getTransposeB(), op.getTf32());
    rewriter.replaceOpWithNewOp<TransposeOp>(op, y, transpose.getPerm());
    return success();
  }
};

struct TransposeAfterBias : OpRewritePattern<AddOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(AddOp op,
                                PatternRewriter &rewriter) const override {
    for (Value rows : op->getOperands()) {
      TransposeOp transpose = rowTranspose(rows);
      Value bias = rowBias(op, rows);
      if (!transpose || !bias || !rowProduct(transpose.getX()) ||
          !feedsAttention(op.getY()))
        continue;
      Value y = AddOp::create(rewriter, op.getLoc(), transpose.getX(), bias);
      rewriter.replaceOpWithNewOp<TransposeOp>(op, y, transpose.getPerm());
      return success();
    }
    return failure();
  }
};

/// Applies only if the product's operand is transposed too, so that one
/// transpose remains.
struct TransposeBeforeProduct : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(TransposeOp op,
                                PatternRewriter &rewriter) const override {
    if (!rowTranspose(op.getY()))
      return failure();
    auto found = findRowProduct(op.getX());
    SmallVector<int64_t> rows(shapeOf(op.getX()));
    if (!found || rows.back() != shapeOf(found->product.getY()).back() ||
        !withoutViews(found->product.getA()).getDefiningOp<TransposeOp>())
      return rewriter.notifyMatchFailure(op, "no product of a transpose");
    Value a = found->product.getA();
    rows.back() = shapeOf(a).back();
    NNBuilder b(op.getLoc(), rewriter);
    a = TransposeOp::create(b, b.reshape(a, rows), op.getPerm());
    rewriter.replaceOp(op, found->apply(b, a));
    return success();
  }
};
} // namespace

void frit::populateRowTransposes(RewritePatternSet &patterns) {
  patterns
      .add<TransposeAfterProduct, TransposeAfterBias, TransposeBeforeProduct>(
          patterns.getContext());
}
