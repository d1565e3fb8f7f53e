//===- SimplifyMovement.cpp - Slices, transposes and views in order -------===//
//
// Exporters write the projection to queries, keys and values and the split into
// heads as views, slices and transposes in many orders. A view between a slice
// and a transpose keeps the two in separate kernels. These patterns therefore
// move views that split dimensions to the front, views that merge dimensions to
// the end, and slices before transposes, which then move less:
//
//   %t = nn.transpose %x {perm = [2, 0, 1]} : 5x2x96 -> 96x5x2 ...
//   view, slice, view, transpose, view
// ==>
//   view, slice, transpose, view
//
//===----------------------------------------------------------------------===//

#include "compiler/transform/simplify/SimplifyMovement.h"
#include "compiler/transform/Graph.h"
#include "compiler/transform/simplify/SplitAndMerge.h"
#include "dialects/nn/Fold.h"

using namespace mlir;
using namespace frit;
using namespace frit::nn;

namespace {
/// transpose(merge(x)) ==> merge(transpose(x)). If the reshape also splits, the
/// split comes first.
struct MergeAfterTranspose : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(TransposeOp op,
                                PatternRewriter &rewriter) const override {
    auto reshape = op.getX().getDefiningOp<ReshapeOp>();
    if (!reshape || !op.getY().getType().hasStaticShape())
      return failure();
    // A view that removes the 1 left by a slice would separate it from the
    // transpose.
    bool keepOnes = isa_and_nonnull<SliceOp>(reshape.getX().getDefiningOp());
    auto parts = factorReshape(shapeOf(reshape.getX()), shapeOf(reshape.getY()),
                               keepOnes);
    if (!parts || ArrayRef(parts->fine) == shapeOf(op.getX()))
      return rewriter.notifyMatchFailure(op, "the view merges nothing");
    SmallVector<int64_t> perm;
    for (int64_t d : op.getPerm())
      llvm::append_range(perm, parts->to[d]);
    if (perm.size() != parts->fine.size())
      return rewriter.notifyMatchFailure(op, "not a split and a merge");
    NNBuilder b(op.getLoc(), rewriter);
    Value x = b.reshape(reshape.getX(), parts->fine);
    Value y = TransposeOp::create(b, x, perm);
    rewriter.replaceOp(op, b.reshape(y, shapeOf(op.getY())));
    return success();
  }
};

/// reshape(expand(number)) ==> expand(number): readers repeat it on the fly.
struct RepeatNumber : OpRewritePattern<ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ReshapeOp op,
                                PatternRewriter &rewriter) const override {
    auto expand = op.getX().getDefiningOp<ExpandOp>();
    if (!expand || tensorType(expand.getX()).getNumElements() != 1 ||
        !op.getY().getType().hasStaticShape())
      return failure();
    NNBuilder b(op.getLoc(), rewriter);
    rewriter.replaceOpWithNewOp<ExpandOp>(op, b.reshape(expand.getX(), {}),
                                          shapeOf(op.getY()));
    return success();
  }
};

/// split(transpose(x)) ==> transpose(split(x)), so that a following transpose
/// may cancel the first one. A view between a slice and a transpose keeps both
/// out of an index computation, so there a transpose must follow.
struct SplitBeforeTranspose : OpRewritePattern<ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;

  static bool precedesTranspose(ReshapeOp op) {
    return op->hasOneUse() && isa<TransposeOp>(*op->user_begin());
  }

  LogicalResult matchAndRewrite(ReshapeOp op,
                                PatternRewriter &rewriter) const override {
    auto transpose = op.getX().getDefiningOp<TransposeOp>();
    if (!transpose || !transpose->hasOneUse() ||
        !op.getY().getType().hasStaticShape() ||
        (isa_and_nonnull<SliceOp>(transpose.getX().getDefiningOp()) &&
         !precedesTranspose(op)))
      return failure();
    ArrayRef<int64_t> from = shapeOf(op.getX()), to = shapeOf(op.getY());
    auto parts = factorReshape(from, to, /*keepOnes=*/false);
    if (!parts || parts->fine != withoutOnes(to) ||
        parts->fine == withoutOnes(from))
      return rewriter.notifyMatchFailure(op, "the view does not only split");
    ArrayRef<int64_t> moved = transpose.getPerm();
    SmallVector<int64_t> shape, place(parts->fine.size());
    for (int64_t d = 0, rank = moved.size(); d < rank; ++d) {
      int64_t at = llvm::find(moved, d) - moved.begin();
      for (int64_t piece : parts->from[at]) {
        place[piece] = shape.size();
        shape.push_back(parts->fine[piece]);
      }
    }
    NNBuilder b(transpose.getLoc(), rewriter);
    Value y = TransposeOp::create(b, b.reshape(transpose.getX(), shape), place);
    rewriter.replaceOp(op, b.reshape(y, to));
    return success();
  }
};

