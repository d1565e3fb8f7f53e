//===- Contraction.cpp - Matrix products and convolutions: shapes ---------===//

#include "dialects/nn/contraction/Contraction.h"
#include "dialects/nn/lowering/SlidingWindow.h"

using namespace mlir;
using namespace frit::nn;

#define GET_OP_CLASSES
#include "dialects/nn/Contraction.cpp.inc"

//===----------------------------------------------------------------------===//
// matmul
//===----------------------------------------------------------------------===//

FailureOr<RankedTensorType> MatmulOp::infer(Adaptor op,
                                            std::optional<Location> loc) {
  ArrayRef<int64_t> a = shapeOf(op.getA()), b = shapeOf(op.getB());
  if (a.empty() || b.empty())
    return emitOptionalError(loc, "a scalar has no matrix product");
  if (failed(checkElementTypes(loc, {op.getA(), op.getB()})))
    return failure();

  // A vector is a row on the left and a column on the right; the added
  // dimension is not in the result.
  bool swapA = op.getTransposeA(), swapB = op.getTransposeB();
  int64_t inner = a.size() == 1 ? a[0] : a[a.size() - (swapA ? 2 : 1)];
  int64_t other = b.size() == 1 ? b[0] : b[b.size() - (swapB ? 1 : 2)];
  if (!mayEqual(inner, other))
    return emitOptionalError(loc, "inner dimensions differ: ", inner, " and ",
                             other, " of ", shapeText(a), " and ",
                             shapeText(b));
  auto shape = broadcastShapes({a.drop_back(std::min<size_t>(a.size(), 2)),
                                b.drop_back(std::min<size_t>(b.size(), 2))});
  if (!shape)
    return emitOptionalError(loc, "batch dimensions do not broadcast: ",
                             shapeText(a), " and ", shapeText(b));
  if (a.size() > 1)
    shape->push_back(a[a.size() - (swapA ? 1 : 2)]);
  if (b.size() > 1)
    shape->push_back(b[b.size() - (swapB ? 2 : 1)]);
  return makeType(loc, *shape, tensorType(op.getA()).getElementType());
}

//===----------------------------------------------------------------------===//
// conv
//===----------------------------------------------------------------------===//

/// Adds the size of every spatial dimension of a convolution's result.
static LogicalResult inferSpatial(const SlidingWindow &sliding,
                                  ArrayRef<int64_t> from, size_t firstDim,
                                  SmallVectorImpl<int64_t> &shape,
                                  std::optional<Location> loc) {
  for (size_t dim = 0; dim < sliding.rank(); ++dim) {
    int64_t size = sliding.input[dim];
    if (ShapedType::isDynamic(size)) {
      shape.push_back(size);
      continue;
    }
    int64_t room = size + sliding.pads[dim] +
                   sliding.pads[sliding.rank() + dim] - sliding.reach(dim) - 1;
    if (room < 0)
      return emitOptionalError(loc, "a window of ", sliding.reach(dim) + 1,
                               " does not fit into dimension ", firstDim + dim,
                               " of ", shapeText(from), ", pads included");
    shape.push_back(room / sliding.strides[dim] + 1);
  }
  return success();
}

FailureOr<RankedTensorType> ConvOp::infer(Adaptor op,
                                          std::optional<Location> loc) {
  Value x = op.getX(), w = op.getW();
  ArrayRef<int64_t> from = shapeOf(x), filter = shapeOf(w);
  if (from.size() < 3 || filter.size() != from.size())
    return emitOptionalError(loc, "x and w have shapes ", shapeText(from),
                             " and ", shapeText(filter),
                             ", not n, c, spatial and k, c / group, window");
  if (failed(checkElementTypes(loc, {x, w})))
    return failure();

  bool last = op.getChannelsLast();
  size_t rank = from.size() - 2;
  SlidingWindow sliding{spatialShape(x, last), {},
                        spatialShape(w, last), op.getStrides(),
                        op.getPads(),          op.getDilations()};
  if (failed(sliding.check(loc, rank)))
    return failure();

  int64_t channels = last ? from.back() : from[1];
  int64_t perGroup = last ? filter.back() : filter[1];
  int64_t filters = filter[0], group = op.getGroup();
  if (group < 1 || (!ShapedType::isDynamic(filters) && filters % group != 0))
    return emitOptionalError(loc, group, " groups do not divide ", filters,
                             " filters");
  if (!ShapedType::isDynamic(channels) && !ShapedType::isDynamic(perGroup) &&
      (channels % group != 0 || channels / group != perGroup))
    return emitOptionalError(loc, "x has ", channels, " channels, but w takes ",
                             group, " groups of ", perGroup);
  Type element = tensorType(x).getElementType();
  if (Value bias = op.getBias()) {
    if (tensorType(bias).getElementType() != workType(element) &&
        failed(checkElementTypes(loc, {x, bias})))
      return failure();
    if (shapeOf(bias).size() != 1 || !mayEqual(shapeOf(bias)[0], filters))
      return emitOptionalError(loc, "bias has shape ", shapeText(shapeOf(bias)),
                               " for ", filters, " filters");
  }

  SmallVector<int64_t> shape = {from[0]};
  if (!last)
    shape.push_back(filters);
  if (failed(inferSpatial(sliding, from, last ? 1 : 2, shape, loc)))
    return failure();
  if (last)
    shape.push_back(filters);
  return makeType(loc, shape, element);
}

