//===- Statistics.cpp - Statistics of columns, rows and groups ------------===//

#include "dialects/nn/operators/Statistics.h"

#include "dialects/nn/Infer.h"

using namespace mlir;
using namespace frit::nn;

#define GET_OP_CLASSES
#include "dialects/nn/Statistics.cpp.inc"

/// Returns parts × columns, where a part is `height` rows of `x`.
static FailureOr<SmallVector<int64_t>>
partedShape(Value x, int64_t height, std::optional<Location> loc) {
  auto type = tensorType(x);
  if (type.getRank() == 0 || !type.hasStaticShape() ||
      type.getShape().back() == 0 || height <= 0 ||
      type.getNumElements() / type.getShape().back() % height != 0)
    return emitOptionalError(loc, "columns of ", shapeText(type.getShape()),
                             " have no parts of ", height);
  int64_t columns = type.getShape().back();
  return SmallVector<int64_t>{type.getNumElements() / columns / height,
                              columns};
}

FailureOr<RankedTensorType>
ColumnMomentsOp::infer(Adaptor op, std::optional<Location> loc) {
  auto shape = partedShape(op.getX(), op.getHeight(), loc);
  if (failed(shape))
    return failure();
  shape->insert(shape->begin(), 2);
  return RankedTensorType::get(
      *shape, workType(tensorType(op.getX()).getElementType()));
}

SmallVector<Value> ColumnMomentsOp::decompose(NNBuilder &b) {
  ArrayRef<int64_t> shape = shapeOf(getY());
  int64_t height = getHeight();
  int64_t parts[] = {shape[1], height, shape[2]};
  int64_t flat[] = {1, shape[1], shape[2]};
  Value x =
      b.reshape(b.cast(getX(), tensorType(getY()).getElementType()), parts);
  Value mean = b.div(b.reduce(x, Combiner::sum, 1), b.scalarLike(x, height));
  Value centred = b.sub(x, mean);
  Value squares = b.reduce(b.mul(centred, centred), Combiner::sum, 1);
  return {ConcatOp::create(
      b, ValueRange{b.reshape(mean, flat), b.reshape(squares, flat)}, 0)};
}

FailureOr<RankedTensorType> ColumnSumsOp::infer(Adaptor op,
                                                std::optional<Location> loc) {
  auto shape = partedShape(op.getX(), op.getHeight(), loc);
  if (failed(shape))
    return failure();
  return RankedTensorType::get(
      *shape, workType(tensorType(op.getX()).getElementType()));
}

SmallVector<Value> ColumnSumsOp::decompose(NNBuilder &b) {
  ArrayRef<int64_t> shape = shapeOf(getY());
  int64_t parts[] = {shape[0], getHeight(), shape[1]};
  Value x =
      b.reshape(b.cast(getX(), tensorType(getY()).getElementType()), parts);
  return {b.reshape(b.reduce(x, Combiner::sum, 1), shape)};
}

FailureOr<RankedTensorType> RowDotsOp::infer(Adaptor op,
                                             std::optional<Location> loc) {
  auto type = tensorType(op.getA());
  int64_t width = op.getWidth();
  if (op.getB().getType() != type)
    return emitOptionalError(loc, "operands have types ", type, " and ",
                             op.getB().getType());
  if (type.getRank() == 0 || !type.hasStaticShape() ||
      type.getShape().back() == 0 || width <= 0 ||
      type.getShape().back() % width != 0)
    return emitOptionalError(loc, "rows of ", shapeText(type.getShape()),
                             " have no parts of ", width);
  int64_t columns = type.getShape().back();
  return RankedTensorType::get(
      {type.getNumElements() / columns, columns / width},
      workType(type.getElementType()));
}

