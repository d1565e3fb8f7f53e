//===- SpaceToDepth.cpp - Fold strides into channels ----------------------===//
//
//   %y = nn.conv %x, %w {strides = [2, 2], pads = [3, 3, 3, 3]}
//                                               n×3×224×224, 64×3×7×7
// ==>
//   %a = nn.transpose %x as n×3×112×2×112×2     n×112×112×2×2×3
//   %b = nn.pad %a                              n×112×115×2×2×4
//   %c = nn.conv %b as n×112×115×16, %v {channels_last, pads = [2, 0, 1, 0]}
//                                               64×4×4×16, made of %w
//   %y = nn.transpose %c                        n×64×112×112
//
// Squares of stride × stride pixels become channels. A kernel then reads whole
// 16-byte units even though images have three channels, and the stride
// disappears. If the padding is not a multiple of the stride, the filters get
// leading zeros.
//
//===----------------------------------------------------------------------===//

#include "compiler/transform/layout/ConvForms.h"
#include "compiler/transform/layout/LayoutPatterns.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace frit;
using namespace frit::nn;

/// The number of folded channels is padded to a multiple of this, so that
/// kernels for few channels read several taps at a time.
static constexpr int64_t kFoldedMultiple = 16;
/// If a row of folded taps has this many channels, kernels read the row as one
/// unit. It must stay inside the image then, so the left and right padding is
/// stored in memory.
static constexpr int64_t kPiece = 64;

/// Rearranges n×c×(h×a)×(w×b) to n×h×w×(a×b×c), with c zero-padded to
/// `channels`, and w padded by `sides` on the left and right.
static Value squaresToChannels(NNBuilder &b, Value x, ArrayRef<int64_t> square,
                               int64_t channels,
                               std::array<int64_t, 2> sides = {0, 0}) {
  ArrayRef<int64_t> shape = shapeOf(x);
  int64_t n = shape[0], c = shape[1];
  int64_t h = shape[2] / square[0], w = shape[3] / square[1];
  SmallVector<int64_t> apart = {n, c, h, square[0], w, square[1]};
  SmallVector<int64_t> perm = {0, 2, 4, 3, 5, 1};
  if (n == 1) {
    // Otherwise a view would drop the 1 and separate kernels that could be
    // fused.
    apart.erase(apart.begin());
    perm = {1, 3, 2, 4, 0};
  }
  Value moved = TransposeOp::create(b, b.reshape(x, apart), perm);
  if (channels > c || sides[0] > 0 || sides[1] > 0) {
    SmallVector<int64_t> low(perm.size(), 0), high(perm.size(), 0);
    high.back() = channels - c;
    size_t width = n == 1 ? 1 : 2;
    low[width] = sides[0];
    high[width] = sides[1];
    moved = PadOp::create(b, moved, /*value=*/Value(), low, high);
  }
  return b.reshape(
      moved, {n, h, w + sides[0] + sides[1], square[0] * square[1] * channels});
}

bool frit::canApplySpaceToDepth(ConvOp conv) {
  ArrayRef<int64_t> x = shapeOf(conv.getX()), w = shapeOf(conv.getW());
  if (x.size() != 4 || !tensorType(conv.getX()).hasStaticShape() ||
      !tensorType(conv.getW()).hasStaticShape() || conv.getChannelsLast() ||
      conv.getGroup() != 1)
    return false;
  bool isStrided = false;
  for (int d = 0; d < 2; ++d) {
    int64_t stride = conv.getStrides()[d];
    isStrided |= stride > 1;
    if (x[d + 2] % stride != 0 || w[d + 2] < stride ||
        conv.getDilations()[d] != 1)
      return false;
  }
  return isStrided;
}

void frit::applySpaceToDepth(ConvOp conv) {
  NNBuilder b(conv.getLoc(), conv.getOperation());
  ArrayRef<int64_t> square = conv.getStrides(), x = shapeOf(conv.getX());
  ArrayRef<int64_t> w = shapeOf(conv.getW()), y = shapeOf(conv.getY());
  int64_t area = square[0] * square[1];
  int64_t channels = llvm::alignTo(x[1] * area, kFoldedMultiple);
  while (channels % area != 0)
    channels += kFoldedMultiple;
  channels /= area;

  SmallVector<int64_t> low(4, 0), high(4, 0), pads(4);
  for (int d = 0; d < 2; ++d) {
    int64_t stride = square[d], pad = conv.getPads()[d];
    low[d + 2] = llvm::alignTo(pad, stride) - pad;
    int64_t taps = llvm::divideCeil(w[d + 2] + low[d + 2], stride);
    high[d + 2] = taps * stride - w[d + 2] - low[d + 2];
    pads[d] = (pad + low[d + 2]) / stride;
    pads[d + 2] = y[d + 2] - 1 + taps - x[d + 2] / stride - pads[d];
  }
  std::array<int64_t, 2> sides = {0, 0};
  int64_t row = (w[3] + low[3] + high[3]) / square[1];
  if (row * area * channels == kPiece && pads[1] >= 0 && pads[3] >= 0) {
    sides = {pads[1], pads[3]};
    pads[1] = pads[3] = 0;
  }
  Value filters = conv.getW();
  if (llvm::any_of(low, [](int64_t n) { return n != 0; }) ||
      llvm::any_of(high, [](int64_t n) { return n != 0; }))
    filters = PadOp::create(b, filters, /*value=*/Value(), low, high);

  auto folded = cast<ConvOp>(b.clone(*conv));
  folded.getXMutable().assign(
      squaresToChannels(b, conv.getX(), square, channels, sides));
  folded.getWMutable().assign(squaresToChannels(b, filters, square, channels));
  folded->moveAfter(folded.getW().getDefiningOp());
  folded.setChannelsLast(true);
  folded.setStrides({1, 1});
  folded.setPads(pads);
  auto type = conv.getY().getType();
  folded.getY().setType(
      type.clone(permuted(type.getShape(), toLast(type.getRank()))));
  b.setInsertionPointAfter(folded);
  conv->replaceAllUsesWith(ValueRange{transposeToFirst(b, folded.getY())});
  conv->erase();
}