/// Removes dimensions of size 1 from a transpose before views. The 1 left by a
/// slice stays, since removing it would need a view in between.
struct SqueezeTranspose : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(TransposeOp op,
                                PatternRewriter &rewriter) const override {
    ArrayRef<int64_t> shape = shapeOf(op.getX());
    auto isView = [](Operation *user) { return isa<ReshapeOp>(user); };
    if (isa_and_nonnull<SliceOp, ReshapeOp>(op.getX().getDefiningOp()) ||
        !llvm::is_contained(shape, 1) ||
        !llvm::all_of(op->getUsers(), isView) ||
        !op.getY().getType().hasStaticShape())
      return failure();
    SmallVector<int64_t> squeezed, place(shape.size()), perm;
    for (auto [d, size] : llvm::enumerate(shape)) {
      place[d] = squeezed.size();
      if (size != 1)
        squeezed.push_back(size);
    }
    for (int64_t d : op.getPerm())
      if (shape[d] != 1)
        perm.push_back(place[d]);
    NNBuilder b(op.getLoc(), rewriter);
    Value y = TransposeOp::create(b, b.reshape(op.getX(), squeezed), perm);
    rewriter.replaceOp(op, b.reshape(y, shapeOf(op.getY())));
    return success();
  }
};

/// split(slice(x)) ==> slice(split(x)), if slices start at a multiple of the
/// split size:
///
///   reshape(slice(x: 4x24, [0, 8], 4x8), 4x2x4)
///     ==>  slice(reshape(x, 4x6x4), [0, 2, 0], 4x2x4)
struct SliceAfterSplit : OpRewritePattern<ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ReshapeOp op,
                                PatternRewriter &rewriter) const override {
    auto slice = op.getX().getDefiningOp<SliceOp>();
    if (!slice || !slice->hasOneUse() ||
        !llvm::all_of(slice.getSteps(), [](int64_t s) { return s == 1; }))
      return failure();
    auto parts = factorReshape(shapeOf(slice.getY()), shapeOf(op.getY()),
                               /*keepOnes=*/true);
    if (!parts || ArrayRef(parts->fine) == shapeOf(slice.getY()))
      return rewriter.notifyMatchFailure(op, "the view splits nothing");
    size_t rank = parts->fine.size();
    SmallVector<int64_t> shape(parts->fine), starts(rank, 0), steps(rank, 1);
    for (auto [d, pieces] : llvm::enumerate(parts->from)) {
      int64_t whole = shapeOf(slice.getX())[d], start = slice.getStarts()[d];
      if (whole == slice.getSizes()[d])
        continue;
      if (pieces.empty())
        return rewriter.notifyMatchFailure(op, "a sliced dimension is gone");
      int64_t inner = 1;
      for (int64_t piece : ArrayRef(pieces).drop_front())
        inner *= parts->fine[piece];
      if (whole % inner || start % inner)
        return rewriter.notifyMatchFailure(op, "it starts within a split");
      shape[pieces[0]] = whole / inner;
      starts[pieces[0]] = start / inner;
    }
    NNBuilder b(op.getLoc(), rewriter);
    Value x = b.reshape(slice.getX(), shape);
    b.setLoc(slice.getLoc());
    Value y = SliceOp::create(b, x, starts, parts->fine, steps);
    rewriter.replaceOp(op, b.reshape(y, shapeOf(op.getY())));
    return success();
  }
};

/// slice(transpose(x)) ==> transpose(slice(x)) if only slices read the
/// transpose. Bounded, since each slice looks at all others.
struct SliceBeforeTranspose : OpRewritePattern<SliceOp> {
  using OpRewritePattern::OpRewritePattern;