SmallVector<Value> RowDotsOp::decompose(NNBuilder &b) {
  ArrayRef<int64_t> shape = shapeOf(getY());
  int64_t parts[] = {shape[0], shape[1], int64_t(getWidth())};
  Type work = tensorType(getY()).getElementType();
  Value products = b.mul(b.cast(getA(), work), b.cast(getB(), work));
  Value sums = b.reduce(b.reshape(products, parts), Combiner::sum, 2);
  return {b.reshape(sums, shape)};
}

//===----------------------------------------------------------------------===//
// Group norm
//===----------------------------------------------------------------------===//

/// Fails unless `x` has static shape and its last dimension is `groups` groups.
static LogicalResult checkGroups(std::optional<Location> loc, Value x,
                                 int64_t groups) {
  auto type = tensorType(x);
  if (type.getRank() >= 2 && type.hasStaticShape() &&
      type.getNumElements() > 0 && groups > 0 &&
      type.getShape().back() % groups == 0)
    return success();
  return emitOptionalError(loc, shapeText(type.getShape()),
                           " has no channels for ", groups, " groups");
}

template <typename Adaptor>
static FailureOr<RankedTensorType>
inferGroupStatistic(Adaptor op, std::optional<Location> loc) {
  if (failed(checkGroups(loc, op.getX(), op.getGroups())))
    return failure();
  auto type = tensorType(op.getX());
  return RankedTensorType::get(
      {type.getDimSize(0), static_cast<int64_t>(op.getGroups()), 1},
      workType(type.getElementType()));
}

FailureOr<RankedTensorType> GroupMeanOp::infer(Adaptor op,
                                               std::optional<Location> loc) {
  return inferGroupStatistic(op, loc);
}

FailureOr<RankedTensorType>
GroupVarianceOp::infer(Adaptor op, std::optional<Location> loc) {
  auto type = inferGroupStatistic(op, loc);
  if (succeeded(type) && op.getMean().getType() != *type)
    return emitOptionalError(loc, "mean has type ", op.getMean().getType(),
                             ", not ", *type);
  return type;
}

/// Returns the mean of each group of `x`: first along its channels, then over
/// those of a group.
static Value meanOfGroups(NNBuilder &b, Value x, int64_t groups) {
  ArrayRef<int64_t> shape = shapeOf(x);
  int64_t size = shape.back() / groups;
  int64_t rows = tensorType(x).getNumElements() / shape[0] / shape.back();
  x = b.reshape(x, {shape[0], rows, shape.back()});
  Value channels =
      b.reshape(b.reduce(x, Combiner::sum, 1), {shapeOf(x)[0], groups, size});
  Value sum = b.reduce(channels, Combiner::sum, 2);
  return b.div(sum, b.scalarLike(sum, double(rows) * size));
}

SmallVector<Value> GroupMeanOp::decompose(NNBuilder &b) {
  Value x = b.cast(getX(), tensorType(getY()).getElementType());
  return {meanOfGroups(b, x, getGroups())};
}

Value frit::nn::channelsOfGroups(NNBuilder &b, Value statistic, Value x) {
  ArrayRef<int64_t> shape = shapeOf(x);
  int64_t groups = shapeOf(statistic)[1];
  int64_t each[] = {shape[0], groups, shape.back() / groups};
  SmallVector<int64_t> channels(shape.size(), 1);
  channels.front() = shape.front();
  channels.back() = shape.back();
  if (shapeOf(statistic) != ArrayRef(each))
    statistic = ExpandOp::create(b, statistic, each);
  return b.reshape(statistic, channels);
}

SmallVector<Value> GroupVarianceOp::decompose(NNBuilder &b) {
  Value x = b.cast(getX(), tensorType(getY()).getElementType());
  Value centred = b.sub(x, channelsOfGroups(b, getMean(), x));
  return {meanOfGroups(b, b.mul(centred, centred), getGroups())};
}