//===----------------------------------------------------------------------===//
// depthwise_conv
//===----------------------------------------------------------------------===//

FailureOr<RankedTensorType>
DepthwiseConvOp::infer(Adaptor op, std::optional<Location> loc) {
  Value x = op.getX(), w = op.getW();
  ArrayRef<int64_t> from = shapeOf(x), filter = shapeOf(w);
  if (from.size() < 3 || filter.size() + 1 != from.size() ||
      !mayEqual(from.back(), filter.back()))
    return emitOptionalError(loc, "x and w have shapes ", shapeText(from),
                             " and ", shapeText(filter),
                             ", not n, spatial, c and window, c");
  if (failed(checkElementTypes(loc, {x, w})))
    return failure();
  SlidingWindow sliding{spatialShape(x, /*channelsLast=*/true),
                        {},
                        filter.drop_back(),
                        op.getStrides(),
                        op.getPads(),
                        op.getDilations()};
  if (failed(sliding.check(loc, from.size() - 2)))
    return failure();
  SmallVector<int64_t> shape = {from[0]};
  if (failed(inferSpatial(sliding, from, 1, shape, loc)))
    return failure();
  shape.push_back(from.back());
  return makeType(loc, shape, tensorType(x).getElementType());
}

//===----------------------------------------------------------------------===//
// quantized_conv
//===----------------------------------------------------------------------===//

static bool isFloat(Value value) {
  return isa<FloatType>(tensorType(value).getElementType());
}

/// Checks that floats of 8 bits, which are not bytes, have no other operands.
static LogicalResult checkFloats(QuantizedConvOp::Adaptor op,
                                 std::optional<Location> loc) {
  if (op.getOperands().size() > 2 || op.getRelu())
    return emitOptionalError(
        loc, "floats have no zero points, and nothing follows their sums");
  return success();
}

/// Checks the operands of a quantized convolution that are numbers or have an
/// element per filter.
static LogicalResult checkFactors(QuantizedConvOp::Adaptor op,
                                  std::optional<Location> loc) {
  if (isFloat(op.getX()) != isFloat(op.getW()))
    return emitOptionalError(loc, "multiplies floats and integers");
  if (isFloat(op.getX()))
    return checkFloats(op, loc);
  if (!op.getXZero() || !op.getWZero())
    return emitOptionalError(loc, "bytes have zero points: x_zero and w_zero");
  int64_t filters = shapeOf(op.getW())[0];
  auto check = [&](StringRef name, Value factor, bool one, bool all) {
    int64_t count = factor ? tensorType(factor).getNumElements() : 0;
    bool fits = !factor || (one && count == 1) ||
                (all && shapeOf(factor).size() == 1 && count == filters);
    return fits
               ? success()
               : LogicalResult(emitOptionalError(loc, name, " has shape ",
                                                 shapeText(shapeOf(factor)),
                                                 " for ", filters, " filters"));
  };
  auto checkZero = [&](StringRef name, Value zero, Value of) {
    if (failed(check(name, zero, true, false)))
      return failure();
    return checkElementTypes(loc, {of, zero});
  };
  if (failed(checkZero("x_zero", op.getXZero(), op.getX())) ||
      failed(checkZero("w_zero", op.getWZero(), op.getW())) ||
      failed(check("offset", op.getOffset(), false, true)) ||
      failed(check("scale", op.getScale(), true, true)) ||
      failed(check("bias", op.getBias(), false, true)) ||
      failed(check("y_zero", op.getYZero(), true, false)))
    return failure();
  if (!op.getScale() && (op.getBias() || op.getYZero() || op.getRelu()))
    return emitOptionalError(loc, "without a scale there is no epilogue");
  return success();
}

