//===- RotaryPatterns.cpp - Recognise rotary embeddings -------------------===//
//
//   %h = nn.concat nn.neg(slice of %x's second half), slice of its first half
//   %y = nn.add nn.mul(%x, %cos), nn.mul(%h, %sin)
// ==>
//   %p = %x as ...×2×half
//   %y = nn.add nn.mul(%p, %cos), nn.mul(%p with its halves swapped, %t)
//
// where %t is %sin with the signs of the halves, usually computed in @prepare
// (Su et al., "RoFormer", arXiv:2104.09864). The swap is a slice with a
// negative step, so everything is one elementwise kernel. If %x was transposed,
// the result is transposed instead, since attention reads any strides. Casts of
// %x and of the result, in a model of 16 bits that rotates in f32, are then
// inside of the transposes and part of that kernel.
//
//===----------------------------------------------------------------------===//

#include "compiler/transform/Graph.h"
#include "compiler/transform/recognize/AttentionPatterns.h"

using namespace mlir;
using namespace frit;
using namespace frit::nn;

/// Returns whether `value` is the half of `x` along the last dimension that
/// begins at `start`.
static bool isHalf(Value value, Value x, int64_t start) {
  auto slice = value.getDefiningOp<SliceOp>();
  if (!slice || slice.getX() != x ||
      !llvm::all_of(slice.getSteps(), [](int64_t step) { return step == 1; }))
    return false;
  SmallVector<int64_t> starts(shapeOf(x).size(), 0), sizes(shapeOf(x));
  starts.back() = start;
  sizes.back() /= 2;
  return slice.getStarts() == ArrayRef(starts) &&
         slice.getSizes() == ArrayRef(sizes);
}

/// Returns whether `value` is `x` with swapped halves, the first one negated.
/// Both may be casts that widen.
static bool isRotatedHalf(Value value, Value x) {
  auto cast = value.getDefiningOp<CastOp>();
  auto wide = x.getDefiningOp<CastOp>();
  if (cast && wide && cast->hasOneUse() && isFloat(wide.getX()) &&
      tensorType(wide.getX()).getElementTypeBitWidth() <
          tensorType(x).getElementTypeBitWidth())
    return isRotatedHalf(cast.getX(), wide.getX());
  auto concat = value.getDefiningOp<ConcatOp>();
  int64_t rank = shapeOf(x).size();
  if (!concat || !concat->hasOneUse() || concat.getXs().size() != 2 ||
      (concat.getAxis() != -1 && concat.getAxis() != rank - 1))
    return false;
  auto neg = concat.getXs()[0].getDefiningOp<NegOp>();
  return neg && neg->hasOneUse() &&
         isHalf(neg.getX(), x, shapeOf(x).back() / 2) &&
         isHalf(concat.getXs()[1], x, 0);
}

namespace {
/// A tensor without dimensions of size 1, and the transpose that was applied to
/// it.
struct Moved {
  Value from;
  SmallVector<int64_t> perm;
};
} // namespace

/// Converts as a cast of the model does.
static Value castTo(NNBuilder &b, Value value, Type element) {
  if (tensorType(value).getElementType() == element)
    return value;
  return CastOp::create(b, value, element);
}

/// Returns the tensor of which `x` is a transpose that keeps the last
/// dimension, in the type of `x`: models of 16 bits may rotate in f32, after
/// the transpose.
static Moved movedFrom(NNBuilder &b, Value x) {
  SmallVector<int64_t> shape = withoutOnes(shapeOf(x));
  Value from = x;
  if (auto cast = from.getDefiningOp<CastOp>(); cast && isFloat(cast.getX()))
    from = cast.getX();
  if (auto reshape = from.getDefiningOp<ReshapeOp>();
      reshape && withoutOnes(shapeOf(reshape.getX())) == shape)
    from = reshape.getX();
  if (auto transpose = from.getDefiningOp<TransposeOp>()) {
    ArrayRef<int64_t> before = shapeOf(transpose.getX());
    SmallVector<int64_t> place(before.size()), perm;
    for (size_t d = 1; d < before.size(); ++d)
      place[d] = place[d - 1] + (before[d - 1] != 1);
    for (int64_t d : transpose.getPerm())
      if (before[d] != 1)
        perm.push_back(place[d]);
    if (perm.back() == static_cast<int64_t>(perm.size()) - 1)
      return {castTo(b, b.reshape(transpose.getX(), withoutOnes(before)),
                     tensorType(x).getElementType()),
              perm};
  }
  return {b.reshape(x, shape),
          llvm::to_vector(llvm::seq<int64_t>(0, shape.size()))};
}

