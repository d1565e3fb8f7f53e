//===- ProjectionPatterns.cpp - One product for q, k and v ----------------===//
//
//   %q = nn.add nn.matmul(%x, %wq), %bq
//   %k = nn.add nn.matmul(%x, %wk), %bk
//   %v = nn.add nn.matmul(%x, %wv), %bv
//   nn.attention of views of %q, %k and %v
// ==>
//   %w = nn.concat %wq, %wk, %wv
//   %b = nn.concat %bq, %bk, %bv
//   %p = nn.add nn.matmul(%x, %w), %b
//   nn.attention of views of slices of %p
//
// Larger products run faster. The attention reads the slices in place, as do
// kernels in between, such as rotary embeddings and norms. The weights are
// joined in @prepare. Products of quantized tensors whose results are quantized
// stay apart: each has a scale.
//
// Many products of the same few rows become one as well, as all layers of a
// diffusion model have one of its time. It reads weights, and nothing else that
// takes time; each by itself spends half of it on its start and its end. If
// they read much, they become several, so that the first layers wait for
// little, and the rest is read beside them (RunBeside.cpp). Likewise all layers
// have keys and values of one text. Those of one layer have too few columns for
// all SMs.
//
//===----------------------------------------------------------------------===//

#include "compiler/transform/Graph.h"
#include "compiler/transform/recognize/AttentionPatterns.h"
#include "compiler/transform/recognize/QuantizedOperands.h"
#include "dialects/nn/operators/Quantized.h"

#include <map>

using namespace mlir;
using namespace frit;
using namespace frit::nn;

namespace {
/// A product by a weight, and the bias added to it, if any.
struct Projection {
  MatmulOp product;
  Value bias;
  Operation *last = nullptr; ///< the addition of the bias, or the product
};
} // namespace

/// Returns the number of columns of a product.
static int64_t widthOf(MatmulOp product) {
  return shapeOf(product.getY()).back();
}

/// Returns whether two products can be joined into one that has both results as
/// slices.
static bool join(MatmulOp a, MatmulOp b) {
  return a.getA() == b.getA() && a.getTransposeA() == b.getTransposeA() &&
         a.getTransposeB() == b.getTransposeB() && a.getTf32() == b.getTf32() &&
         a->getBlock() == b->getBlock();
}

static bool isWeight(Value value) {
  return tensorType(value).hasStaticShape() && dependsOnConstants(value);
}

/// Returns whether `value` is a view or function of rows of a constant table,
/// such as the cosines of positions that are known at run time.
static bool isFromTable(Value value, unsigned depth = 8) {
  Operation *def = value.getDefiningOp();
  if (!def || depth == 0)
    return false;
  if (auto gather = dyn_cast<GatherOp>(def))
    return dependsOnConstants(gather.getX());
  return isa<ReshapeOp, TransposeOp, ExpandOp, SliceOp, ConcatOp,
             ElementwiseOp>(def) &&
         llvm::all_of(def->getOperands(), [&](Value operand) {
           return dependsOnConstants(operand) ||
                  isFromTable(operand, depth - 1);
         });
}

/// Rows of products that only read weights, and how many products of the same
/// rows are worth joining. Fewer are of one layer, whose patterns know better.
static constexpr int64_t kFewRows = 16;
static constexpr size_t kManyProducts = 6;
/// Rows of which keys and values of one layer leave most of a device idle.
static constexpr int64_t kContextRows = 256;
/// Bytes of weights for which all layers would wait long.
static constexpr int64_t kManyBytes = int64_t(1) << 27;

