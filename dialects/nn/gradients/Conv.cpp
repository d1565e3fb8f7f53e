//===- Conv.cpp - Gradients of convolutions -------------------------------===//
//
// Both are convolutions again: Dumoulin and Visin, "A guide to convolution
// arithmetic for deep learning", arXiv:1603.07285, chapter 4.
//
//===----------------------------------------------------------------------===//

#include "dialects/nn/gradients/Parts.h"
#include "dialects/nn/lowering/SlidingWindow.h"
#include "dialects/nn/training/Gradient.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace frit::nn;

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

/// Returns the shape of an image-like tensor.
static SmallVector<int64_t> imageShape(int64_t batch, int64_t channels,
                                       ArrayRef<int64_t> spatial, bool last) {
  SmallVector<int64_t> shape = {batch};
  if (!last)
    shape.push_back(channels);
  llvm::append_range(shape, spatial);
  if (last)
    shape.push_back(channels);
  return shape;
}

static int64_t channelsOf(Value x, bool last) {
  return last ? shapeOf(x).back() : shapeOf(x)[1];
}

/// Checks that a convolution of `input` by `window` has the spatial shape of
/// `dy`.
template <typename Adaptor>
static LogicalResult checkConv(Adaptor op, ArrayRef<int64_t> input,
                               ArrayRef<int64_t> window,
                               std::optional<Location> loc) {
  ArrayRef<int64_t> result = spatialShape(op.getDy(), op.getChannelsLast());
  SlidingWindow sliding{input,           result,       window,
                        op.getStrides(), op.getPads(), op.getDilations()};
  if (failed(sliding.check(loc, result.size())))
    return failure();
  bool fits = input.size() == result.size();
  for (size_t dim = 0; fits && dim < result.size(); ++dim) {
    if (ShapedType::isDynamic(input[dim]) || ShapedType::isDynamic(window[dim]))
      continue;
    if (input[dim] > maxEntry)
      return emitOptionalError(loc, "a dimension of ", input[dim],
                               " is too large");
    int64_t room = input[dim] + sliding.pads[dim] +
                   sliding.pads[result.size() + dim] - sliding.reach(dim) - 1;
    fits = room >= 0 && mayEqual(room / sliding.strides[dim] + 1, result[dim]);
  }
  if (!fits)
    return emitOptionalError(loc, "windows of ", shapeText(window), " over ",
                             shapeText(input), " do not give ",
                             shapeText(result));
  return success();
}

FailureOr<RankedTensorType>
ConvGradInputOp::infer(Adaptor op, std::optional<Location> loc) {
  Value dy = op.getDy(), w = op.getW();
  bool last = op.getChannelsLast();
  int64_t group = op.getGroup();
  if (shapeOf(dy).size() < 3 || shapeOf(w).size() != shapeOf(dy).size() ||
      !mayEqual(channelsOf(dy, last), shapeOf(w)[0]) || group < 1 ||
      shapeOf(w)[0] % group)
    return emitOptionalError(loc, "filters of ", shapeText(shapeOf(w)), " in ",
                             group, " groups do not fit dy of ",
                             shapeText(shapeOf(dy)));
  if (failed(checkElementTypes(loc, {dy, w})) ||
      failed(checkConv(op, op.getShape(), spatialShape(w, last), loc)))
    return failure();
  int64_t channels = channelsOf(w, last);
  if (!ShapedType::isDynamic(channels) &&
      llvm::MulOverflow(channels, group, channels))
    return emitOptionalError(loc, group, " groups are too many");
  return makeType(loc,
                  imageShape(shapeOf(dy)[0], channels, op.getShape(), last),
                  tensorType(dy).getElementType());
}

FailureOr<RankedTensorType>
ConvGradWeightOp::infer(Adaptor op, std::optional<Location> loc) {
  Value x = op.getX(), dy = op.getDy();
  bool last = op.getChannelsLast();
  int64_t group = op.getGroup();
  if (shapeOf(x).size() < 3 || shapeOf(dy).size() != shapeOf(x).size() ||
      !mayEqual(shapeOf(x)[0], shapeOf(dy)[0]) || group < 1 ||
      channelsOf(x, last) % group || channelsOf(dy, last) % group)
    return emitOptionalError(loc, "x of ", shapeText(shapeOf(x)), " and dy of ",
                             shapeText(shapeOf(dy)), " do not fit ", group,
                             " groups");
  if (failed(checkElementTypes(loc, {x, dy})) ||
      failed(checkConv(op, spatialShape(x, last), op.getShape(), loc)))
    return failure();
  return makeType(loc,
                  imageShape(channelsOf(dy, last), channelsOf(x, last) / group,
                             op.getShape(), last),
                  tensorType(x).getElementType());
}

