//===- Reduction.cpp - Combining the elements along dimensions --------------===//

#include "dialects/nn/Loops.h"
#include "dialects/nn/Lowering.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace frit::nn;

#define GET_OP_CLASSES
#include "dialects/nn/Reduction.cpp.inc"

/// The type of `x` with sizes of 1 at `axes`, which ascend.
static FailureOr<RankedTensorType> inferReduced(std::optional<Location> loc,
                                                Value x,
                                                ArrayRef<int64_t> axes) {
  auto type = tensorType(x);
  SmallVector<int64_t> shape(type.getShape());
  int64_t last = -1;
  for (int64_t axis : axes) {
    if (axis < 0 || axis >= type.getRank())
      return emitOptionalError(loc, "axis ", axis,
                               " is out of range for a tensor of rank ",
                               type.getRank());
    if (axis <= last)
      return emitOptionalError(loc, "axis ", axis, " comes after axis ", last);
    last = axis;
    shape[axis] = 1;
  }
  return makeType(loc, shape, type.getElementType());
}

FailureOr<RankedTensorType> ReduceOp::infer(Adaptor op,
                                            std::optional<Location> loc) {
  return inferReduced(loc, op.getX(), op.getAxes());
}

OpFoldResult ReduceOp::fold(FoldAdaptor) {
  // One element combines to itself.
  ArrayRef<int64_t> shape = shapeOf(getX());
  return getX().getType() == getY().getType() &&
                 llvm::all_of(getAxes(),
                              [&](int64_t axis) { return shape[axis] == 1; })
             ? OpFoldResult(getX())
             : OpFoldResult();
}

Value ReduceOp::buildLinalg(ImplicitLocOpBuilder &b, ValueRange x) {
  auto full = accumulatorType(getY());
  Type storage = tensorType(getX()).getElementType();
  int64_t rank = full.getRank();

  // The accumulators have no dimension where elements are combined, the form
  // that linalg's transformations know, and get their sizes of 1 at the end.
  SmallVector<AffineExpr> kept;
  SmallVector<int64_t> keptShape;
  for (int64_t dim = 0; dim < rank; ++dim)
    if (!llvm::is_contained(getAxes(), dim)) {
      kept.push_back(b.getAffineDimExpr(dim));
      keptShape.push_back(full.getDimSize(dim));
    }
  auto type = full.clone(keptShape);
  Value sums = buildReduction(
      b, type,
      identity(getKind(), type.getElementType(), storage.isUnsignedInteger()),
      x,
      {b.getMultiDimIdentityMap(rank),
       AffineMap::get(rank, 0, kept, getContext())},
      [&](ImplicitLocOpBuilder &body, ValueRange elements) {
        ScalarBuilder s(body);
        return combine(s, getKind(), s.wrap(elements[1], storage),
                       s.wrap(s.load(elements[0]), storage))
            .value;
      });
  Value y = buildRounding(b, sums, signlessType(storage));
  return buildReshape(b, y, loweredType(getY()).getShape());
}

FailureOr<RankedTensorType> ReduceMeanOp::infer(Adaptor op,
                                                std::optional<Location> loc) {
  return inferReduced(loc, op.getX(), op.getAxes());
}

SmallVector<Value> ReduceMeanOp::decompose(NNBuilder &b) {
  Value x = getX();
  int64_t count = 1;
  for (int64_t axis : getAxes())
    count *= shapeOf(x)[axis];
  Type element = tensorType(x).getElementType();
  // A half-precision sum may overflow where the mean does not.
  Value wide = b.cast(x, workType(element));
  Value sum = b.reduce(wide, Combiner::sum, getAxes());
  return {b.cast(b.div(sum, b.scalarLike(sum, count)), element)};
}