  static constexpr unsigned kMostSlices = 256;

  LogicalResult matchAndRewrite(SliceOp op,
                                PatternRewriter &rewriter) const override {
    auto transpose = op.getX().getDefiningOp<TransposeOp>();
    if (!transpose || transpose.getY().hasNUsesOrMore(kMostSlices + 1) ||
        !llvm::all_of(transpose->getUsers(), llvm::IsaPred<SliceOp>))
      return failure();
    size_t rank = transpose.getPerm().size();
    SmallVector<int64_t> starts(rank), sizes(rank), steps(rank);
    for (auto [i, d] : llvm::enumerate(transpose.getPerm())) {
      starts[d] = op.getStarts()[i];
      sizes[d] = op.getSizes()[i];
      steps[d] = op.getSteps()[i];
    }
    Value slice = SliceOp::create(rewriter, op.getLoc(), transpose.getX(),
                                  starts, sizes, steps);
    rewriter.replaceOp(op, TransposeOp::create(rewriter, transpose.getLoc(),
                                               slice, transpose.getPerm()));
    return success();
  }
};

/// Replaces a gather with constant, evenly spaced indices by a slice.
struct GatherToSlice : OpRewritePattern<GatherOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(GatherOp op,
                                PatternRewriter &rewriter) const override {
    DenseElementsAttr indices = constantValue(op.getIndices());
    auto type = op.getX().getType();
    if (!indices || indices.empty() || !type.hasStaticShape())
      return failure();
    auto axis = normalizeAxis(std::nullopt, op.getAxis(), type.getRank());
    SmallVector<int64_t> starts(type.getRank(), 0), steps(type.getRank(), 1);
    SmallVector<int64_t> sizes(type.getShape());
    if (!axis || sizes[*axis] == 0)
      return failure();
    SmallVector<int64_t> places;
    int64_t size = sizes[*axis];
    // Clamp indices that are out of range.
    for (const APInt &index : indices.getValues<APInt>()) {
      int64_t place = index.getSExtValue();
      places.push_back(
          std::clamp<int64_t>(place < 0 ? place + size : place, 0, size - 1));
    }
    int64_t step = places.size() > 1 ? places[1] - places[0] : 1;
    for (size_t i = 1; i < places.size(); ++i)
      if (step < 1 || places[i] - places[i - 1] != step)
        return rewriter.notifyMatchFailure(op, "places at other distances");
    starts[*axis] = places.front();
    sizes[*axis] = static_cast<int64_t>(places.size());
    steps[*axis] = step;
    Value slice =
        SliceOp::create(rewriter, op.getLoc(), op.getX(), starts, sizes, steps);
    rewriter.replaceOpWithNewOp<ReshapeOp>(op, slice, shapeOf(op.getY()));
    return success();
  }
};

/// A part of a row-major tensor: elements [first, last) of each of `rows` equal
/// runs.
struct RunPart {
  Value of;
  int64_t rows = 1, first = 0, last = 0, length = 0;
};

/// Simplifies the gradient of a tensor that is read in parts, if the parts'
/// gradients are the parts of one tensor, to that tensor:
///
///   pad(slice(%g, 0:2), 0:2) + pad(slice(%g, 2:4), 2:4)   ==>   %g
///
/// Slices and pads may see the tensor in different shapes.
struct SumOfParts : OpRewritePattern<AddOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(AddOp op,
                                PatternRewriter &rewriter) const override {
    SmallVector<Value> work = {op.getA(), op.getB()};
    Value of;
    SmallVector<std::pair<int64_t, int64_t>> parts;
    RunPart first;
    for (int terms = 0; !work.empty(); ++terms) {
      Value value = work.pop_back_val();
      if (terms == kMostTerms || value.getType() != op.getY().getType())
        return failure();
      auto inner = value.getDefiningOp<AddOp>();
      if (inner && inner->hasOneUse()) {
        work.append({inner.getA(), inner.getB()});
        continue;
      }
      auto pad = value.getDefiningOp<PadOp>();
      auto to = pad ? padded(pad) : std::nullopt;
      if (!to)
        return failure();
      auto slice = throughReshapes(pad.getX()).getDefiningOp<SliceOp>();
      auto from = slice ? sliced(slice) : std::nullopt;
      if (!from || from->rows != to->rows || from->first != to->first ||
          from->last != to->last || from->length != to->length ||
          (of && (of != from->of || first.rows != from->rows)))
        return failure();
      of = from->of;
      first = *from;
      parts.push_back({from->first, from->last});
    }
    llvm::sort(parts);
    int64_t end = 0;
    for (auto [begin, last] : parts) {
      if (begin != end)
        return failure();
      end = last;
    }
    if (end != first.length)
      return failure();
    rewriter.replaceOpWithNewOp<ReshapeOp>(op, of, shapeOf(op.getY()));
    return success();
  }

