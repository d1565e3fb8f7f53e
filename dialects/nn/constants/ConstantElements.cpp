//===- ConstantElements.cpp - Elements of evaluated tensors ---------------===//

#include "dialects/nn/constants/ConstantElements.h"

#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;
using namespace frit;
using namespace frit::nn;

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

static SmallVector<int64_t> distinctShapeOf(const StridedPlaces &places) {
  SmallVector<int64_t> shape(places.shape);
  for (auto [size, stride] : llvm::zip(shape, places.strides))
    if (stride == 0 && size > 1)
      size = 1;
  return shape;
}

SmallVector<int64_t> ConstantElements::distinctShape() const {
  return distinctShapeOf(places);
}

std::vector<float> frit::nn::readElements(const ConstantElements &x,
                                          ArrayRef<int64_t> shape) {
  std::vector<float> result;
  result.reserve(ShapedType::getNumElements(shape));
  forEachLine(shape, &x.places, [&](auto at, int64_t count, auto steps) {
    for (int64_t i = 0; i < count; ++i)
      result.push_back((*x.data)[at[0] + i * steps[0]]);
  });
  return result;
}

std::vector<float> ConstantElements::distinct() const {
  return readElements(*this, distinctShape());
}

ConstantElements ConstantElements::of(std::vector<float> data,
                                      ArrayRef<int64_t> distinct,
                                      ArrayRef<int64_t> shape) {
  return {std::make_shared<const std::vector<float>>(std::move(data)),
          StridedPlaces::whole(distinct).broadcast(shape)};
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

template <typename T>
static std::optional<std::vector<float>> readBytes(ArrayRef<char> bytes,
                                                   int64_t count) {
  if (bytes.size() != count * sizeof(T))
    return std::nullopt;
  std::vector<float> result(count);
  for (auto [i, element] : llvm::enumerate(result)) {
    T value;
    std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
    element = float(value);
  }
  return result;
}

static std::optional<std::vector<float>>
readDense(DenseElementsAttr dense, Type element, int64_t count) {
  std::vector<float> result;
  result.reserve(count);
  auto convert = [&](auto values, auto toFloat) {
    for (const auto &x : values)
      result.push_back(toFloat(x));
    return std::move(result);
  };
  if (isa<FloatType>(element))
    return convert(dense.getValues<APFloat>(), [](APFloat x) {
      bool lossy;
      x.convert(APFloat::IEEEsingle(), APFloat::rmNearestTiesToEven, &lossy);
      return x.convertToFloat();
    });
  if (element.isInteger(1))
    return convert(dense.getValues<bool>(), [](bool x) { return float(x); });
  bool isUnsigned = element.isUnsignedInteger();
  return convert(dense.getValues<APInt>(), [&](const APInt &x) {
    return isUnsigned ? float(x.getZExtValue()) : float(x.getSExtValue());
  });
}

std::optional<ConstantElements> frit::nn::readConstant(ConstantOp constant) {
  auto type = constant.getY().getType();
  Type element = type.getElementType();
  ArrayRef<int64_t> shape = type.getShape();
  if (auto dense = dyn_cast<DenseElementsAttr>(constant.getValue())) {
    if (!isa<FloatType, IntegerType>(element))
      return std::nullopt;
    SmallVector<int64_t> ones(shape.size(), 1);
    if (dense.isSplat() && ShapedType::getNumElements(shape) > 0)
      return ConstantElements::of(
          *readDense(dense.resizeSplat(type.clone(ArrayRef(ones))), element, 1),
          ones, shape);
    return ConstantElements::of(
        *readDense(dense, element, ShapedType::getNumElements(shape)), shape,
        shape);
  }
  auto resource = dyn_cast<DenseResourceElementsAttr>(constant.getValue());
  AsmResourceBlob *blob =
      resource ? resource.getRawHandle().getBlob() : nullptr;
  if (!blob)
    return std::nullopt;
  std::optional<std::vector<float>> data;
  if (element.isF32())
    data = readBytes<float>(blob->getData(), ShapedType::getNumElements(shape));
  else if (element.isSignlessInteger(8) || element.isInteger(1))
    // A resource stores a bool in a byte.
    data =
        readBytes<int8_t>(blob->getData(), ShapedType::getNumElements(shape));
  else if (element.isSignlessInteger(32))
    data =
        readBytes<int32_t>(blob->getData(), ShapedType::getNumElements(shape));
  else if (element.isSignlessInteger(64))
    data =
        readBytes<int64_t>(blob->getData(), ShapedType::getNumElements(shape));
  if (!data)
    return std::nullopt;
  return ConstantElements::of(std::move(*data), shape, shape);
}
