//===- Float8Bounds.cpp - What numbers of a row cannot exceed -------------===//

#include "compiler/transform/quantize/Float8Bounds.h"

using namespace mlir;
using namespace frit;
using namespace frit::nn;

/// The largest numbers of e4m3 and e5m2.
static constexpr double kMostE4M3 = 448, kMostE5M2 = 57344;
/// The most by which rounding to codes and to bf16 makes a sum larger.
static constexpr double kRoundingBound = 1.2;
/// The largest slope of GELU.
static constexpr double kGeluSlopeBound = 1.13;

/// Returns the operand whose bound an operator passes on, or null.
static Value boundedOperand(Operation *op) {
  if (auto gelu = dyn_cast_or_null<GeluOp>(op))
    return gelu.getX();
  if (auto grad = dyn_cast_or_null<GeluGradOp>(op))
    return grad.getDy();
  // A bias has a number for each column.
  if (auto add = dyn_cast_or_null<AddOp>(op)) {
    if (tensorType(add.getB()).getRank() == 1)
      return add.getA();
    if (tensorType(add.getA()).getRank() == 1)
      return add.getB();
  }
  return {};
}

/// Returns whether it is a function of sums: a GELU or its gradient. Others
/// have cheaper scales.
bool Float8Bounds::isBounded(Value value) const {
  Operation *op = throughReshapes(value).getDefiningOp();
  if (!isa_and_nonnull<GeluOp, GeluGradOp>(op))
    return false;
  Value from = value;
  while (Value next = boundedOperand(throughReshapes(from).getDefiningOp()))
    from = next;
  return products.contains(throughReshapes(from));
}

/// Returns a value as a matrix of its rows, or null if an operator is none of
/// rows alone.
Value Float8Bounds::matrixOf(Value value) {
  ArrayRef<int64_t> shape = shapeOf(value);
  if (shape.size() == 2)
    return value;
  if (auto view = value.getDefiningOp<ReshapeOp>())
    return shapeOf(view.getX()).size() == 2 &&
                   shapeOf(view.getX()).back() == shape.back()
               ? view.getX()
               : Value();
  auto op = value.getDefiningOp<ElementwiseOp>();
  if (!op)
    return {};
  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
    bool isWhole = shapeOf(operand) == shape;
    if (!isWhole && tensorType(operand).getRank() > 1)
      return {};
    operands.push_back(isWhole ? matrixOf(operand) : operand);
    if (!operands.back())
      return {};
  }
  NNBuilder b(op.getLoc(), op.getOperation());
  Operation *flat = b.clone(*op);
  flat->setOperands(operands);
  auto type = tensorType(value);
  int64_t columns = shape.back();
  flat->getResult(0).setType(
      type.clone({type.getNumElements() / columns, columns}));
  value.replaceAllUsesWith(b.reshape(flat->getResult(0), shape));
  op->erase();
  return flat->getResult(0);
}

Value Float8Bounds::flatten(Value value) {
  if (!isBounded(value))
    return value;
  Value matrix = matrixOf(value);
  return matrix ? matrix : value;
}

Value frit::shareGeluSlope(Value gradient) {
  auto gelu = gradient.getDefiningOp<GeluGradOp>();
  if (!gelu || gelu.getApproximate() != "tanh")
    return gradient;
  NNBuilder after(gelu.getLoc(), gelu.getContext());
  after.setInsertionPointAfterValue(gelu.getX());
  Value slope = GeluSlopeOp::create(after, gelu.getX(), gelu.getApproximate());
  NNBuilder b(gelu.getLoc(), gelu);
  Value product = b.mul(gelu.getDy(), slope);
  gelu.getY().replaceAllUsesWith(product);
  gelu.erase();
  return product;
}

/// Builds the bound of sums of codes. The norm of a row is that of the numbers,
/// or the largest number of all; that of a column of codes that of the largest
/// code.
Value Float8Bounds::boundSums(NNBuilder &b, const Sums &sums) {
  int64_t depth = shapeOf(sums.rows).back();
  int64_t rows = tensorType(sums.scale).getNumElements();
  double norm = kRoundingBound * kMostE4M3 * std::sqrt(double(depth));
  NNBuilder after(b.getLoc(), b.getContext());
  after.setInsertionPointAfterValue(sums.factors ? sums.rows : sums.scale);
  if (!sums.factors) {
    norm *= kMostE5M2 * std::sqrt(double(depth));
    Value bound = after.mul(sums.scale, after.scalarLike(sums.scale, norm));
    return after.reshape(bound, {rows, 1});
  }
  Value squares = after.mul(sums.rows, sums.rows);
  Value bound =
      SqrtOp::create(after, after.reduce(squares, Combiner::sum,
                                         tensorType(squares).getRank() - 1));
  bound = after.mul(bound, after.scalarLike(bound, norm));
  bound = after.reshape(bound, {rows, 1});
  Value most = b.reduce(sums.factors, Combiner::max, {0, 1});
  return b.mul(bound, b.reshape(most, {}));
}

Value Float8Bounds::build(NNBuilder &b, Value matrix) {
  if (auto known = products.find(matrix); known != products.end())
    return boundSums(b, known->second);
  Operation *op = matrix.getDefiningOp();
  Value operand = boundedOperand(op);
  Value bound = build(b, operand);
  if (isa<GeluGradOp>(op))
    return b.mul(bound, b.scalarLike(bound, kGeluSlopeBound));
  auto add = dyn_cast<AddOp>(op);
  if (!add)
    return bound;
  Value bias = add.getA() == operand ? add.getB() : add.getA();
  bias = AbsOp::create(b, b.cast(bias, b.getF32Type()));
  bias = b.reshape(b.reduce(bias, Combiner::max, 0), {});
  return b.add(bound, bias);
}

Value Float8Bounds::ofRows(NNBuilder &b, Value matrix) {
  if (tensorType(matrix).getRank() != 2 || !isBounded(matrix))
    return {};
  return build(b, matrix);
}