//===----------------------------------------------------------------------===//
// Decompositions
//===----------------------------------------------------------------------===//

/// Returns whether a tensor has no elements: gradients are 0 then, and there is
/// nothing to slide over.
static bool isEmpty(Value x) { return tensorType(x).getNumElements() == 0; }

/// Reverses the windows of filters, and swaps their rows and channels within
/// each group.
static Value turnFilters(NNBuilder &b, Value w, int64_t group, bool last) {
  int64_t rank = tensorType(w).getRank(), channel = last ? rank - 1 : 1;
  SmallVector<int64_t> axes;
  for (int64_t dim = last ? 1 : 2; dim < rank - last; ++dim)
    axes.push_back(dim);
  w = reverse(b, w, axes);
  SmallVector<int64_t> grouped(shapeOf(w)), turned(shapeOf(w));
  turned[0] = turned[channel] * group;
  turned[channel] = grouped[0] / group;
  grouped[0] /= group;
  grouped.insert(grouped.begin(), group);
  auto perm = llvm::to_vector(llvm::seq<int64_t>(rank + 1));
  std::swap(perm[1], perm[channel + 1]);
  w = TransposeOp::create(b, b.reshape(w, grouped), perm);
  return b.reshape(w, turned);
}

static bool hasUnevenPads(ArrayRef<int64_t> pads) {
  size_t rank = pads.size() / 2;
  return pads.take_front(rank) != pads.drop_front(rank);
}

/// Builds a convolution of dy, with zeros between its elements if the forward
/// one has strides, by the turned filters. Every element of dy meets the
/// elements of x that its window covered.
SmallVector<Value> ConvGradInputOp::decompose(NNBuilder &b) {
  if (isEmpty(getDy()) || isEmpty(getW()) || isEmpty(getY()))
    return {b.zeros(getY().getType())};
  bool last = getChannelsLast();
  ArrayRef<int64_t> window = spatialShape(getW(), last);
  size_t rank = window.size(), first = last ? 1 : 2;
  if (hasUnevenPads(getPads())) {
    // Libraries pad both sides alike: pads become elements, which are cropped.
    SmallVector<int64_t> shape(getShape()), starts(rank + 2, 0);
    for (size_t d = 0; d < rank; ++d) {
      shape[d] += getPads()[d] + getPads()[rank + d];
      starts[first + d] = getPads()[d];
    }
    Value all =
        ConvGradInputOp::create(b, getDy(), getW(), shape, getStrides(),
                                SmallVector<int64_t>(2 * rank, 0),
                                getDilations(), getGroup(), last, getTf32());
    return {SliceOp::create(b, all, starts, shapeOf(getY()),
                            SmallVector<int64_t>(rank + 2, 1))};
  }
  SmallVector<int64_t> steps(rank + 2, 1), low(rank + 2, 0), high(rank + 2, 0);
  SmallVector<int64_t> pads(2 * rank, 0), ones(rank, 1);
  for (size_t d = 0; d < rank; ++d) {
    int64_t reach = (window[d] - 1) * getDilations()[d];
    int64_t outputs = shapeOf(getDy())[first + d];
    int64_t length = (outputs - 1) * getStrides()[d] + 1;
    int64_t before = reach - getPads()[d];
    int64_t after = getShape()[d] - length + getPads()[d];
    steps[first + d] = getStrides()[d];
    // Crop what windows read outside of x.
    bool crops = before < 0 || after < 0;
    (crops ? low[first + d] : pads[d]) = before;
    (crops ? high[first + d] : pads[rank + d]) = after;
  }
  Value dy = padZeros(b, spreadOut(b, getDy(), steps), low, high);
  int64_t group = getGroup();
  return {ConvOp::create(b, dy, turnFilters(b, getW(), group, last), Value(),
                         ones, pads, getDilations(), group, last, getTf32())};
}

/// Returns the last element of dimension `dim` that a window reads, pads
/// included.
static int64_t reachOf(ConvGradWeightOp op, size_t dim) {
  bool last = op.getChannelsLast();
  return (op.getShape()[dim] - 1) * op.getDilations()[dim] +
         (spatialShape(op.getDy(), last)[dim] - 1) * op.getStrides()[dim];
}

