//===- Loss.cpp - Losses --------------------------------------------------===//
//
// Computed in f32 (f64 for f64): inputs are cast once, and the result once.
//
//===----------------------------------------------------------------------===//

#include "dialects/nn/training/Loss.h"

#include <limits>

using namespace mlir;
using namespace frit::nn;

#define GET_OP_CLASSES
#include "dialects/nn/Loss.cpp.inc"

/// Checks the operands and attributes that a cross-entropy and its gradient
/// share.
template <typename Adaptor>
static LogicalResult checkCrossEntropy(Adaptor op,
                                       std::optional<Location> loc) {
  ArrayRef<int64_t> x = shapeOf(op.getX()), labels = shapeOf(op.getLabels());
  if (x.size() != 2 || x[1] == 0 || labels.size() != 1 ||
      !mayEqual(x[0], labels[0]))
    return emitOptionalError(loc, "logits of shape ", shapeText(x),
                             " and labels of shape ", shapeText(labels),
                             " are not rows of classes and a label per row");
  double smoothing = op.getLabelSmoothing().convertToDouble();
  if (!(smoothing >= 0 && smoothing <= 1))
    return emitOptionalError(loc, "label_smoothing is ", smoothing,
                             ", not from 0 to 1");
  return success();
}

FailureOr<RankedTensorType> CrossEntropyOp::infer(Adaptor op,
                                                  std::optional<Location> loc) {
  if (failed(checkCrossEntropy(op, loc)))
    return failure();
  auto type = tensorType(op.getX());
  return makeType(loc, shapeOf(op.getLabels()),
                  workType(type.getElementType()));
}

FailureOr<RankedTensorType>
CrossEntropyGradOp::infer(Adaptor op, std::optional<Location> loc) {
  if (failed(checkCrossEntropy(op, loc)))
    return failure();
  ArrayRef<int64_t> labels = shapeOf(op.getLabels()), dy = shapeOf(op.getDy());
  if (dy.size() != 1 || !mayEqual(dy[0], labels[0]))
    return emitOptionalError(loc, "dy has shape ", shapeText(dy), " for ",
                             labels[0], " rows");
  return tensorType(op.getX());
}

namespace {
/// Builds the parts of a cross-entropy and its gradient, for rows×classes.
struct CrossEntropyParts {
  template <typename Op> CrossEntropyParts(Op op, NNBuilder &b);

  TensorExpr wide;               ///< x in the type of the result
  TensorExpr max;                ///< the row's maximum
  TensorExpr z;                  ///< x minus it
  TensorExpr e, sum;             ///< exp(z), and its sums over rows
  TensorExpr isLabel;            ///< whether a column is the row's label
  TensorExpr isIgnored, isClass; ///< by row
  double atLabel, elsewhere;     ///< the target
};
} // namespace

static TensorExpr labelColumn(NNBuilder &b, Value labels) {
  return {b, b.reshape(labels, {shapeOf(labels)[0], 1})};
}

template <typename Op>
CrossEntropyParts::CrossEntropyParts(Op op, NNBuilder &b)
    : wide(widened(b, op.getX())), max(b, b.reduce(wide, Combiner::max, 1)),
      z(wide - max), e(exp(z)), sum(b, b.reduce(e, Combiner::sum, 1)),
      isLabel(equal(TensorExpr(b, b.iota({1, shapeOf(op.getX())[1]}, 1)),
                    labelColumn(b, op.getLabels()))),
      isIgnored(equal(labelColumn(b, op.getLabels()),
                      TensorExpr(b, b.integer(op.getIgnoreIndex())))),
      isClass((labelColumn(b, op.getLabels()) >= 0) &
              (labelColumn(b, op.getLabels()) <
               TensorExpr(b, b.integer(shapeOf(op.getX())[1])))) {
  double smoothing = op.getLabelSmoothing().convertToDouble();
  elsewhere = smoothing / shapeOf(op.getX())[1];
  atLabel = 1 - smoothing + elsewhere;
}

static constexpr double kNoLoss = std::numeric_limits<double>::quiet_NaN();

/// The targets sum to 1, so the loss is log Σ e - Σ target · z.
SmallVector<Value> CrossEntropyOp::decompose(NNBuilder &b) {
  CrossEntropyParts row(*this, b);
  // Without smoothing, the sum has one term: the label's.
  auto atLabel = [&] {
    TensorExpr label = labelColumn(b, getLabels());
    return widened(b, GatherElementsOp::create(b, getX(), label, 1)) - row.max;
  };
  auto alongTarget = [&] {
    TensorExpr part = row.z * where(row.isLabel, row.z.number(row.atLabel),
                                    row.z.number(row.elsewhere));
    return TensorExpr(b, b.reduce(part, Combiner::sum, 1));
  };
  TensorExpr loss =
      log(row.sum) - (row.elsewhere == 0 ? atLabel() : alongTarget());
  loss = where(row.isIgnored, 0.0, where(row.isClass, loss, kNoLoss));
  return {b.reshape(loss, shapeOf(getY()))};
}

SmallVector<Value> CrossEntropyGradOp::decompose(NNBuilder &b) {
  CrossEntropyParts row(*this, b);
  TensorExpr dy(b, b.cast(b.reshape(getDy(), {shapeOf(getDy())[0], 1}),
                          tensorType(row.z).getElementType()));
  dy = where(row.isClass, dy, kNoLoss);
  // Products of dy with what a row shares leave one multiplication per element.
  TensorExpr target = where(row.isLabel, dy * row.atLabel, dy * row.elsewhere);
  TensorExpr dx = row.e * (dy / row.sum) - target;
  dx = where(row.isIgnored, 0.0, dx);
  return {b.cast(dx, tensorType(getDx()).getElementType())};
}

/// The slopes of a row's (softmax(x) - target) · dy. A row that is ignored has
/// none, although its label is no class.
SmallVector<Value> CrossEntropyGradOp::buildVjp(NNBuilder &b, Value g) {
  CrossEntropyParts row(*this, b);
  TensorExpr slope = widened(b, g), softmax = row.e / row.sum;
  auto along = [&](TensorExpr x) {
    TensorExpr sum(b, b.reduce(x * slope, Combiner::sum, 1));
    return where(row.isIgnored, 0.0, where(row.isClass, sum, kNoLoss));
  };
  TensorExpr target = where(row.isLabel, row.z.number(row.atLabel),
                            row.z.number(row.elsewhere));
  TensorExpr dy(b, b.cast(b.reshape(getDy(), {shapeOf(getDy())[0], 1}),
                          tensorType(row.z).getElementType()));
  TensorExpr dx =
      softmax * (slope - along(softmax)) * where(row.isIgnored, 0.0, dy);
  return {b.cast(dx, tensorType(getX()).getElementType()), Value(),
          b.cast(b.reshape(along(softmax - target), shapeOf(getDy())),
                 tensorType(getDy()).getElementType())};
}