/// Returns the product by a weight from which `value` is computed through rows
/// that are written to a cache, views, norms and elementwise operators with
/// constants, such as rotary embeddings; else null. Visits at most `left`
/// operators.
static MatmulOp productUnder(Value value, unsigned &left) {
  Operation *def = value.getDefiningOp();
  if (!def || left-- == 0)
    return {};
  if (auto product = dyn_cast<MatmulOp>(def))
    return product;
  if (auto update = dyn_cast<UpdateOp>(def))
    return productUnder(update.getValue(), left);
  if (!isa<ReshapeOp, TransposeOp, ExpandOp, SliceOp, ConcatOp, RmsNormOp,
           LayerNormOp, ElementwiseOp>(def))
    return {};
  MatmulOp found;
  for (Value operand : def->getOperands()) {
    if (dependsOnConstants(operand) || isFromTable(operand))
      continue;
    MatmulOp product = productUnder(operand, left);
    if (!product || (found && found != product))
      return {};
    found = product;
  }
  return found;
}

/// Returns whether a product of quantized tensors is quantized again, by a
/// scale of its own. It is a product of bytes as long as it stays one.
static bool isQuantizedAgain(const Projection &projection) {
  if (!multipliesQuantized(projection.product))
    return false;
  return llvm::any_of(projection.last->getUsers(), [](Operation *scaled) {
    return llvm::any_of(scaled->getUsers(), [](Operation *user) {
      auto round = dyn_cast<RoundOp>(user);
      return round && quantizes(round);
    });
  });
}

/// Returns the projection that a product computes.
static std::optional<Projection> projectionOf(MatmulOp product) {
  Projection found;
  found.product = product;
  if (!found.product || shapeOf(found.product.getB()).size() != 2 ||
      shapeOf(found.product.getA()).size() < 2 ||
      !isWeight(found.product.getB()) ||
      !resultType(found.product).hasStaticShape())
    return std::nullopt;
  found.last = found.product;
  if (!found.product->hasOneUse())
    return found;
  auto add = dyn_cast<AddOp>(*found.product->user_begin());
  if (!add || add.getY().getType() != found.product.getY().getType())
    return found;
  Value bias = add.getA() == found.product.getY() ? add.getB() : add.getA();
  if (isWeight(bias) &&
      shapeOf(bias) == shapeOf(found.product.getY()).take_back(1)) {
    found.bias = bias;
    found.last = add;
  }
  return found;
}

/// Returns the projection from which a value is computed.
static std::optional<Projection> projectionOf(Value value) {
  unsigned left = 32;
  return projectionOf(productUnder(value, left));
}

/// Moves the computation of a weight before `op`.
static void moveWeightBefore(Value weight, Operation *op,
                             RewriterBase &rewriter) {
  Operation *def = weight.getDefiningOp();
  if (def->isBeforeInBlock(op))
    return;
  for (Value operand : def->getOperands())
    moveWeightBefore(operand, op, rewriter);
  rewriter.moveOpBefore(def, op);
}

/// Replaces projections of one value by slices of one product, and returns
/// those.
static SmallVector<SliceOp> makeOne(ArrayRef<Projection> parts,
                                    RewriterBase &rewriter) {
  Operation *first = parts[0].product;
  for (Projection part : parts)
    if (part.product->isBeforeInBlock(first))
      first = part.product;
  SmallVector<Value> weights, biases;
  SmallVector<Operation *> ops;
  bool hasBias = false;
  for (Projection part : parts) {
    weights.push_back(part.product.getB());
    moveWeightBefore(weights.back(), first, rewriter);
    if (part.bias)
      moveWeightBefore(part.bias, first, rewriter);
    hasBias |= bool(part.bias);
    ops.push_back(part.last);
  }
  rewriter.setInsertionPoint(first);
  NNBuilder b(fuseLocations(ops), rewriter);
  for (Projection part : parts)
    biases.push_back(
        part.bias
            ? part.bias
            : createSplat(
                  b, b.getLoc(),
                  resultType(part.product).clone({widthOf(part.product)}), 0));
  MatmulOp model = parts[0].product;
  Value w = ConcatOp::create(b, weights, model.getTransposeB() ? 0 : 1);
  Value y = MatmulOp::create(b, model.getA(), w, model.getTransposeA(),
                             model.getTransposeB(), model.getTf32());
  if (hasBias)
    y = b.add(y, ConcatOp::create(b, biases, 0));
  SmallVector<int64_t> starts(shapeOf(y).size(), 0);
  SmallVector<int64_t> sizes(shapeOf(y)), steps(starts.size(), 1);
  // Create all slices before erasing the first product, their insertion
  // point.
  SmallVector<SliceOp> slices;
  for (Projection part : parts) {
    sizes.back() = widthOf(part.product);
    b.setLoc(part.last->getLoc());
    slices.push_back(SliceOp::create(b, y, starts, sizes, steps));
    starts.back() += sizes.back();
  }
  for (auto [part, slice] : llvm::zip(parts, slices))
    rewriter.replaceOp(part.last, slice);
  return slices;
}

