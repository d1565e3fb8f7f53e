//===- FoldNorms.cpp - Layer norms between products -----------------------===//
//
//   %h = nn.add nn.matmul(%a, %v), %r
//   %n = nn.layer_norm %h, %scale, %bias
//   %y = nn.add nn.matmul(%n, %w), %b
//   %z = nn.add nn.add(nn.matmul(%y, %u), %c), %n
// ==>
//   %h = nn.add nn.matmul(%a, %v), %r
//   %m = nn.moments %h
//   %y = nn.normalize_product nn.matmul(%h, %w · scale), %m, sums of columns,
//        %b + bias · %w
//   %z = nn.normalize %h, %m, %scale, nn.add(nn.matmul(%y, %u), %c + bias)
//
// where %m = nn.merge_moments(nn.moments ...) if there are many rows.
//
// A norm only scales and shifts rows and columns of a matmul's operand, so the
// matmul can read the operand before normalization and correct its result: for
// each row, (h - mean) · w / deviation = (h · w - mean · column sums of w) /
// deviation. The kernel that computes %h also computes its moments, and no
// kernel only normalizes. Weights are scaled in @prepare. The column sums use
// the scaled weights as stored (rounded), so that a mean far from zero cancels.
//
// A norm folds if the target's kernels support it (FoldNormsRewrite): its
// input must come from a matmul, and all of its readers must be matmuls by
// weights or residual additions of such. Weights with other readers (tied
// embeddings, shared layers) would be stored twice on the device, so their
// norms stay.
//
// The scale of a root mean square norm that products of few rows compute
// themselves gets the rows' type.
//
//===----------------------------------------------------------------------===//

#include "dialects/nn/rewrites/FoldNorms.h"
#include "compiler/transform/Graph.h"
#include "compiler/transform/Passes.h"
#include "compiler/transform/TargetRewritePass.h"
#include "dialects/nn/operators/Quantized.h"

namespace frit {
#define GEN_PASS_DEF_FOLDNORMS
#include "compiler/transform/Passes.h.inc"
} // namespace frit

using namespace mlir;
using namespace frit;
using namespace frit::nn;

//===----------------------------------------------------------------------===//
// Producers and readers of a norm
//===----------------------------------------------------------------------===//

static bool keepsRows(ReshapeOp reshape) {
  return !shapeOf(reshape.getX()).empty() && !shapeOf(reshape.getY()).empty() &&
         shapeOf(reshape.getX()).back() == shapeOf(reshape.getY()).back();
}

/// Returns the matmul of which `value` is an elementwise function, if no value
/// in between has other readers; else null.
static MatmulOp productBehind(Value value) {
  Operation *op = value.getDefiningOp();
  auto behind = [](Value operand) {
    return operand.hasOneUse() ? productBehind(operand) : MatmulOp();
  };
  if (auto matmul = dyn_cast_or_null<MatmulOp>(op))
    return matmul;
  if (auto reshape = dyn_cast_or_null<ReshapeOp>(op))
    return keepsRows(reshape) ? behind(reshape.getX()) : MatmulOp();
  if (auto norm = dyn_cast_or_null<NormalizeOp>(op))
    return behind(norm.getOffset());
  if (auto norm = dyn_cast_or_null<NormalizeProductOp>(op))
    return behind(norm.getX());
  if (isa_and_nonnull<ElementwiseOp>(op))
    for (Value operand : op->getOperands())
      if (shapeOf(operand) == shapeOf(value))
        if (MatmulOp found = behind(operand))
          return found;
  return {};
}

namespace {
/// A reader of a norm: a matmul, or an addition of one.
struct Reader {
  Operation *op; ///< nn.matmul or nn.add
  Value view;    ///< the operand: the norm or a reshape of it
};

/// A matmul by a weight and the vector added to it, if any.
struct Biased {
  MatmulOp product;
  Value vector;
};

class FoldNorms : public TargetRewritePass<frit::impl::FoldNormsBase<FoldNorms>,
                                           FoldNormsRewrite> {
public:
  using TargetRewritePass::TargetRewritePass;

private:
  void run(Block &block) override {
    SmallVector<LayerNormOp> norms;
    block.walk([&](LayerNormOp norm) { norms.push_back(norm); });
    for (LayerNormOp norm : norms)
      fold(norm);
    if (auto *scales = rewrites.find<FoldScalesRewrite>())
      block.walk([&](RmsNormOp norm) {
        Type type = tensorType(norm.getX()).getElementType();
        if (dependsOnConstants(norm.getScale()) && scales->takes(norm))
          norm.getScaleMutable().assign(
              NNBuilder(norm.getLoc(), norm).cast(norm.getScale(), type));
      });
  }

  bool takes(MatmulOp product) const {
    if (product && product.getB().getDefiningOp<DequantizeOp>())
      return false;
    return product && rewrite->momentWidth(product) > 0;
  }
  std::optional<Biased> biased(Value value) const;
  bool collect(Value value, SmallVectorImpl<Reader> &readers) const;
  void fold(LayerNormOp norm);
  void foldProduct(LayerNormOp norm, Value moments, Reader reader) const;
  void foldResidual(LayerNormOp norm, Value moments, Reader reader) const;

  int64_t width = 0; ///< elements per partial moment
};
} // namespace