FailureOr<RankedTensorType> GroupNormOp::infer(Adaptor op,
                                               std::optional<Location> loc) {
  if (failed(checkGroups(loc, op.getX(), op.getGroups())))
    return failure();
  std::pair<StringRef, Value> vectors[] = {{"scale", op.getScale()},
                                           {"bias", op.getBias()}};
  auto type = tensorType(op.getX());
  for (auto [name, vector] : vectors)
    if (shapeOf(vector) != type.getShape().take_back())
      return emitOptionalError(loc, name, " has shape ",
                               shapeText(shapeOf(vector)), " for ",
                               type.getShape().back(), " channels");
  return type;
}

SmallVector<Value> GroupNormOp::decompose(NNBuilder &b) {
  Type element = tensorType(getX()).getElementType(), work = workType(element);
  int64_t groups = getGroups(), channels = shapeOf(getX()).back();
  auto mean = GroupMeanOp::create(b, getX(), groups);
  auto variance = GroupVarianceOp::create(b, getX(), mean, groups);
  Value epsilon = b.scalarLike(variance, getEpsilon().convertToDouble());
  Value inverse = RsqrtOp::create(b, b.add(variance, epsilon));
  Value scale =
      b.reshape(b.cast(getScale(), work), {groups, channels / groups});
  // A number per sample and channel each; they are computed once.
  Value x = b.cast(getX(), work);
  Value y = b.mul(b.sub(x, channelsOfGroups(b, mean, x)),
                  channelsOfGroups(b, b.mul(scale, inverse), x));
  return {b.cast(b.add(y, b.cast(getBias(), work)), element)};
}

//===----------------------------------------------------------------------===//
// Batch norm of a pointwise convolution
//===----------------------------------------------------------------------===//

FailureOr<RankedTensorType>
ConvBatchNormOp::infer(Adaptor op, std::optional<Location> loc) {
  auto type = tensorType(op.getX());
  ArrayRef<int64_t> x = type.getShape(), w = shapeOf(op.getW());
  if (x.size() < 3 || w.size() != x.size() || !type.hasStaticShape() ||
      !tensorType(op.getW()).hasStaticShape() || w.back() != x.back() ||
      llvm::any_of(w.drop_front().drop_back(),
                   [](int64_t d) { return d != 1; }))
    return emitOptionalError(loc, "filters of ", shapeText(w),
                             " are not pointwise ones for ", shapeText(x));
  if (failed(checkElementTypes(loc, {op.getX(), op.getW()})))
    return failure();
  std::pair<StringRef, Value> vectors[] = {{"scale", op.getScale()},
                                           {"bias", op.getBias()}};
  for (auto [name, vector] : vectors)
    if (shapeOf(vector) != w.take_front())
      return emitOptionalError(loc, name, " has shape ",
                               shapeText(shapeOf(vector)), " for ", w.front(),
                               " channels");
  int64_t parts = op.getParts();
  if (type.getNumElements() == 0 || parts < 1 ||
      type.getNumElements() / x.back() % parts != 0)
    return emitOptionalError(
        loc, parts, " parts do not divide the positions of ", shapeText(x));
  SmallVector<int64_t> shape(x);
  shape.back() = w.front();
  return makeType(loc, shape, type.getElementType());
}

Value frit::nn::convolvePoints(NNBuilder &b, Value x, Value w, Value bias) {
  size_t rank = shapeOf(x).size() - 2;
  SmallVector<int64_t> ones(rank, 1), pads(2 * rank, 0);
  return ConvOp::create(b, x, w, bias, ones, pads, ones, /*group=*/1,
                        /*channels_last=*/true, /*tf32=*/false);
}

SmallVector<Value> ConvBatchNormOp::decompose(NNBuilder &b) {
  Value z = convolvePoints(b, getX(), getW(), Value());
  Value mean = BatchMeanOp::create(b, z, /*channels_last=*/true);
  Value variance = BatchVarianceOp::create(b, z, mean, /*channels_last=*/true);
  return {BatchNormOp::create(b, z, getScale(), getBias(), mean, variance,
                              getEpsilon(), /*batch_statistics=*/true,
                              /*channels_last=*/true)};
}