/// Returns `x` with channels, images and spatial dimensions in this order.
static Value channelsFirst(NNBuilder &b, Value x, bool last) {
  int64_t rank = tensorType(x).getRank();
  SmallVector<int64_t> perm = {last ? rank - 1 : 1, 0};
  for (int64_t dim = last ? 1 : 2; dim < rank - last; ++dim)
    perm.push_back(dim);
  return TransposeOp::create(b, x, perm);
}

/// Builds a product for each position in the window: of dy, one row per filter,
/// and the elements of x at that position of the windows, one row per channel.
static Value multiplyByPosition(NNBuilder &b, ConvGradWeightOp op) {
  bool last = op.getChannelsLast();
  int64_t rank = op.getShape().size(), group = op.getGroup();
  Value x = channelsFirst(b, op.getX(), last);
  Value dy = channelsFirst(b, op.getDy(), last);
  int64_t channels = shapeOf(x)[0] / group, filters = shapeOf(dy)[0];
  SmallVector<int64_t> low(rank + 2, 0), high = low;
  SmallVector<int64_t> sizes(shapeOf(dy)), steps(rank + 2, 1);
  sizes[0] = shapeOf(x)[0];
  int64_t count = 1, positions = 1;
  for (int64_t d = 0; d < rank; ++d) {
    low[d + 2] = op.getPads()[d];
    high[d + 2] = reachOf(op, d) + 1 - shapeOf(x)[d + 2] - low[d + 2];
    steps[d + 2] = op.getStrides()[d];
    positions *= op.getShape()[d];
  }
  for (int64_t size : ArrayRef(sizes).drop_front())
    count *= size;
  x = padZeros(b, x, low, high);
  dy = b.reshape(dy, {group, filters / group, count});

  SmallVector<Value> products;
  for (int64_t position = 0; position < positions; ++position) {
    SmallVector<int64_t> starts(rank + 2, 0);
    int64_t rest = position;
    for (int64_t d = rank; d-- > 0; rest /= op.getShape()[d])
      starts[d + 2] = rest % op.getShape()[d] * op.getDilations()[d];
    Value part = SliceOp::create(b, x, starts, sizes, steps);
    part = b.reshape(part, {group, channels, count});
    Value product;
    if (filters == group && channels == 1)
      product =
          b.cast(b.reduce(widened(b, dy) * widened(b, part), Combiner::sum, 2),
                 tensorType(dy).getElementType());
    else
      product = MatmulOp::create(b, dy, part, /*transpose_a=*/false,
                                 /*transpose_b=*/true, op.getTf32());
    products.push_back(b.reshape(product, {filters, channels, 1}));
  }
  Value dw = ConcatOp::create(b, products, 2);
  if (last)
    dw = TransposeOp::create(b, dw, ArrayRef<int64_t>{0, 2, 1});
  return b.reshape(dw, shapeOf(op.getY()));
}

/// Builds a convolution of x by dy, with the batch as channels: strides and
/// dilations change places, and each group's images become channels of one
/// image per channel.
static Value convolve(NNBuilder &b, ConvGradWeightOp op) {
  bool last = op.getChannelsLast();
  int64_t rank = op.getShape().size(), group = op.getGroup();
  // x[c, group · n, spatial] and dy[k, n, spatial].
  Value x = channelsFirst(b, op.getX(), last);
  Value dy = channelsFirst(b, op.getDy(), last);
  SmallVector<int64_t> grouped(shapeOf(x));
  grouped[0] /= group;
  grouped.insert(grouped.begin(), group);
  auto perm = llvm::to_vector(llvm::seq<int64_t>(rank + 3));
  std::swap(perm[0], perm[1]);
  SmallVector<int64_t> merged(shapeOf(x));
  merged[0] = grouped[1];
  merged[1] *= group;
  x = TransposeOp::create(b, b.reshape(x, grouped), perm);
  x = b.reshape(x, merged);

  SmallVector<int64_t> low(rank + 2, 0), high(rank + 2, 0), pads(2 * rank, 0);
  for (int64_t d = 0; d < rank; ++d) {
    int64_t before = op.getPads()[d];
    int64_t after = reachOf(op, d) + 1 - merged[d + 2] - before;
    (after < 0 ? low[d + 2] : pads[d]) = before;
    (after < 0 ? high[d + 2] : pads[rank + d]) = after;
  }
  Value dw = ConvOp::create(b, padZeros(b, x, low, high), dy, Value(),
                            op.getDilations(), pads, op.getStrides(), group,
                            /*channels_last=*/false, op.getTf32());
  // [c, k, window] to [k, c, window], or [k, window, c].
  SmallVector<int64_t> back = {1};
  for (int64_t dim = 2; dim < rank + 2; ++dim)
    back.push_back(dim);
  back.insert(last ? back.end() : back.begin() + 1, 0);
  return TransposeOp::create(b, dw, back);
}