/// Matches `value`, if it has one reader, as a matmul plus an optional vector.
std::optional<Biased> FoldNorms::biased(Value value) const {
  if (!value.hasOneUse())
    return std::nullopt;
  Biased found;
  found.product = value.getDefiningOp<MatmulOp>();
  if (auto add = value.getDefiningOp<AddOp>())
    for (unsigned i = 0; i < 2 && !found.product; ++i) {
      auto product = add->getOperand(i).getDefiningOp<MatmulOp>();
      Value vector = add->getOperand(1 - i);
      if (product && product->hasOneUse() && dependsOnConstants(vector) &&
          product.getY().getType() == value.getType() &&
          shapeOf(vector) == shapeOf(value).take_back()) {
        found.product = product;
        found.vector = vector;
      }
    }
  if (!takes(found.product))
    return std::nullopt;
  return found;
}

/// Collects the readers of `value`, the norm or a view of it; returns whether
/// all of them can be rewritten.
bool FoldNorms::collect(Value value, SmallVectorImpl<Reader> &readers) const {
  for (Operation *user : value.getUsers()) {
    if (auto reshape = dyn_cast<ReshapeOp>(user)) {
      if (!keepsRows(reshape) || !collect(reshape.getY(), readers))
        return false;
      continue;
    }
    if (auto matmul = dyn_cast<MatmulOp>(user)) {
      if (!takes(matmul) || matmul.getA() != value || matmul.getTransposeA() ||
          !dependsOnConstants(matmul.getB()) || !isReadOnce(matmul.getB()))
        return false;
    } else if (auto add = dyn_cast<AddOp>(user)) {
      Value other = add.getA() == value ? add.getB() : add.getA();
      if (other == value || other.getType() != value.getType() ||
          !biased(other))
        return false;
    } else {
      return false;
    }
    readers.push_back({user, value});
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Folding
//===----------------------------------------------------------------------===//

/// Reshapes `value` to the row dimensions of `like` and its own last `kept`
/// dimensions.
static Value viewAs(NNBuilder &b, Value value, Value like, size_t kept) {
  SmallVector<int64_t> shape(shapeOf(like).drop_back());
  llvm::append_range(shape, shapeOf(value).take_back(kept));
  return shapeOf(value) == ArrayRef(shape) ? value : b.reshape(value, shape);
}

static Value asF32(NNBuilder &b, Value value) {
  return b.cast(value, b.getF32Type());
}

void FoldNorms::foldProduct(LayerNormOp norm, Value moments,
                            Reader reader) const {
  auto matmul = cast<MatmulOp>(reader.op);
  // Replace a bias and a widening cast of the result too.
  SmallVector<Operation *> replaced = {matmul};
  Value bias;
  auto onlyUser = [&]() {
    Operation *op = replaced.back();
    return op->hasOneUse() ? *op->user_begin() : nullptr;
  };
  if (auto add = dyn_cast_or_null<AddOp>(onlyUser())) {
    Value y = matmul.getY(), other = add.getA() == y ? add.getB() : add.getA();
    if (dependsOnConstants(other) && add.getY().getType() == y.getType() &&
        shapeOf(other) == shapeOf(y).take_back()) {
      bias = other;
      replaced.push_back(add);
    }
  }
  if (auto cast = dyn_cast_or_null<CastOp>(onlyUser()))
    if (tensorType(cast.getY()).getElementType().isF32())
      replaced.push_back(cast);

  Operation *last = replaced.back();
  NNBuilder b(fuseLocations({norm, matmul, last}), last);
  Value w = matmul.getB();
  int64_t axis = matmul.getTransposeB() ? 1 : 0;
  SmallVector<int64_t> along = {1, 1};
  along[axis] = shapeOf(w)[axis];
  SmallVector<int64_t> columns = {shapeOf(w)[1 - axis]};
  auto sumOf = [&](Value v) {
    return b.reshape(b.reduce(v, Combiner::sum, axis), columns);
  };
  Value wide = asF32(b, w);
  Value scale = b.reshape(asF32(b, norm.getScale()), along);
  Value scaled = b.cast(b.mul(wide, scale), tensorType(w).getElementType());
  Value offset = bias ? asF32(b, bias) : Value();
  if (norm.getBias()) {
    Value shift = b.reshape(asF32(b, norm.getBias()), along);
    Value more = sumOf(b.mul(wide, shift));
    offset = offset ? b.add(offset, more) : more;
  }
  auto result = resultType(last);
  if (!offset)
    offset = createSplat(b, b.getLoc(),
                         RankedTensorType::get(columns, b.getF32Type()), 0);
  Value h = viewAs(b, norm.getX(), reader.view, 1);
  Value product = MatmulOp::create(b, h, scaled, /*transpose_a=*/false,
                                   matmul.getTransposeB(), matmul.getTf32());
  offset = b.cast(offset, result.getElementType());
  Value sums = sumOf(asF32(b, scaled));
  Value y =
      NormalizeProductOp::create(b, product, viewAs(b, moments, reader.view, 2),
                                 sums, offset, width, norm.getEpsilon());
  last->replaceAllUsesWith(ValueRange{y});
  for (Operation *op : llvm::reverse(replaced))
    op->erase();
}

void FoldNorms::foldResidual(LayerNormOp norm, Value moments,
                             Reader reader) const {
  auto add = cast<AddOp>(reader.op);
  Value other = add.getA() == reader.view ? add.getB() : add.getA();
  Biased sum = *biased(other);
  NNBuilder b(fuseLocations({norm, add}), add);
  Value vector = sum.vector;
  if (norm.getBias()) {
    vector = asF32(b, norm.getBias());
    if (sum.vector)
      vector = b.add(asF32(b, sum.vector), vector);
    vector = b.cast(vector, tensorType(other).getElementType());
  }
  Value product = sum.product.getY();
  Value added = vector ? b.add(product, vector) : product;
  Value scale = asF32(b, norm.getScale());
  Value numbers = viewAs(b, moments, reader.view, 2);
  Value y =
      NormalizeOp::create(b, viewAs(b, norm.getX(), reader.view, 1), numbers,
                          scale, added, width, norm.getEpsilon());
  add.getY().replaceAllUsesWith(y);
  add->erase();
  if (other != product)
    other.getDefiningOp()->erase();
}

void FoldNorms::fold(LayerNormOp norm) {
  auto type = tensorType(norm.getX());
  int64_t axis = norm.getAxis();
  bool half = type.getElementType().isF16() || type.getElementType().isBF16();
  if (!half || !type.hasStaticShape() ||
      (axis != -1 && axis != type.getRank() - 1) ||
      !dependsOnConstants(norm.getScale()) ||
      (norm.getBias() && !dependsOnConstants(norm.getBias())))
    return;
  MatmulOp product = productBehind(norm.getX());
  width = product ? rewrite->momentWidth(product) : 0;
  // Each lane merges the same number of a row's moments.
  constexpr int64_t lanes = 4;
  if (width == 0 || type.getShape().back() % (lanes * width) != 0)
    return;
  SmallVector<Reader> readers;
  if (!collect(norm.getY(), readers) || readers.empty())
    return;

  NNBuilder b(norm.getLoc(), norm);
  Value moments = MomentsOp::create(b, norm.getX(), width);
  int64_t size = type.getShape().back();
  if (rewrite->mergesMoments(type.getNumElements() / size)) {
    moments = MergeMomentsOp::create(b, moments, width);
    width = size;
  }
  for (Reader reader : readers) {
    if (isa<MatmulOp>(reader.op))
      foldProduct(norm, moments, reader);
    else
      foldResidual(norm, moments, reader);
  }
  // Erase the norm's views with it.
  SmallVector<Operation *> dead = {norm};
  for (size_t i = 0; i < dead.size(); ++i)
    llvm::append_range(dead, dead[i]->getUsers());
  for (Operation *op : llvm::reverse(dead))
    op->erase();
}

std::unique_ptr<Pass> frit::createFoldNorms(const Target &target) {
  return std::make_unique<FoldNorms>(target);
}
