//===- Infer.cpp - Shape and type inference shared by the families --------===//

#include "dialects/nn/Infer.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

SmallVector<Type> frit::nn::elementTypes(ValueRange tensors) {
  return llvm::map_to_vector(tensors, [](Value v) {
    return cast<RankedTensorType>(v.getType()).getElementType();
  });
}

std::optional<SmallVector<int64_t>>
frit::nn::broadcastShapes(ArrayRef<ArrayRef<int64_t>> shapes) {
  size_t rank = 0;
  for (ArrayRef<int64_t> shape : shapes)
    rank = std::max(rank, shape.size());
  SmallVector<int64_t> result(rank, 1);
  for (ArrayRef<int64_t> shape : shapes) {
    size_t offset = rank - shape.size();
    for (auto [i, size] : llvm::enumerate(shape)) {
      int64_t &out = result[offset + i];
      if (size == 1 || size == out)
        continue;
      // A dynamic size must be 1 or equal to the other, so the known size wins.
      if (out == 1 || ShapedType::isDynamic(out))
        out = size;
      else if (!ShapedType::isDynamic(size))
        return std::nullopt;
    }
  }
  return result;
}

LogicalResult frit::nn::inferBroadcast(std::optional<Location> loc,
                                       ValueRange operands, Type element,
                                       SmallVectorImpl<Type> &types) {
  auto shapes = llvm::map_to_vector(operands, [](Value v) {
    return cast<RankedTensorType>(v.getType()).getShape();
  });
  auto shape = broadcastShapes(shapes);
  if (!shape)
    return emitOptionalError(
        loc, "shapes do not broadcast: ",
        llvm::join(llvm::map_range(shapes, shapeText), " and "));
  auto type = makeType(loc, *shape, element);
  if (failed(type))
    return failure();
  types.push_back(*type);
  return success();
}

FailureOr<RankedTensorType> frit::nn::makeType(std::optional<Location> loc,
                                               ArrayRef<int64_t> shape,
                                               Type element) {
  // More than any machine's memory, and so far below 2^63 that byte sizes and
  // offsets cannot overflow.
  constexpr int64_t limit = int64_t(1) << 48;
  int64_t elements = 1;
  for (int64_t size : shape) {
    if (ShapedType::isDynamic(size))
      continue;
    if (size < 0)
      return emitOptionalError(loc, "a size is negative: ", shapeText(shape));
    if (size > limit || (size != 0 && elements > limit / size))
      return emitOptionalError(loc, "a tensor of shape ", shapeText(shape),
                               " is too large");
    elements *= std::max<int64_t>(size, 1);
  }
  return RankedTensorType::get(shape, element);
}

LogicalResult frit::nn::checkElementTypes(std::optional<Location> loc,
                                          ValueRange tensors) {
  auto element = [](Value v) {
    return cast<RankedTensorType>(v.getType()).getElementType();
  };
  for (Value tensor : tensors)
    if (tensor && element(tensor) != element(tensors[0]))
      return emitOptionalError(loc,
                               "element types differ: ", element(tensors[0]),
                               " and ", element(tensor));
  return success();
}

bool frit::nn::mayEqual(int64_t a, int64_t b) {
  return a == b || ShapedType::isDynamic(a) || ShapedType::isDynamic(b);
}

bool frit::nn::mayBeSame(TypeRange a, TypeRange b) {
  return a.size() == b.size() && llvm::all_of(llvm::zip(a, b), [](auto types) {
           auto x = dyn_cast<RankedTensorType>(std::get<0>(types));
           auto y = dyn_cast<RankedTensorType>(std::get<1>(types));
           return x && y && x.getElementType() == y.getElementType() &&
                  succeeded(verifyCompatibleShape(x, y));
         });
}

std::optional<int64_t> frit::nn::normalizeAxis(std::optional<Location> loc,
                                               int64_t axis, int64_t rank) {
  if (axis >= -rank && axis < rank)
    return axis < 0 ? axis + rank : axis;
  (void)emitOptionalError(loc, "axis ", axis,
                          " is out of range for a tensor of rank ", rank);
  return std::nullopt;
}

std::string frit::nn::shapeText(ArrayRef<int64_t> shape) {
  if (shape.empty())
    return "scalar";
  return llvm::join(llvm::map_range(shape,
                                    [](int64_t size) {
                                      return ShapedType::isDynamic(size)
                                                 ? std::string("?")
                                                 : std::to_string(size);
                                    }),
                    "x");
}