/// Returns which dimensions of the shape `to` are ones added to `from`, or
/// nothing if more differs.
static std::optional<SmallVector<bool>> addedOnes(ArrayRef<int64_t> from,
                                                  ArrayRef<int64_t> to) {
  SmallVector<bool> added;
  for (int64_t size : to) {
    added.push_back(from.empty() || size != from.front());
    if (added.back() && size != 1)
      return std::nullopt;
    if (!added.back())
      from = from.drop_front();
  }
  return from.empty() ? std::optional(added) : std::nullopt;
}

/// Lets slices of a slice be slices of what that is of.
static void sliceAtOnce(SliceOp slice, RewriterBase &rewriter) {
  for (Operation *user : llvm::make_early_inc_range(slice->getUsers())) {
    auto part = dyn_cast<SliceOp>(user);
    if (!part)
      continue;
    SmallVector<int64_t> starts(slice.getStarts());
    for (auto [start, inner] : llvm::zip(starts, part.getStarts()))
      start += inner;
    rewriter.setInsertionPoint(part);
    rewriter.replaceOpWithNewOp<SliceOp>(part, slice.getX(), starts,
                                         part.getSizes(), part.getSteps());
  }
  if (slice->use_empty())
    rewriter.eraseOp(slice);
}

/// Moves the views of slices that add ones before the slices, whose readers can
/// then index the product's result:
///
///   reshape(slice(y: 2x24, [0, 8], 2x8), 2x1x8)
///     ==>  slice(reshape(y, 2x1x24), [0, 0, 8], 2x1x8)
static void viewProduct(ArrayRef<SliceOp> slices, RewriterBase &rewriter) {
  std::map<SmallVector<int64_t>, Value> views;
  for (SliceOp slice : slices) {
    auto view = slice->hasOneUse() ? dyn_cast<ReshapeOp>(*slice->user_begin())
                                   : ReshapeOp();
    if (!view)
      continue;
    auto added = addedOnes(shapeOf(slice.getY()), shapeOf(view.getY()));
    if (!added)
      continue;
    SmallVector<int64_t> shape, starts, steps(added->size(), 1);
    ArrayRef<int64_t> whole = shapeOf(slice.getX()), from = slice.getStarts();
    for (bool one : *added) {
      shape.push_back(one ? 1 : whole.front());
      starts.push_back(one ? 0 : from.front());
      whole = whole.drop_front(!one);
      from = from.drop_front(!one);
    }
    NNBuilder b(view.getLoc(), rewriter);
    b.setInsertionPointAfterValue(slice.getX());
    Value &y = views[shape];
    if (!y)
      y = b.reshape(slice.getX(), shape);
    b.setInsertionPoint(view);
    auto moved = SliceOp::create(b, y, starts, shapeOf(view.getY()), steps);
    rewriter.replaceOp(view, moved);
    rewriter.eraseOp(slice);
    sliceAtOnce(moved, rewriter);
  }
}

