//===- Normalization.cpp - Softmax and the norms --------------------------===//
//
// All are computed in f32 (f64 for f64): inputs are cast once, and the result
// once. The casts cost nothing inside a fusion.
//
//===----------------------------------------------------------------------===//

#include "dialects/nn/NN.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace frit::nn;

#define GET_OP_CLASSES
#include "dialects/nn/Normalization.cpp.inc"

/// Returns the type of `x`; fails if it has no dimension `axis`.
static FailureOr<RankedTensorType> inferAlong(std::optional<Location> loc,
                                              Value x, int64_t axis) {
  if (!normalizeAxis(loc, axis, tensorType(x).getRank()))
    return failure();
  return tensorType(x);
}

//===----------------------------------------------------------------------===//
// Softmax
//===----------------------------------------------------------------------===//

FailureOr<RankedTensorType> SoftmaxOp::infer(Adaptor op,
                                             std::optional<Location> loc) {
  return inferAlong(loc, op.getX(), op.getAxis());
}

FailureOr<RankedTensorType> LogSoftmaxOp::infer(Adaptor op,
                                                std::optional<Location> loc) {
  return inferAlong(loc, op.getX(), op.getAxis());
}

/// Builds x minus its maximum along `axis`.
static Value subtractMax(NNBuilder &b, Value x, int64_t axis) {
  return b.sub(x, b.reduce(x, Combiner::max, axis));
}

SmallVector<Value> SoftmaxOp::decompose(NNBuilder &b) {
  Type element = tensorType(getX()).getElementType();
  int64_t axis = axisOf(getX(), getAxis());
  Value x = b.cast(getX(), workType(element));
  Value e = ExpOp::create(b, subtractMax(b, x, axis));
  Value sum = b.reduce(e, Combiner::sum, axis);
  return {b.cast(b.div(e, sum), element)};
}

SmallVector<Value> LogSoftmaxOp::decompose(NNBuilder &b) {
  Type element = tensorType(getX()).getElementType();
  int64_t axis = axisOf(getX(), getAxis());
  Value x = b.cast(getX(), workType(element));
  Value z = subtractMax(b, x, axis);
  Value sum = b.reduce(ExpOp::create(b, z), Combiner::sum, axis);
  return {b.cast(b.sub(z, LogOp::create(b, sum)), element)};
}

//===----------------------------------------------------------------------===//
// Norms of the last dimensions
//===----------------------------------------------------------------------===//

/// Returns the type of `x`. Fails unless all `parameters` (name, value or null)
/// have the shape of its dimensions from `axis` on.
static FailureOr<RankedTensorType>
inferNorm(std::optional<Location> loc, Value x, int64_t axis,
          ArrayRef<std::pair<StringRef, Value>> parameters) {
  auto type = tensorType(x);
  auto first = normalizeAxis(loc, axis, type.getRank());
  if (!first)
    return failure();
  ArrayRef<int64_t> normalized = type.getShape().drop_front(*first);
  for (auto [name, v] : parameters)
    if (v && (shapeOf(v).size() != normalized.size() ||
              !llvm::all_of(llvm::zip(shapeOf(v), normalized), [](auto sizes) {
                return mayEqual(std::get<0>(sizes), std::get<1>(sizes));
              })))
      return emitOptionalError(loc, name, " has shape ", shapeText(shapeOf(v)),
                               ", but the normalised dimensions are ",
                               shapeText(normalized));
  return type;
}

/// Builds the mean along `axes`, which become size 1.
static Value meanOf(NNBuilder &b, Value x, ArrayRef<int64_t> axes) {
  int64_t count = 1;
  for (int64_t axis : axes)
    count *= shapeOf(x)[axis];
  return b.div(b.reduce(x, Combiner::sum, axes), b.scalarLike(x, count));
}

/// Divides `x` by the root of the mean of its squares plus `epsilon`.
static Value overRoot(NNBuilder &b, Value x, ArrayRef<int64_t> axes,
                      APFloat epsilon) {
  Value square = meanOf(b, b.mul(x, x), axes);
  Value more = b.scalarLike(x, epsilon.convertToDouble());
  return b.mul(x, RsqrtOp::create(b, b.add(square, more)));
}

/// Returns the dimensions of `x` from `axis` on.
static SmallVector<int64_t> axesFrom(Value x, int64_t axis) {
  return llvm::to_vector(
      llvm::seq<int64_t>(axisOf(x, axis), tensorType(x).getRank()));
}