FailureOr<RankedTensorType>
QuantizedConvOp::infer(Adaptor op, std::optional<Location> loc) {
  ArrayRef<int64_t> from = shapeOf(op.getX()), filter = shapeOf(op.getW());
  if (from.size() < 2 || from.size() > 4 || filter.size() != from.size() ||
      !tensorType(op.getX()).hasStaticShape() ||
      !tensorType(op.getW()).hasStaticShape())
    return emitOptionalError(loc, "x and w have shapes ", shapeText(from),
                             " and ", shapeText(filter),
                             ", not n, spatial, c and k, window, c / group");
  SlidingWindow sliding{spatialShape(op.getX(), /*channelsLast=*/true),
                        {},
                        spatialShape(op.getW(), /*channelsLast=*/true),
                        op.getStrides(),
                        op.getPads(),
                        op.getDilations()};
  if (failed(sliding.check(loc, from.size() - 2)))
    return failure();
  int64_t group = op.getGroup();
  if (group < 1 || filter[0] % group != 0 || from.back() % group != 0 ||
      from.back() / group != filter.back())
    return emitOptionalError(loc, group, " groups do not divide ",
                             shapeText(from), " and ", shapeText(filter));
  if (failed(checkFactors(op, loc)))
    return failure();
  SmallVector<int64_t> shape = {from[0]};
  if (failed(inferSpatial(sliding, from, 1, shape, loc)))
    return failure();
  shape.push_back(filter[0]);
  MLIRContext *context = op.getX().getContext();
  Type element = op.getYZero() ? tensorType(op.getYZero()).getElementType()
                 : op.getScale() || isFloat(op.getX())
                     ? Type(Float32Type::get(context))
                     : Type(IntegerType::get(context, 32));
  return makeType(loc, shape, element);
}

QuantizedConvOp frit::nn::createSums(NNBuilder &b, QuantizedConvOp op) {
  Value none;
  return QuantizedConvOp::create(
      b, op.getX(), op.getW(), op.getXZero(), op.getWZero(), /*offset=*/none,
      /*scale=*/none, /*bias=*/none, /*y_zero=*/none, op.getStrides(),
      op.getPads(), op.getDilations(), op.getGroup(), /*relu=*/false);
}

/// Computes the sums by operators of wider types.
static Value widenSums(NNBuilder &b, QuantizedConvOp op) {
  Type i32 = b.getI32Type(), f32 = b.getF32Type(), f64 = b.getF64Type();
  bool isMatrix = shapeOf(op.getX()).size() == 2 && op.getGroup() == 1;
  if (isFloat(op.getX())) {
    Value x = b.cast(op.getX(), f32), w = b.cast(op.getW(), f32);
    if (isMatrix)
      return MatmulOp::create(b, x, w, /*transpose_a=*/false,
                              /*transpose_b=*/true, /*tf32=*/false);
    return ConvOp::create(b, x, w, Value(), op.getStrides(), op.getPads(),
                          op.getDilations(), op.getGroup(),
                          /*channels_last=*/true, /*tf32=*/false);
  }
  auto centred = [&](Value value, Value zero) {
    return b.sub(b.cast(value, i32), b.reshape(b.cast(zero, i32), {}));
  };
  Value x = centred(op.getX(), op.getXZero());
  Value w = centred(op.getW(), op.getWZero());
  if (isMatrix)
    return MatmulOp::create(b, x, w, /*transpose_a=*/false,
                            /*transpose_b=*/true, /*tf32=*/false);
  // f64 holds all sums exactly.
  return b.cast(ConvOp::create(b, b.cast(x, f64), b.cast(w, f64), Value(),
                               op.getStrides(), op.getPads(), op.getDilations(),
                               op.getGroup(), /*channels_last=*/true,
                               /*tf32=*/false),
                i32);
}

/// Splits off what follows the sums, which some targets compute whole.
SmallVector<Value> QuantizedConvOp::decompose(NNBuilder &b) {
  if (!hasEnd(*this))
    return {widenSums(b, *this)};
  Type f32 = b.getF32Type();
  Value y = createSums(b, *this).getY();
  if (Value offset = getOffset())
    y = b.add(y, offset);
  if (!getScale())
    return {y};
  y = b.mul(b.cast(y, f32), getScale());
  if (Value bias = getBias())
    y = b.add(y, bias);
  if (getRelu())
    y = ReluOp::create(b, y);
  if (!getYZero())
    return {y};
  Type element = tensorType(getY()).getElementType();
  double low = element.isUnsignedInteger() ? 0 : -128;
  y = b.add(RoundOp::create(b, y), b.reshape(b.cast(getYZero(), f32), {}));
  y = MinOp::create(b, MaxOp::create(b, y, b.scalarLike(y, low)),
                    b.scalarLike(y, low + 255));
  return {b.cast(y, element)};
}