namespace {
struct JoinProjections : OpRewritePattern<AttentionOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(AttentionOp op,
                                PatternRewriter &rewriter) const override {
    SmallVector<Projection> found;
    for (Value value : {op.getQ(), op.getK(), op.getV()}) {
      auto projection = projectionOf(value);
      if (projection && !isQuantizedAgain(*projection) &&
          llvm::none_of(found, [&](Projection other) {
            return other.last == projection->last;
          }))
        found.push_back(*projection);
    }
    // Queries may come from another tensor, as in cross-attention.
    if (found.size() == 3 && !::join(found[0].product, found[1].product))
      found.erase(found.begin());
    if (found.size() < 2 ||
        !llvm::all_of(ArrayRef(found).drop_front(), [&](Projection p) {
          return ::join(found[0].product, p.product);
        }))
      return rewriter.notifyMatchFailure(op, "no products of one value");
    makeOne(found, rewriter);
    return success();
  }
};
} // namespace

void frit::populateProjections(RewritePatternSet &patterns) {
  patterns.add<JoinProjections>(patterns.getContext());
}

/// Returns the rows of a product.
static int64_t rowsOf(MatmulOp product) {
  return resultType(product).getNumElements() / widthOf(product);
}

/// Divides products of all layers into those that become one. If they read
/// much and do little else, each part has as many as all before it: 1, 1, 2, 4,
/// ...
static SmallVector<ArrayRef<Projection>> divide(ArrayRef<Projection> group) {
  int64_t bytes = 0;
  for (Projection part : group) {
    auto weight = tensorType(part.product.getB());
    bytes += weight.getNumElements() * weight.getElementTypeBitWidth() / 8;
  }
  SmallVector<ArrayRef<Projection>> parts;
  bool reads = rowsOf(group.front().product) <= kFewRows;
  size_t count = bytes < kManyBytes || !reads ? group.size() : 1;
  for (size_t first = 0; first < group.size(); first += parts.back().size()) {
    parts.push_back(group.drop_front(first).take_front(count));
    count = first + parts.back().size();
  }
  return parts;
}

/// Returns whether all that reads `value`, at most through views, is attention
/// that has it for keys or values.
static bool isOfContext(Value value, unsigned depth = 8) {
  return depth > 0 && !value.use_empty() &&
         llvm::all_of(value.getUses(), [&](OpOperand &use) {
           Operation *user = use.getOwner();
           if (auto attention = dyn_cast<AttentionOp>(user))
             return value == attention.getK() || value == attention.getV();
           return isa<ReshapeOp, TransposeOp, SliceOp>(user) &&
                  isOfContext(user->getResult(0), depth - 1);
         });
}

/// Returns whether products of all layers like this one are worth joining.
static bool isSibling(const Projection &found) {
  MatmulOp product = found.product;
  if (isQuantizedAgain(found) || product.getTransposeA() ||
      product.getB().getDefiningOp<DequantizeOp>())
    return false;
  int64_t rows = rowsOf(product);
  return rows <= kFewRows ||
         (rows <= kContextRows && isOfContext(found.last->getResult(0)));
}

void frit::joinSiblings(Block &block) {
  IRRewriter rewriter(block.getParentOp()->getContext());
  llvm::MapVector<Value, SmallVector<Projection>> groups;
  for (auto product : block.getOps<MatmulOp>()) {
    auto found = projectionOf(product);
    if (!found || !isSibling(*found))
      continue;
    SmallVector<Projection> &group = groups[product.getA()];
    if (group.empty() || ::join(group.front().product, product))
      group.push_back(*found);
  }
  for (auto &[a, group] : groups) {
    if (group.size() < kManyProducts)
      continue;
    for (ArrayRef<Projection> joined : divide(group)) {
      if (joined.size() == 1)
        continue;
      viewProduct(makeOne(joined, rewriter), rewriter);
      for (Projection part : joined)
        if (part.last != part.product)
          rewriter.eraseOp(part.product);
    }
  }
}