/// Uses products with groups, where a convolution would have few filters, and
/// with a window of one element, which has nothing to slide over. Measured on 2
/// cores of an AMD EPYC: 10 ms instead of 240 for 64 channels with a filter
/// each, and 18 instead of 1,000 for a pointwise convolution; but 42 instead of
/// 28 with 64 filters of 3×3.
SmallVector<Value> ConvGradWeightOp::decompose(NNBuilder &b) {
  if (isEmpty(getX()) || isEmpty(getDy()) || isEmpty(getY()))
    return {b.zeros(getY().getType())};
  if (hasUnevenPads(getPads())) {
    // Libraries pad both sides alike: pads become elements.
    size_t rank = getShape().size(), first = getChannelsLast() ? 1 : 2;
    SmallVector<int64_t> low(rank + 2, 0), high(rank + 2, 0);
    for (size_t d = 0; d < rank; ++d) {
      low[first + d] = getPads()[d];
      high[first + d] = getPads()[rank + d];
    }
    return {ConvGradWeightOp::create(
        b, padZeros(b, getX(), low, high), getDy(), getShape(), getStrides(),
        SmallVector<int64_t>(2 * rank, 0), getDilations(), getGroup(),
        getChannelsLast(), getTf32())};
  }
  constexpr uint64_t mostProducts = 64;
  uint64_t positions = 1;
  for (int64_t size : getShape())
    positions = llvm::SaturatingMultiply<uint64_t>(positions, size);
  bool multiplies =
      positions <= 1 || (getGroup() > 1 && positions <= mostProducts);
  return {multiplies ? multiplyByPosition(b, *this) : convolve(b, *this)};
}

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

SmallVector<Value> ConvOp::buildVjp(NNBuilder &b, Value dy) {
  bool last = getChannelsLast();
  Value dx = ConvGradInputOp::create(b, dy, getW(), spatialShape(getX(), last),
                                     getStrides(), getPads(), getDilations(),
                                     getGroup(), last, getTf32());
  Value dw = ConvGradWeightOp::create(b, getX(), dy, spatialShape(getW(), last),
                                      getStrides(), getPads(), getDilations(),
                                      getGroup(), last, getTf32());
  SmallVector<Value> gradients = {dx, dw};
  if (getBias()) {
    int64_t rank = tensorType(dy).getRank(), channel = last ? rank - 1 : 1;
    SmallVector<int64_t> axes;
    for (int64_t dim = 0; dim < rank; ++dim)
      if (dim != channel)
        axes.push_back(dim);
    Value sums = b.reduce(widened(b, dy), Combiner::sum, axes);
    gradients.push_back(b.reshape(sums, shapeOf(getBias())));
  }
  return gradients;
}

/// Differentiates the same convolution with a group per channel.
SmallVector<Value> DepthwiseConvOp::buildVjp(NNBuilder &b, Value dy) {
  ArrayRef<int64_t> w = shapeOf(getW());
  int64_t channels = w.back(), rank = w.size() - 1;
  SmallVector<int64_t> toFirst = {rank}, toLast, filters = {channels};
  for (int64_t dim = 0; dim < rank; ++dim) {
    toFirst.push_back(dim);
    toLast.push_back(dim + 1);
    filters.push_back(w[dim]);
  }
  toLast.push_back(0);
  SmallVector<int64_t> turned = filters;
  filters.push_back(1);
  Value first = b.reshape(TransposeOp::create(b, getW(), toFirst), filters);
  Value dx = ConvGradInputOp::create(
      b, dy, first, spatialShape(getX(), true), getStrides(), getPads(),
      getDilations(), channels, /*channels_last=*/true, /*tf32=*/false);
  Value dw = ConvGradWeightOp::create(
      b, getX(), dy, w.drop_back(), getStrides(), getPads(), getDilations(),
      channels, /*channels_last=*/true, /*tf32=*/false);
  return {dx, TransposeOp::create(b, b.reshape(dw, turned), toLast)};
}