FailureOr<RankedTensorType> LayerNormOp::infer(Adaptor op,
                                               std::optional<Location> loc) {
  return inferNorm(loc, op.getX(), op.getAxis(),
                   {{"scale", op.getScale()}, {"bias", op.getBias()}});
}

SmallVector<Value> LayerNormOp::decompose(NNBuilder &b) {
  Type element = tensorType(getX()).getElementType(), work = workType(element);
  SmallVector<int64_t> axes = axesFrom(getX(), getAxis());
  Value x = b.cast(getX(), work);
  // Subtract the mean first: E[x²] - E[x]² loses all precision for data far
  // from zero.
  Value centred = b.sub(x, meanOf(b, x, axes));
  Value y =
      b.mul(overRoot(b, centred, axes, getEpsilon()), b.cast(getScale(), work));
  if (getBias())
    y = b.add(y, b.cast(getBias(), work));
  return {b.cast(y, element)};
}

FailureOr<RankedTensorType> RmsNormOp::infer(Adaptor op,
                                             std::optional<Location> loc) {
  return inferNorm(loc, op.getX(), op.getAxis(), {{"scale", op.getScale()}});
}

SmallVector<Value> RmsNormOp::decompose(NNBuilder &b) {
  Type element = tensorType(getX()).getElementType(), work = workType(element);
  SmallVector<int64_t> axes = axesFrom(getX(), getAxis());
  Value y = overRoot(b, b.cast(getX(), work), axes, getEpsilon());
  return {b.cast(b.mul(y, b.cast(getScale(), work)), element)};
}

//===----------------------------------------------------------------------===//
// Norms by moments
//===----------------------------------------------------------------------===//

FailureOr<RankedTensorType> MomentsOp::infer(Adaptor op,
                                             std::optional<Location> loc) {
  auto type = tensorType(op.getX());
  int64_t width = op.getWidth();
  if (type.getRank() == 0 || width <= 0 ||
      (!type.isDynamicDim(type.getRank() - 1) &&
       type.getShape().back() % width != 0))
    return emitOptionalError(loc, "rows of ", shapeText(type.getShape()),
                             " have no parts of ", width);
  SmallVector<int64_t> shape(type.getShape());
  if (!type.isDynamicDim(type.getRank() - 1))
    shape.back() /= width;
  shape.push_back(2);
  return RankedTensorType::get(shape, workType(type.getElementType()));
}

SmallVector<Value> MomentsOp::decompose(NNBuilder &b) {
  SmallVector<int64_t> parts(shapeOf(getX()));
  int64_t axis = parts.size(), width = getWidth();
  parts.back() /= width;
  parts.push_back(width);
  Value x =
      b.reshape(b.cast(getX(), tensorType(getY()).getElementType()), parts);
  Value mean = b.div(b.reduce(x, Combiner::sum, axis), b.scalarLike(x, width));
  Value centred = b.sub(x, mean);
  Value squares = b.reduce(b.mul(centred, centred), Combiner::sum, axis);
  return {ConcatOp::create(b, ValueRange{mean, squares}, axis)};
}

/// Checks that moments match parts of `width` elements.
static LogicalResult checkParts(std::optional<Location> loc,
                                ArrayRef<int64_t> moments, int64_t width) {
  int64_t parts = moments.end()[-2], count;
  if (width > 0 &&
      (ShapedType::isDynamic(parts) || !llvm::MulOverflow(parts, width, count)))
    return success();
  return emitOptionalError(loc, "moments of shape ", shapeText(moments),
                           " are not of parts of ", width);
}

template <typename Adaptor>
static FailureOr<RankedTensorType> inferByMoments(Adaptor op,
                                                  std::optional<Location> loc) {
  auto type = tensorType(op.getX());
  ArrayRef<int64_t> moments = shapeOf(op.getMoments());
  if (type.getRank() == 0 || moments.size() != type.getShape().size() + 1 ||
      moments.drop_back(2) != type.getShape().drop_back() ||
      moments.back() != 2)
    return emitOptionalError(loc, "moments of shape ", shapeText(moments),
                             " are not those of rows of ",
                             shapeText(type.getShape()));
  if (failed(checkParts(loc, moments, op.getWidth())))
    return failure();
  if (shapeOf(op.getColumn()) != type.getShape().take_back())
    return emitOptionalError(loc, "column has shape ",
                             shapeText(shapeOf(op.getColumn())), " for ",
                             type.getShape().back(), " columns");
  return type.clone(tensorType(op.getOffset()).getElementType());
}

