//===- QuantizedImages.cpp - Convolutions of images in bytes --------------===//
//
//   nn.quantized_conv of %q: n×3×224×224, %v: 64×3×7×7, stride 2, padding 3
// ==>
//   %a = nn.transpose %q as n×3×112×2×112×2           n×112×112×2×2×3
//   %b = nn.pad %a, %zero                             n×115×115×2×2×4
//   nn.quantized_conv of %b as n×115×115×16, %w       %w: 64×4×4×16, of %v
//
// The padding is in memory, so that products without padding may have any zero
// point on the left. Images that have no such squares pair the pixels of a row.
//
//===----------------------------------------------------------------------===//

#include "compiler/transform/recognize/QuantizedImages.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace frit;
using namespace frit::nn;

/// Squares of a row of taps.
static constexpr int64_t kMostTaps = 8;

static Value padBytes(NNBuilder &b, Value value, Value zero,
                      ArrayRef<int64_t> low, ArrayRef<int64_t> high) {
  return PadOp::create(b, value, zero, low, high, "constant");
}

/// Rearranges n×c×2h×2w to n×h×w×4·channels, which is padded by `zero`: to
/// `channels`, and by pixels of four at the top, left, bottom and right.
static Value foldBytes(NNBuilder &b, Value x, Value zero, int64_t channels,
                       ArrayRef<int64_t> pads) {
  ArrayRef<int64_t> shape = shapeOf(x);
  int64_t n = shape[0], c = shape[1], h = shape[2] / 2, w = shape[3] / 2;
  SmallVector<int64_t> apart = {n, c, h, 2, w, 2}, order = {0, 2, 4, 3, 5, 1};
  // A dimension of 1 would be a view between kernels that can be one.
  if (n == 1) {
    apart.erase(apart.begin());
    order = {1, 3, 2, 4, 0};
  }
  size_t row = n == 1 ? 0 : 1;
  Value y = TransposeOp::create(b, b.reshape(x, apart), order);
  SmallVector<int64_t> low(order.size(), 0), high(order.size(), 0);
  for (size_t i = 0; i < 2; ++i) {
    low[row + i] = pads[i];
    high[row + i] = pads[2 + i];
  }
  high.back() = channels - c;
  y = padBytes(b, y, zero, low, high);
  return b.reshape(
      y, {n, h + pads[0] + pads[2], w + pads[1] + pads[3], 4 * channels});
}

bool frit::foldSquares(NNBuilder &b, ConvBytes &bytes, ArrayRef<int64_t> result,
                       ConvWindows &windows, const QuantizedRewrite &wanted) {
  ArrayRef<int64_t> x = shapeOf(bytes.x), w = shapeOf(bytes.w);
  int64_t channels = wanted.pairedBytes / 4;
  if (channels == 0 || windows.group != 1 ||
      windows.strides != ArrayRef<int64_t>{2, 2} ||
      windows.dilations != ArrayRef<int64_t>{1, 1} || x[1] > channels ||
      x[1] < wanted.fewestChannels || x[2] % 2 || x[3] % 2 ||
      w[0] % wanted.pairedFilters || w[2] < 2 || w[3] < 2)
    return false;
  // Filters begin at a square, and end with one.
  SmallVector<int64_t> low(4, 0), high(4, 0), pads(4);
  for (int d = 0; d < 2; ++d) {
    low[d + 2] = windows.pads[d] % 2;
    int64_t taps = llvm::divideCeil(w[d + 2] + low[d + 2], 2);
    // A row of taps, which TMA reads at once, is a power of two of squares.
    if (d == 1)
      taps = llvm::PowerOf2Ceil(taps);
    if (taps > kMostTaps)
      return false;
    high[d + 2] = 2 * taps - w[d + 2] - low[d + 2];
    pads[d] = (windows.pads[d] + low[d + 2]) / 2;
    pads[d + 2] = result[d] - 1 + taps - x[d + 2] / 2 - pads[d];
  }
  if (llvm::any_of(pads, [](int64_t pad) { return pad < 0; }))
    return false;
  Value filters = padBytes(b, bytes.w, bytes.zeroW, low, high);
  bytes.x = foldBytes(b, bytes.x, bytes.zeroX, channels, pads);
  bytes.w = foldBytes(b, filters, bytes.zeroW, channels, {0, 0, 0, 0});
  windows.strides.assign(2, 1);
  windows.pads.assign(4, 0);
  return true;
}

void frit::pairPixels(NNBuilder &b, ConvBytes &bytes, int64_t columns,
                      ConvWindows &windows, const QuantizedRewrite &wanted) {
  auto &[x, w, zeroX, zeroW] = bytes;
  ArrayRef<int64_t> shapeX = shapeOf(x), shapeW = shapeOf(w);
  if (wanted.pairedBytes == 0 || shapeX.size() != 4 || windows.group != 1 ||
      windows.strides[1] != 2 || windows.dilations != ArrayRef<int64_t>{1, 1} ||
      shapeW[0] % wanted.pairedFilters)
    return;
  int64_t channels = wanted.pairedBytes / 2;
  if (shapeX[3] > channels || shapeX[3] < wanted.fewestChannels)
    return;
  // Taps of a row are a power of two of pairs.
  int64_t pairs = llvm::PowerOf2Ceil(llvm::divideCeil(shapeW[2], 2));
  if (pairs < 2 || pairs > 8)
    return;
  int64_t width = 2 * (columns - 1 + pairs);
  int64_t top = windows.pads[0], before = windows.pads[1];
  int64_t bottom = windows.pads[2];
  auto pad = [&](Value value, Value zero, ArrayRef<int64_t> low,
                 ArrayRef<int64_t> high) {
    return Value(PadOp::create(b, value, zero, low, high, "constant"));
  };
  int64_t n = shapeX[0], h = shapeX[1], k = shapeW[0], r = shapeW[1];
  int64_t added = channels - shapeX[3];
  x = pad(x, zeroX, {0, top, before, 0},
          {0, bottom, width - before - shapeX[2], added});
  w = pad(w, zeroW, {0, 0, 0, 0}, {0, 0, 2 * pairs - shapeW[2], added});
  x = b.reshape(x, {n, top + h + bottom, width / 2, 2 * channels});
  w = b.reshape(w, {k, r, pairs, 2 * channels});
  windows.strides[1] = 1;
  windows.pads.assign(4, 0);
}
