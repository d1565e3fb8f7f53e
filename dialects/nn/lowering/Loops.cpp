//===- Loops.cpp - Helpers of buildLinalg ---------------------------------===//

#include "dialects/nn/lowering/Loops.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/ReshapeOpsUtils.h"

using namespace mlir;
using namespace frit::nn;

AffineMap frit::nn::broadcastMap(ArrayRef<int64_t> operand,
                                 ArrayRef<int64_t> result,
                                 MLIRContext *context) {
  SmallVector<AffineExpr> indices;
  size_t offset = result.size() - operand.size();
  for (auto [i, size] : llvm::enumerate(operand))
    indices.push_back(size == 1 && result[offset + i] != 1
                          ? getAffineConstantExpr(0, context)
                          : getAffineDimExpr(offset + i, context));
  return AffineMap::get(result.size(), 0, indices, context);
}

static Value buildGeneric(ImplicitLocOpBuilder &b, Value init,
                          ValueRange inputs, ArrayRef<AffineMap> maps,
                          BodyFn build) {
  SmallVector<utils::IteratorType> iterators;
  for (unsigned loop = 0; loop < maps.back().getNumDims(); ++loop)
    iterators.push_back(maps.back().isFunctionOfDim(loop)
                            ? utils::IteratorType::parallel
                            : utils::IteratorType::reduction);
  auto generic = linalg::GenericOp::create(
      b, TypeRange{init.getType()}, inputs, ValueRange{init}, maps, iterators,
      [&](OpBuilder &builder, Location loc, ValueRange elements) {
        ImplicitLocOpBuilder body(loc, builder);
        linalg::YieldOp::create(body, build(body, elements));
      });
  return generic.getResult(0);
}

Value frit::nn::buildMap(ImplicitLocOpBuilder &b, RankedTensorType type,
                         ValueRange inputs, ArrayRef<AffineMap> maps,
                         BodyFn body) {
  Value empty =
      tensor::EmptyOp::create(b, type.getShape(), type.getElementType());
  SmallVector<AffineMap> all(maps);
  all.push_back(b.getMultiDimIdentityMap(type.getRank()));
  return buildGeneric(b, empty, inputs, all, body);
}

Value frit::nn::buildReduction(ImplicitLocOpBuilder &b, RankedTensorType type,
                               TypedAttr init, ValueRange inputs,
                               ArrayRef<AffineMap> maps, BodyFn body) {
  Value empty =
      tensor::EmptyOp::create(b, type.getShape(), type.getElementType());
  Value first = arith::ConstantOp::create(b, init);
  Value filled =
      linalg::FillOp::create(b, ValueRange{first}, ValueRange{empty}).result();
  return buildGeneric(b, filled, inputs, maps, body);
}

Value frit::nn::buildAccumulation(ImplicitLocOpBuilder &b, Value init,
                                  ValueRange inputs, ArrayRef<AffineMap> maps,
                                  BodyFn body) {
  return buildGeneric(b, init, inputs, maps, body);
}

Value frit::nn::buildRounding(ImplicitLocOpBuilder &b, Value sums,
                              Type storage) {
  auto type = tensorType(sums);
  if (type.getElementType() == storage)
    return sums;
  return buildMap(b, type.clone(storage), sums,
                  b.getMultiDimIdentityMap(type.getRank()),
                  [&](ImplicitLocOpBuilder &body, ValueRange x) {
                    return ScalarBuilder(body).store(x[0], storage);
                  });
}

Value frit::nn::buildReshape(ImplicitLocOpBuilder &b, Value x,
                             ArrayRef<int64_t> shape) {
  auto from = tensorType(x), to = from.clone(shape);
  if (from == to)
    return x;
  auto all = [](int64_t rank) {
    SmallVector<ReassociationIndices> groups;
    if (rank)
      groups.push_back(llvm::to_vector(llvm::seq<int64_t>(rank)));
    return groups;
  };
  if (to.getRank() <= 1 && from.getRank() > to.getRank())
    return tensor::CollapseShapeOp::create(b, to, x,
                                           all(to.getRank() * from.getRank()));
  if (from.getRank() <= 1)
    return tensor::ExpandShapeOp::create(b, to, x,
                                         all(from.getRank() * to.getRank()));
  if (auto groups = getReassociationIndicesForReshape(from, to)) {
    if (from.getRank() > to.getRank())
      return tensor::CollapseShapeOp::create(b, to, x, *groups);
    return tensor::ExpandShapeOp::create(b, to, x, *groups);
  }
  // Collapsing or expanding alone does not suffice; go through one dimension.
  return buildReshape(b, buildReshape(b, x, from.getNumElements()), shape);
}

RankedTensorType frit::nn::loweredType(Value result) {
  return cast<RankedTensorType>(signlessType(result.getType()));
}

RankedTensorType frit::nn::accumulatorType(Value result) {
  auto type = tensorType(result);
  return type.clone(bodyType(type.getElementType()));
}

//===----------------------------------------------------------------------===//
// Indices
//===----------------------------------------------------------------------===//

Value frit::nn::indexOf(ImplicitLocOpBuilder &b, unsigned loop) {
  return linalg::IndexOp::create(b, loop);
}

Value frit::nn::indexConstant(ImplicitLocOpBuilder &b, int64_t value) {
  return arith::ConstantIndexOp::create(b, value);
}

Value frit::nn::scaleIndex(ImplicitLocOpBuilder &b, Value x, int64_t scale,
                           int64_t offset) {
  if (scale != 1)
    x = arith::MulIOp::create(b, x, indexConstant(b, scale));
  if (offset != 0)
    x = arith::AddIOp::create(b, x, indexConstant(b, offset));
  return x;
}

Value frit::nn::clampIndex(ImplicitLocOpBuilder &b, Value x, int64_t low,
                           int64_t high) {
  x = arith::MaxSIOp::create(b, x, indexConstant(b, low));
  return arith::MinSIOp::create(b, x, indexConstant(b, high));
}

Value frit::nn::indexIsIn(ImplicitLocOpBuilder &b, Value x, int64_t low,
                          int64_t high) {
  using P = arith::CmpIPredicate;
  Value above = arith::CmpIOp::create(b, P::sge, x, indexConstant(b, low));
  Value below = arith::CmpIOp::create(b, P::slt, x, indexConstant(b, high));
  return arith::AndIOp::create(b, above, below);
}

Value frit::nn::wrapIndex(ImplicitLocOpBuilder &b, Value x, int64_t modulus) {
  Value m = indexConstant(b, modulus);
  Value rest = arith::RemSIOp::create(b, x, m);
  Value below = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, rest,
                                      indexConstant(b, 0));
  return arith::SelectOp::create(b, below, arith::AddIOp::create(b, rest, m),
                                 rest);
}

Value frit::nn::zeroOf(ImplicitLocOpBuilder &b, Type type) {
  return arith::ConstantOp::create(b, cast<TypedAttr>(b.getZeroAttr(type)));
}
