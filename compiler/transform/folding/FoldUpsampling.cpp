//===- FoldUpsampling.cpp - Convolutions of doubled images ----------------===//
//
//   %r = nn.gather %x, [0, 0, 1, 1, …] {axis = 1}      // 2h rows of n×h×w×c
//   %d = nn.gather %r, [0, 0, 1, 1, …] {axis = 2}      // 2w columns
//   %y = nn.conv %d, %w, %b {pads = 1, 1, 1, 1}        // 3 × 3, channels last
// ==>
//   %p = nn.conv %x, sums of %w, %b four times {pads = 1, 1, 1, 1}     // 2 × 2
//   %y = nn.slice of the transposed %p
//
// The three rows of the doubled image that a filter covers are two of the
// image, one of them twice: for row 2y of the result y - 1, y, y, and for row
// 2y - 1 y - 1, y - 1, y. So are the columns. The result thus consists of four
// planes, each of which convolves the image with filters of 2 × 2, whose
// numbers are sums of the filter's: 16 products instead of 36. One convolution
// computes the planes as four times the filters. Each of its (h + 1) × (w + 1)
// pixels has rows 2y - 1 and 2y and such columns, so that one row and column of
// the result are cut off on each side. @prepare computes the sums, each of
// which is rounded once.
//
//===----------------------------------------------------------------------===//

#include "dialects/nn/rewrites/FoldUpsampling.h"
#include "compiler/transform/Graph.h"
#include "compiler/transform/Passes.h"
#include "compiler/transform/TargetRewritePass.h"
#include "dialects/nn/contraction/Contraction.h"

namespace frit {
#define GEN_PASS_DEF_FOLDUPSAMPLING
#include "compiler/transform/Passes.h.inc"
} // namespace frit

using namespace mlir;
using namespace frit;
using namespace frit::nn;

namespace {
/// A convolution of an image whose rows and columns are each there twice.
struct Upsampled {
  ConvOp conv;
  Value image;
  SmallVector<Operation *> between;
};

class FoldUpsampling
    : public TargetRewritePass<frit::impl::FoldUpsamplingBase<FoldUpsampling>,
                               FoldUpsamplingRewrite> {
public:
  using TargetRewritePass::TargetRewritePass;

private:
  void run(Block &block) override {
    foldEach<ConvOp>(
        block, [this](ConvOp conv) { return match(conv); },
        [this](const auto &found) { fold(found); });
  }

  std::optional<Upsampled> match(ConvOp conv) const;
  void fold(const Upsampled &found) const;
};
} // namespace

/// Returns whether a gather takes each entry of its axis twice.
static bool isDoubling(GatherOp gather, int64_t axis) {
  DenseElementsAttr places = constantValue(gather.getIndices());
  if (axisOf(gather.getX(), gather.getAxis()) != axis || !places ||
      places.getType().getRank() != 1 ||
      places.getNumElements() != 2 * shapeOf(gather.getX())[axis])
    return false;
  for (auto [i, place] : llvm::enumerate(places.getValues<APInt>()))
    if (place.getSExtValue() != int64_t(i / 2))
      return false;
  return true;
}

std::optional<Upsampled> FoldUpsampling::match(ConvOp conv) const {
  auto info = describeConv(conv);
  if (!info || !info->channelsLast || info->groups != 1 || info->r != 3 ||
      info->s != 3 || info->strideH != 1 || info->strideW != 1 ||
      info->dilationH != 1 || info->dilationW != 1 || info->padTop != 1 ||
      info->padLeft != 1 || info->padBottom != 1 || info->padRight != 1 ||
      !isPlainWeight(conv.getW()) || !isReadOnce(conv.getW()))
    return std::nullopt;
  Upsampled found;
  found.conv = conv;
  found.image = conv.getX();
  bool isDoubled[2] = {false, false};
  for (int i = 0; i < 2; ++i) {
    auto gather = found.image.getDefiningOp<GatherOp>();
    if (!gather || !gather->hasOneUse())
      return std::nullopt;
    for (int axis = 0; axis < 2; ++axis)
      isDoubled[axis] |= isDoubling(gather, axis + 1);
    found.between.push_back(gather);
    found.image = gather.getX();
  }
  if (!isDoubled[0] || !isDoubled[1])
    return std::nullopt;
  return found;
}