/// Transposes `value`, which broadcasts to `shape`, back to match the tensor
/// before the transpose.
static Value moveBack(NNBuilder &b, Value value, ArrayRef<int64_t> shape,
                      ArrayRef<int64_t> perm) {
  SmallVector<int64_t> sizes(shape.size() - shapeOf(value).size(), 1), kept;
  llvm::append_range(sizes, shapeOf(value));
  for (auto [size, whole] : llvm::zip(sizes, shape))
    if (whole != 1)
      kept.push_back(size);
  SmallVector<int64_t> back(perm.size());
  for (auto [to, from] : llvm::enumerate(perm))
    back[from] = to;
  value = b.reshape(value, kept);
  return llvm::is_sorted(perm) ? value : TransposeOp::create(b, value, back);
}

/// Splits the last dimension into halves.
static Value inHalves(NNBuilder &b, Value value) {
  SmallVector<int64_t> shape(shapeOf(value));
  int64_t size = shape.back();
  shape.back() = std::min<int64_t>(size, 2);
  shape.push_back(size / shape.back());
  return b.reshape(value, shape);
}

namespace {
struct RecogniseRotary : OpRewritePattern<AddOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(AddOp op,
                                PatternRewriter &rewriter) const override {
    for (unsigned i = 0; i < 2; ++i) {
      auto straight = op->getOperand(i).getDefiningOp<MulOp>();
      auto turned = op->getOperand(1 - i).getDefiningOp<MulOp>();
      if (!straight || !turned || !straight->hasOneUse() ||
          !turned->hasOneUse())
        continue;
      for (unsigned j = 0; j < 4; ++j) {
        Value x = straight->getOperand(j / 2);
        Value swapped = turned->getOperand(j % 2);
        auto type = tensorType(x);
        if (type != op.getY().getType() || !type.hasStaticShape() ||
            type.getRank() < 2 || type.getShape().back() < 2 ||
            type.getShape().back() % 2 != 0 || !isRotatedHalf(swapped, x))
          continue;
        rewrite(op, x, straight->getOperand(1 - j / 2),
                turned->getOperand(1 - j % 2), rewriter);
        return success();
      }
    }
    return failure();
  }

private:
  static void rewrite(AddOp op, Value x, Value cos, Value sin,
                      PatternRewriter &rewriter) {
    NNBuilder b(op.getLoc(), rewriter);
    ArrayRef<int64_t> shape = shapeOf(x);
    Moved moved = movedFrom(b, x);
    auto factor = [&](Value value) {
      return inHalves(b, moveBack(b, value, shape, moved.perm));
    };
    Value halves = inHalves(b, moved.from);
    SmallVector<int64_t> sizes(shapeOf(halves));
    SmallVector<int64_t> starts(sizes.size(), 0), steps(sizes.size(), 1);
    starts.end()[-2] = 1;
    steps.end()[-2] = -1;
    Value swapped = SliceOp::create(b, halves, starts, sizes, steps);
    Type element = tensorType(x).getElementType();
    auto signs = RankedTensorType::get({2, 1}, element);
    Value sign = ConstantOp::create(
        b,
        DenseElementsAttr::get(signs, {b.getFloatAttr(element, -1).getValue(),
                                       b.getFloatAttr(element, 1).getValue()}),
        StringAttr());
    Value sines = b.mul(factor(sin), sign), added = b.mul(swapped, sines);
    Value y = b.add(b.mul(halves, factor(cos)), added);
    // A cast of the result comes before the transpose, too.
    Operation *last = op;
    if (auto cast = dyn_cast<CastOp>(*op->user_begin());
        cast && op->hasOneUse()) {
      y = castTo(b, y, cast.getTo());
      last = cast;
    }
    y = b.reshape(y, shapeOf(moved.from));
    if (!llvm::is_sorted(moved.perm))
      y = TransposeOp::create(b, y, moved.perm);
    y = b.reshape(y, shape);
    rewriter.replaceOp(last, y);
    if (last != op)
      rewriter.eraseOp(op);
  }
};
} // namespace

void frit::populateRotary(RewritePatternSet &patterns) {
  patterns.add<RecogniseRotary>(patterns.getContext());
}
