//===- ConvTo2D.cpp - 1-D and 3-D convolutions as 2-D ones ----------------===//
//
//   %y = nn.conv %x, %w {strides = [s]}             n×c×t, k×c×r
// ==>
//   %y = nn.conv %x as n×c×1×t, %w as k×c×1×r {strides = [1, s]}
//
//   %y = nn.conv %x, %w                             n×c×t×h×w, k×c×3×r×s
// ==>
//   %f = nn.transpose %x                            n×t×h×w×c
//   %a = nn.concat of slices of %f, a frame apart   n×t'×h×w×3c
//   %y = nn.conv %a as (n·t')×h×w×3c, %w as k×r×s×3c {channels_last}
//
// The frames under each temporal tap become channels, which are padded to
// multiples of 16 bytes, the unit in which convolution kernels read. Each frame
// is stored once per temporal tap, which is cheap compared with the
// convolution. Convolutions whose channels are last already keep them there.
//
//===----------------------------------------------------------------------===//

#include "compiler/transform/layout/ConvForms.h"
#include "compiler/transform/layout/LayoutPatterns.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace frit;
using namespace frit::nn;

/// The number of 16-bit channels is padded to a multiple of this.
static constexpr int64_t kChannelMultiple = 8;

/// Replaces `conv` by a convolution of `x` and `w` with the result shape `y`.
/// `edit` sets its attributes, and `view` converts the new result to the old
/// shape.
static void replaceConv(NNBuilder &b, ConvOp conv, Value x, Value w,
                        ArrayRef<int64_t> y,
                        llvm::function_ref<void(ConvOp)> edit,
                        llvm::function_ref<Value(Value)> view) {
  auto conv2D = cast<ConvOp>(b.clone(*conv));
  conv2D.getXMutable().assign(x);
  conv2D.getWMutable().assign(w);
  edit(conv2D);
  conv2D.getY().setType(conv.getY().getType().clone(y));
  conv->replaceAllUsesWith(ValueRange{view(conv2D.getY())});
  conv->erase();
}

static void convLineTo2D(ConvOp conv) {
  NNBuilder b(conv.getLoc(), conv.getOperation());
  size_t height = conv.getChannelsLast() ? 1 : 2;
  auto insertOne = [&](Value value) {
    SmallVector<int64_t> shape(shapeOf(value));
    shape.insert(shape.begin() + height, 1);
    return shape;
  };
  ArrayRef<int64_t> pads = conv.getPads();
  Value x = b.reshape(conv.getX(), insertOne(conv.getX()));
  Value w = b.reshape(conv.getW(), insertOne(conv.getW()));
  replaceConv(
      b, conv, x, w, insertOne(conv.getY()),
      [&](ConvOp conv2D) {
        conv2D.setStrides({1, conv.getStrides()[0]});
        conv2D.setDilations({1, conv.getDilations()[0]});
        conv2D.setPads({0, pads[0], 0, pads[1]});
      },
      [&](Value y) { return b.reshape(y, shapeOf(conv.getY())); });
}

/// Concatenates the frames under each temporal tap of `conv` along the channels
/// of n×frames×h×w×c. There are `frames` of them in the result, and `taps`.
static Value framesUnderTaps(NNBuilder &b, ConvOp conv, int64_t frames,
                             int64_t taps) {
  Value x = conv.getX();
  if (!conv.getChannelsLast())
    x = transposeToLast(b, x);
  ArrayRef<int64_t> pads = conv.getPads();
  if (pads[0] > 0 || pads[3] > 0)
    x = PadOp::create(b, x, /*value=*/Value(), {0, pads[0], 0, 0, 0},
                      {0, pads[3], 0, 0, 0});
  SmallVector<int64_t> starts(5, 0), sizes(shapeOf(x)), steps(5, 1);
  sizes[1] = frames;
  steps[1] = conv.getStrides()[0];
  SmallVector<Value> parts;
  for (int64_t tap = 0; tap < taps; ++tap) {
    starts[1] = tap * conv.getDilations()[0];
    parts.push_back(SliceOp::create(b, x, starts, sizes, steps));
  }
  return parts.size() == 1 ? parts[0] : ConcatOp::create(b, parts, 4);
}

static void convFilmTo2D(ConvOp conv) {
  NNBuilder b(conv.getLoc(), conv.getOperation());
  bool last = conv.getChannelsLast();
  SmallVector<int64_t> y(shapeOf(conv.getY()));
  if (!last)
    y = permuted(y, toLast(y.size()));
  Value x = framesUnderTaps(b, conv, y[1], shapeOf(conv.getW())[last ? 1 : 2]);
  Value w = TransposeOp::create(b, conv.getW(),
                                last ? ArrayRef<int64_t>{0, 2, 3, 1, 4}
                                     : ArrayRef<int64_t>{0, 3, 4, 2, 1});
  ArrayRef<int64_t> from = shapeOf(x), filter = shapeOf(w);
  int64_t channels = from[4];
  x = b.reshape(x, {from[0] * from[1], from[2], from[3], channels});
  w = b.reshape(w, {filter[0], filter[1], filter[2], channels});
  int64_t missing = llvm::alignTo(channels, kChannelMultiple) - channels;
  if (missing > 0 && tensorType(x).getElementTypeBitWidth() == 16) {
    x = PadOp::create(b, x, Value(), {0, 0, 0, 0}, {0, 0, 0, missing});
    w = PadOp::create(b, w, Value(), {0, 0, 0, 0}, {0, 0, 0, missing});
  }
  ArrayRef<int64_t> pads = conv.getPads();
  replaceConv(
      b, conv, x, w, {y[0] * y[1], y[2], y[3], y[4]},
      [&](ConvOp conv2D) {
        conv2D.setStrides(conv.getStrides().drop_front());
        conv2D.setDilations(conv.getDilations().drop_front());
        conv2D.setPads({pads[1], pads[2], pads[4], pads[5]});
        conv2D.setChannelsLast(true);
      },
      [&](Value result) {
        result = b.reshape(result, y);
        return last ? result : transposeToFirst(b, result);
      });
}

void frit::makeConv2D(ConvOp conv) {
  if (shapeOf(conv.getX()).size() == 3)
    convLineTo2D(conv);
  else
    convFilmTo2D(conv);
}