/// Returns the filters of the four planes, k for each: products of the filters
/// of 3 × 3 with zeros and ones.
static Value sumFilters(NNBuilder &b, Value w, bool tf32) {
  auto type = tensorType(w);
  int64_t k = type.getDimSize(0), c = type.getDimSize(3);
  // Whether the filter's row `from` meets row `to` of the two; the planes of
  // odd rows come first.
  auto isTerm = [](int even, int to, int from) {
    return (from + even) / 2 == to;
  };
  SmallVector<float> terms;
  for (int plane = 0; plane < 4; ++plane)
    for (int to = 0; to < 4; ++to)
      for (int from = 0; from < 9; ++from)
        terms.push_back(isTerm(plane / 2, to / 2, from / 3) &&
                        isTerm(plane % 2, to % 2, from % 3));
  auto termsType = RankedTensorType::get({16, 9}, b.getF32Type());
  Value ones = ConstantOp::create(
      b, DenseElementsAttr::get(termsType, ArrayRef<float>(terms)),
      StringAttr());
  Value sums = MatmulOp::create(b, b.cast(ones, type.getElementType()),
                                b.reshape(w, {k, 9, c}), /*transposeA=*/false,
                                /*transposeB=*/false, tf32);
  Value planes = TransposeOp::create(b, b.reshape(sums, {k, 4, 4, c}),
                                     ArrayRef<int64_t>{1, 0, 2, 3});
  return b.reshape(planes, {4 * k, 2, 2, c});
}

/// Returns n×2h×2w×k of the planes, n×(h+1)×(w+1)×4k: each of their pixels is a
/// square of four of the result, which has one pixel less on each side.
static Value interleave(NNBuilder &b, Value planes, int64_t k) {
  ArrayRef<int64_t> shape = shapeOf(planes);
  int64_t n = shape[0], h = shape[1], w = shape[2];
  Value y = b.reshape(planes, {n, h, w, 2, 2, k});
  y = TransposeOp::create(b, y, ArrayRef<int64_t>{0, 1, 3, 2, 4, 5});
  y = b.reshape(y, {n, 2 * h, 2 * w, k});
  return SliceOp::create(b, y, ArrayRef<int64_t>{0, 1, 1, 0},
                         ArrayRef<int64_t>{n, 2 * h - 2, 2 * w - 2, k},
                         ArrayRef<int64_t>{1, 1, 1, 1});
}

void FoldUpsampling::fold(const Upsampled &found) const {
  ConvOp conv = found.conv;
  SmallVector<Operation *> replaced(llvm::reverse(found.between));
  replaced.push_back(conv);
  NNBuilder b(fuseLocations(replaced), conv);
  Value bias = conv.getBias();
  if (bias)
    bias = ConcatOp::create(b, ValueRange{bias, bias, bias, bias}, 0);
  Value filters = sumFilters(b, conv.getW(), conv.getTf32());
  auto planes =
      ConvOp::create(b, found.image, filters, bias, conv.getStrides(),
                     conv.getPads(), conv.getDilations(), conv.getGroup(),
                     conv.getChannelsLast(), conv.getTf32());
  if (rewrite->takes(conv, planes))
    conv->replaceAllUsesWith(
        ValueRange{interleave(b, planes.getY(), shapeOf(conv.getY()).back())});
}

std::unique_ptr<Pass> frit::createFoldUpsampling(const Target &target) {
  return std::make_unique<FoldUpsampling>(target);
}
