//===- Statistics.cpp - Statistics of columns -----------------------------===//

#include "dialects/nn/operators/Statistics.h"

#include "dialects/nn/Infer.h"

using namespace mlir;
using namespace frit::nn;

#define GET_OP_CLASSES
#include "dialects/nn/Statistics.cpp.inc"

FailureOr<RankedTensorType>
ColumnMomentsOp::infer(Adaptor op, std::optional<Location> loc) {
  auto type = tensorType(op.getX());
  int64_t height = op.getHeight();
  if (type.getRank() == 0 || !type.hasStaticShape() ||
      type.getShape().back() == 0 || height <= 0 ||
      type.getNumElements() / type.getShape().back() % height != 0)
    return emitOptionalError(loc, "columns of ", shapeText(type.getShape()),
                             " have no parts of ", height);
  int64_t columns = type.getShape().back();
  return RankedTensorType::get(
      {2, type.getNumElements() / columns / height, columns},
      Float32Type::get(type.getContext()));
}

SmallVector<Value> ColumnMomentsOp::decompose(NNBuilder &b) {
  ArrayRef<int64_t> shape = shapeOf(getY());
  int64_t height = getHeight();
  int64_t parts[] = {shape[1], height, shape[2]};
  int64_t flat[] = {1, shape[1], shape[2]};
  Value x = b.reshape(b.cast(getX(), b.getF32Type()), parts);
  Value mean = b.div(b.reduce(x, Combiner::sum, 1), b.scalarLike(x, height));
  Value centred = b.sub(x, mean);
  Value squares = b.reduce(b.mul(centred, centred), Combiner::sum, 1);
  return {ConcatOp::create(
      b, ValueRange{b.reshape(mean, flat), b.reshape(squares, flat)}, 0)};
}