/// Returns the means of rows and their sums of squared deviations, [..., 1, 1],
/// after Chan, Golub and LeVeque, "Updating Formulae and a Pairwise Algorithm
/// for Computing Sample Variances", Stanford CS-TR-79-773, 1979.
static std::pair<Value, Value> mergeParts(NNBuilder &b, Value moments,
                                          int64_t width) {
  SmallVector<int64_t> sizes(shapeOf(moments));
  int64_t axis = sizes.size() - 2, parts = sizes[axis];
  sizes.back() = 1;
  auto each = [&](int64_t i) -> Value {
    SmallVector<int64_t> starts(sizes.size(), 0), steps(sizes.size(), 1);
    starts.back() = i;
    return SliceOp::create(b, moments, starts, sizes, steps);
  };
  auto number = [&](double value) { return b.scalarLike(moments, value); };
  Value means = each(0);
  Value mean = b.div(b.reduce(means, Combiner::sum, axis), number(parts));
  Value centred = b.sub(means, mean);
  Value between = b.mul(b.mul(centred, centred), number(width));
  return {mean, b.reduce(b.add(each(1), between), Combiner::sum, axis)};
}

FailureOr<RankedTensorType> MergeMomentsOp::infer(Adaptor op,
                                                  std::optional<Location> loc) {
  auto type = tensorType(op.getX());
  if (type.getRank() < 2 || type.getShape().back() != 2)
    return emitOptionalError(loc, shapeText(type.getShape()),
                             " is not a shape of moments");
  if (failed(checkParts(loc, type.getShape(), op.getWidth())))
    return failure();
  SmallVector<int64_t> shape(type.getShape());
  shape.end()[-2] = 1;
  return type.clone(shape);
}

SmallVector<Value> MergeMomentsOp::decompose(NNBuilder &b) {
  auto [mean, squares] = mergeParts(b, getX(), getWidth());
  return {ConcatOp::create(b, ValueRange{mean, squares},
                           tensorType(mean).getRank() - 1)};
}

/// Returns the mean of rows and the inverse of their standard deviation, both
/// [..., 1].
static std::pair<Value, Value> mergeMoments(NNBuilder &b, Value moments,
                                            int64_t width, double epsilon) {
  auto [mean, squares] = mergeParts(b, moments, width);
  int64_t count = shapeOf(moments).end()[-2] * width;
  auto number = [&](double value) { return b.scalarLike(moments, value); };
  Value variance = b.div(squares, number(count));
  Value inverse = RsqrtOp::create(b, b.add(variance, number(epsilon)));
  SmallVector<int64_t> shape(shapeOf(moments).drop_back(2));
  shape.push_back(1);
  return {b.reshape(mean, shape), b.reshape(inverse, shape)};
}

FailureOr<RankedTensorType> NormalizeOp::infer(Adaptor op,
                                               std::optional<Location> loc) {
  return inferByMoments(op, loc);
}

FailureOr<RankedTensorType>
NormalizeProductOp::infer(Adaptor op, std::optional<Location> loc) {
  return inferByMoments(op, loc);
}

SmallVector<Value> NormalizeOp::decompose(NNBuilder &b) {
  auto [mean, inverse] =
      mergeMoments(b, getMoments(), getWidth(), getEpsilon().convertToDouble());
  Type wide = tensorType(mean).getElementType();
  auto work = [&](Value v) { return b.cast(v, wide); };
  Value y = b.mul(b.sub(work(getX()), mean), inverse);
  y = b.add(b.mul(y, work(getColumn())), work(getOffset()));
  return {b.cast(y, tensorType(getY()).getElementType())};
}

SmallVector<Value> NormalizeProductOp::decompose(NNBuilder &b) {
  auto [mean, inverse] =
      mergeMoments(b, getMoments(), getWidth(), getEpsilon().convertToDouble());
  Type wide = tensorType(mean).getElementType();
  auto work = [&](Value v) { return b.cast(v, wide); };
  Value y = b.sub(work(getX()), b.mul(mean, work(getColumn())));
  y = b.add(b.mul(y, inverse), work(getOffset()));
  return {b.cast(y, tensorType(getY()).getElementType())};
}

//===----------------------------------------------------------------------===//
// Batch norm
//===----------------------------------------------------------------------===//