private:
  /// Maximum terms; the sum of a projection's parts has fewer.
  static constexpr int kMostTerms = 64;

  static std::optional<RunPart> partOf(Value whole, ArrayRef<int64_t> starts,
                                       ArrayRef<int64_t> sizes) {
    RunPart part;
    part.of = whole;
    auto type = tensorType(whole);
    if (!type.hasStaticShape() || type.getNumElements() == 0)
      return std::nullopt;
    int64_t inner = type.getNumElements();
    for (auto [d, size] : llvm::enumerate(type.getShape())) {
      inner /= size;
      if (sizes[d] == size) {
        part.rows *= size;
        continue;
      }
      // Dimensions after that of the part must be whole.
      if (sizes.drop_front(d + 1) != type.getShape().drop_front(d + 1))
        return std::nullopt;
      part.first = starts[d] * inner;
      part.last = (starts[d] + sizes[d]) * inner;
      part.length = size * inner;
      return part;
    }
    return std::nullopt;
  }
  static std::optional<RunPart> sliced(SliceOp op) {
    if (llvm::any_of(op.getSteps(), [](int64_t step) { return step != 1; }))
      return std::nullopt;
    return partOf(op.getX(), op.getStarts(), op.getSizes());
  }
  static std::optional<RunPart> padded(PadOp op) {
    if (op.getMode() != "constant" || op.getValue() ||
        llvm::any_of(op.getLow(), [](int64_t size) { return size < 0; }) ||
        llvm::any_of(op.getHigh(), [](int64_t size) { return size < 0; }))
      return std::nullopt;
    return partOf(op.getY(), op.getLow(), shapeOf(op.getX()));
  }
};

/// move(cast(attention)) ==> cast(move(attention)), where `Move` is a transpose
/// or a reshape: the kernel of attention stores its result in any order, but
/// not in a wider type.
template <class Move> struct CastAfterMove : OpRewritePattern<Move> {
  using OpRewritePattern<Move>::OpRewritePattern;

  static bool isAttention(Value value) {
    Operation *op = value.getDefiningOp();
    while (isa_and_nonnull<TransposeOp, ReshapeOp>(op))
      op = op->getOperand(0).getDefiningOp();
    return isa_and_nonnull<AttentionOp>(op);
  }

  LogicalResult matchAndRewrite(Move op,
                                PatternRewriter &rewriter) const override {
    auto cast = op.getX().template getDefiningOp<CastOp>();
    if (!cast || !cast->hasOneUse() || !isAttention(cast.getX()))
      return failure();
    Operation *moved = rewriter.clone(*op);
    Operation *wide = rewriter.clone(*cast);
    auto shape = op.getY().getType().getShape();
    moved->setOperand(0, cast.getX());
    moved->getResult(0).setType(cast.getX().getType().clone(shape));
    wide->setOperand(0, moved->getResult(0));
    wide->getResult(0).setType(op.getY().getType());
    rewriter.replaceOp(op, wide);
    return success();
  }
};
} // namespace

bool frit::splits(ArrayRef<int64_t> from, ArrayRef<int64_t> to) {
  auto parts = factorReshape(from, to, /*keepOnes=*/true);
  return parts && ArrayRef(parts->fine) != from;
}

void frit::populateMovement(RewritePatternSet &patterns) {
  patterns.add<RepeatNumber, MergeAfterTranspose, SplitBeforeTranspose,
               SqueezeTranspose, SliceAfterSplit, SliceBeforeTranspose,
               GatherToSlice, SumOfParts, CastAfterMove<TransposeOp>,
               CastAfterMove<ReshapeOp>>(patterns.getContext());
}