template <typename Adaptor>
static FailureOr<RankedTensorType>
inferBatchStatistic(Adaptor op, std::optional<Location> loc) {
  auto type = tensorType(op.getX());
  if (type.getRank() < 2)
    return emitOptionalError(loc, "a tensor of rank ", type.getRank(),
                             " has no channels");
  return RankedTensorType::get(
      {op.getChannelsLast() ? type.getShape().back() : type.getDimSize(1)},
      workType(type.getElementType()));
}

FailureOr<RankedTensorType> BatchMeanOp::infer(Adaptor op,
                                               std::optional<Location> loc) {
  return inferBatchStatistic(op, loc);
}

FailureOr<RankedTensorType>
BatchVarianceOp::infer(Adaptor op, std::optional<Location> loc) {
  auto type = inferBatchStatistic(op, loc);
  if (succeeded(type) && op.getMean().getType() != *type)
    return emitOptionalError(loc, "mean has type ", op.getMean().getType(),
                             ", not ", *type);
  return type;
}

/// Returns the mean of each channel of `x`.
static Value meanOfChannels(NNBuilder &b, Value x, bool channelsLast) {
  int64_t rank = tensorType(x).getRank();
  int64_t channels = channelsLast ? rank - 1 : 1;
  SmallVector<int64_t> axes;
  for (int64_t dim = 0; dim < rank; ++dim)
    if (dim != channels)
      axes.push_back(dim);
  return b.reshape(meanOf(b, x, axes), {shapeOf(x)[channels]});
}

SmallVector<Value> BatchMeanOp::decompose(NNBuilder &b) {
  Value x = b.cast(getX(), tensorType(getY()).getElementType());
  return {meanOfChannels(b, x, getChannelsLast())};
}

SmallVector<Value> BatchVarianceOp::decompose(NNBuilder &b) {
  Value x = b.cast(getX(), tensorType(getY()).getElementType());
  SmallVector<int64_t> column = {shapeOf(getMean())[0]};
  if (!getChannelsLast())
    column.resize(tensorType(x).getRank() - 1, 1);
  Value centred = b.sub(x, b.reshape(getMean(), column));
  return {meanOfChannels(b, b.mul(centred, centred), getChannelsLast())};
}

FailureOr<RankedTensorType> BatchNormOp::infer(Adaptor op,
                                               std::optional<Location> loc) {
  auto type = tensorType(op.getX());
  if (type.getRank() < 2)
    return emitOptionalError(loc, "a tensor of rank ", type.getRank(),
                             " has no channels");
  int64_t channels =
      op.getChannelsLast() ? type.getShape().back() : type.getDimSize(1);
  std::pair<StringRef, Value> vectors[] = {{"scale", op.getScale()},
                                           {"bias", op.getBias()},
                                           {"mean", op.getMean()},
                                           {"variance", op.getVariance()}};
  for (auto [name, vector] : vectors)
    if (shapeOf(vector).size() != 1 || !mayEqual(shapeOf(vector)[0], channels))
      return emitOptionalError(loc, name, " has shape ",
                               shapeText(shapeOf(vector)), " for ", channels,
                               " channels");
  return type;
}

int64_t frit::nn::channelDimension(BatchNormOp norm) {
  return norm.getChannelsLast() ? tensorType(norm.getX()).getRank() - 1 : 1;
}

SmallVector<int64_t> frit::nn::channelShape(BatchNormOp norm) {
  int64_t rank = tensorType(norm.getX()).getRank();
  SmallVector<int64_t> shape(rank - channelDimension(norm), 1);
  shape[0] = shapeOf(norm.getScale())[0];
  return shape;
}

SmallVector<Value> BatchNormOp::decompose(NNBuilder &b) {
  Type element = tensorType(getX()).getElementType(), work = workType(element);
  // These vectors depend only on weights, so they are computed once, in
  // @prepare.
  Value variance = b.cast(getVariance(), work);
  Value epsilon = b.scalarLike(variance, getEpsilon().convertToDouble());
  Value inverse = RsqrtOp::create(b, b.add(variance, epsilon));
  Value scale = b.mul(b.cast(getScale(), work), inverse);
  Value shift = b.mul(b.cast(getMean(), work), scale);
  shift = b.sub(b.cast(getBias(), work), shift);
  SmallVector<int64_t> column = channelShape(*this);
  shift = b.reshape(shift, column);
  scale = b.reshape(scale, column);
  Value y = b.add(b.mul(b.cast(getX(), work), scale), shift);
  return {b.cast(y, element)};
}
