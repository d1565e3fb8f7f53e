//===- BuildLoss.cpp - The loss of a model's output -----------------------===//

#include "compiler/training/loss/BuildLoss.h"

#include "compiler/training/Arguments.h"
#include "compiler/training/Sums.h"
#include "compiler/training/Training.h"
#include "compiler/transform/Graph.h"
#include "dialects/nn/IndexRange.h"
#include "dialects/nn/training/Loss.h"

using namespace mlir;
using namespace frit;
using namespace frit::nn;

FailureOr<Value> frit::findOutput(func::FuncOp main, StringRef wanted,
                                  StringRef use) {
  Operation *terminator = main.getBody().front().getTerminator();
  std::string names;
  SmallVector<Value> outputs;
  for (unsigned i = 0; i < main.getNumResults(); ++i) {
    auto name = main.getResultAttrOfType<StringAttr>(i, "nn.name");
    if (!name)
      continue;
    outputs.push_back(terminator->getOperand(i));
    if (name == wanted)
      return outputs.back();
    names += (names.empty() ? "" : ", ") + name.str();
  }
  if (wanted.empty() && outputs.size() == 1)
    return outputs[0];
  if (wanted.empty())
    return emitError(main.getLoc(),
                     "the model has several outputs; set 'output' of "
                     "'loss' to one of: ")
           << names;
  return emitError(main.getLoc(), use)
         << " output '" << wanted
         << "', and the model's outputs are: " << names;
}

std::string frit::describeLoss(const LossOptions &loss) {
  return loss.name.empty() ? "the loss" : "the loss '" + loss.name + "'";
}

FailureOr<BlockArgument> LossBuilder::addTarget(Value prediction, Type element,
                                                ArrayRef<int64_t> shape) {
  auto type = RankedTensorType::get(shape, element);
  if (BlockArgument known = targets.lookup(loss->target)) {
    if (known.getType() == type)
      return known;
    return emitError(main.getLoc(), "'")
           << loss->target << "' is the target of two losses, of types "
           << known.getType() << " and " << type
           << "; choose another with 'target' of " << describeLoss(*loss);
  }
  for (unsigned i = 0; i < main.getNumArguments(); ++i)
    if (auto name = main.getArgAttrOfType<StringAttr>(i, "nn.name"))
      if (name == loss->target)
        return emitError(main.getLoc(), "the loss's target '")
               << loss->target
               << "' has the name of an input of the model; choose another "
                  "with 'target' of 'loss'";
  // After the model's inputs, before its weights.
  unsigned index = 0;
  while (index < main.getNumArguments() && main.getArgAttr(index, "nn.name"))
    ++index;
  BlockArgument added =
      insertArgument(main, index, type,
                     b.getNamedAttr("nn.name", b.getStringAttr(loss->target)),
                     prediction.getLoc());
  targets[loss->target] = added;
  return added;
}

/// Returns `x` as `rows` rows. A product that computes `x` is rebuilt on rows,
/// so that no view separates it from the loss.
static Value flattenRows(NNBuilder &b, Value x, int64_t rows) {
  ArrayRef<int64_t> shape = shapeOf(x);
  if (shape.size() == 2)
    return x;
  auto matmul = x.getDefiningOp<MatmulOp>();
  if (matmul && shapeOf(matmul.getB()).size() == 2 && !matmul.getTransposeA())
    return MatmulOp::create(
        b, b.reshape(matmul.getA(), {rows, shapeOf(matmul.getA()).back()}),
        matmul.getB(), false, matmul.getTransposeB(), matmul.getTf32());
  if (auto add = x.getDefiningOp<AddOp>())
    for (auto [whole, row] :
         {std::pair(add.getA(), add.getB()), std::pair(add.getB(), add.getA())})
      if (shapeOf(whole) == shape && shapeOf(row).size() == 1)
        return b.add(flattenRows(b, whole, rows), row);
  return b.reshape(x, {rows, shape.back()});
}

/// Returns the dimension of `from` that a reshape keeps as dimension `axis` of
/// `to`; none if it is split, merged or moved.
static std::optional<int64_t>
keptDimension(ArrayRef<int64_t> from, ArrayRef<int64_t> to, int64_t axis) {
  int64_t before = ShapedType::getNumElements(to.take_front(axis)), seen = 1;
  for (auto [dim, size] : llvm::enumerate(from)) {
    if (seen == before && size == to[axis])
      return dim;
    seen *= size;
  }
  return std::nullopt;
}

/// Looks from the model's end through reshapes and transpositions, along which
/// it follows dimension `axis`, if one is given, for an `Op`. If `accepts` the
/// dimension of the operator's result, returns its operand behind the same
/// views, otherwise `prediction`.
template <class Op>
static Value beforeLast(NNBuilder &b, Value prediction,
                        std::optional<int64_t> axis,
                        function_ref<bool(Op, int64_t)> accepts) {
  SmallVector<Operation *> views;
  Value end = prediction;
  while (isa_and_present<ReshapeOp, TransposeOp>(end.getDefiningOp())) {
    Operation *view = end.getDefiningOp();
    Value x = view->getOperand(0);
    if (axis) {
      auto transpose = dyn_cast<TransposeOp>(view);
      axis = transpose ? transpose.getPerm()[*axis]
                       : keptDimension(shapeOf(x), shapeOf(end), *axis);
      if (!axis)
        return prediction;
    }
    views.push_back(view);
    end = x;
  }
  auto last = end.getDefiningOp<Op>();
  if (!last || !accepts(last, axis.value_or(0)))
    return prediction;
  Value x = last.getX();
  for (Operation *view : llvm::reverse(views)) {
    auto transpose = dyn_cast<TransposeOp>(view);
    x = transpose ? TransposeOp::create(b, x, transpose.getPerm()).getY()
                  : b.reshape(x, shapeOf(view->getResult(0)));
  }
  return x;
}

/// Builds the loss that the model computes itself, a mean over all elements of
/// an output. It may be a mean over items that count, as the likelihood of
/// labels of which some are ignored.
FailureOr<Loss> LossBuilder::buildOwn(Value prediction) {
  auto meanOf = [&](Value x) {
    return sumAll(b, b.cast(x, b.getF32Type())) *
           (1. / tensorType(x).getNumElements());
  };
  Value counted;
  if (!loss->count.empty()) {
    auto found = findOutput(main, loss->count, "the loss's count is");
    if (failed(found))
      return failure();
    if (tensorType(*found).getNumElements() != 1)
      return emitError(main.getLoc(), "'")
             << loss->count << "', the loss's count, has shape "
             << shapeText(shapeOf(*found)) << " and must be one number";
    counted = *found;
  }
  auto mean = throughReshapes(prediction).getDefiningOp<DivOp>();
  Value loss = meanOf(prediction);
  if (!counted && mean && tensorType(mean.getY()).getNumElements() == 1 &&
      !dependsOnConstants(mean.getB()))
    if (auto most = mean->getAttrOfType<FloatAttr>(kMostItems))
      return Loss{loss, meanOf(mean.getA()), meanOf(mean.getB()),
                  most.getValueAsDouble()};
  if (!counted)
    return Loss{loss};
  Value count = meanOf(counted);
  // Per sample, so that gradients are about as large as those of the mean.
  double samples = 1;
  if (main.getNumArguments() && !shapeOf(main.getArgument(0)).empty())
    samples = shapeOf(main.getArgument(0))[0];
  return Loss{loss, b.mul(loss, count), count, samples};
}

/// Builds the mean over rows of logits whose label counts.
Loss LossBuilder::crossEntropy(TensorExpr logits, TensorExpr labels) {
  Value ignored =
      EqualOp::create(b, labels, b.scalarLike(labels, loss->ignoreIndex));
  TensorExpr counts(
      b, CastOp::create(b, NotOp::create(b, ignored), b.getF32Type()));
  if (!loss->classWeights.empty())
    return weightedCrossEntropy(logits, labels, counts);
  Value losses = CrossEntropyOp::create(
      b, logits, labels,
      b.getIntegerAttr(b.getIntegerType(64, /*isSigned=*/true),
                       loss->ignoreIndex),
      b.getF32FloatAttr(loss->labelSmoothing));
  TensorExpr count = sumAll(b, counts), sum = sumAll(b, losses);
  // The gradient has the same factor, and does not wait for the losses.
  TensorExpr atLeastOne(b, MaxOp::create(b, count, count.number(1)));
  return Loss{sum * (1.0 / atLeastOne), sum, count, double(shapeOf(labels)[0])};
}

/// Builds torch.nn.CrossEntropyLoss(weight=…): a row counts with the weight of
/// its label. What smoothing gives to each class counts with that class's.
Loss LossBuilder::weightedCrossEntropy(TensorExpr logits, TensorExpr labels,
                                       TensorExpr counts) {
  int64_t rows = shapeOf(logits)[0], classes = shapeOf(logits)[1];
  SmallVector<float> values(loss->classWeights.begin(),
                            loss->classWeights.end());
  auto type = RankedTensorType::get({classes}, b.getF32Type());
  TensorExpr weights(
      b, ConstantOp::create(b, DenseElementsAttr::get(type, ArrayRef(values)),
                            StringAttr()));
  TensorExpr column(b, b.cast(b.iota({rows, classes}, 1), b.getI64Type()));
  TensorExpr label(b, b.reshape(labels, {rows, 1}));
  TensorExpr isLabel = equal(column, label);
  TensorExpr logs(
      b, LogSoftmaxOp::create(b, b.cast(logits, b.getF32Type()), 1).getY());
  double smoothing = loss->labelSmoothing;
  // Rows' weights, and what each class adds to a row's loss.
  TensorExpr ofLabel = where(isLabel, weights, 0.0);
  TensorExpr parts = ofLabel * (1 - smoothing);
  if (smoothing > 0)
    parts = parts + weights * (smoothing / double(classes));
  auto sumRows = [&](TensorExpr x) {
    return TensorExpr(b, b.reshape(b.reduce(x, Combiner::sum, 1), {rows}));
  };
  TensorExpr sum = sumAll(b, sumRows(parts * -logs) * counts);
  TensorExpr count = sumAll(b, sumRows(ofLabel) * counts);
  TensorExpr some(b, MaxOp::create(b, count, count.number(1e-20)));
  double most = rows * std::max(*llvm::max_element(values), 1e-20f);
  return Loss{sum * (1.0 / some), sum, count, most};
}

FailureOr<Loss> LossBuilder::build(const LossOptions &built, Value prediction) {
  loss = &built;
  auto type = tensorType(prediction);
  if (!isFloat(prediction))
    return emitError(main.getLoc(), describeLoss(*loss))
           << " needs an output of floats, not " << type;
  if (loss->kind == LossKind::output)
    return buildOwn(prediction);
  // A model that ends with sigmoid trains on what sigmoid reads.
  if (loss->kind == LossKind::bceWithLogits)
    prediction = beforeLast<SigmoidOp>(b, prediction, std::nullopt,
                                       [](SigmoidOp, int64_t) { return true; });
  if (loss->kind != LossKind::crossEntropy) {
    auto target = addTarget(prediction, b.getF32Type(), type.getShape());
    if (failed(target))
      return failure();
    Value x = b.cast(prediction, b.getF32Type());
    bool isBce = loss->kind == LossKind::bceWithLogits;
    Value losses = isBce ? BceWithLogitsOp::create(b, x, *target).getY()
                         : SquaredErrorOp::create(b, x, *target).getY();
    TensorExpr each(b, losses);
    return Loss{sumAll(b, each) * (1. / type.getNumElements())};
  }
  return buildCrossEntropy(prediction);
}

FailureOr<Loss> LossBuilder::buildCrossEntropy(Value prediction) {
  auto type = tensorType(prediction);
  int64_t rank = type.getRank(), axis = loss->axis;
  if (rank < 2 || axis < -rank || axis >= rank)
    return emitError(main.getLoc(), "the loss's output has shape ")
           << shapeText(type.getShape())
           << "; cross-entropy needs rows of classes along 'axis' " << axis;
  axis += axis < 0 ? rank : 0;
  // So does one that ends with a softmax along the classes.
  prediction = beforeLast<SoftmaxOp>(
      b, prediction, axis, [](SoftmaxOp softmax, int64_t dim) {
        return axisOf(softmax.getX(), softmax.getAxis()) == dim;
      });
  // Rows of classes: the classes become the last dimension.
  SmallVector<int64_t> order;
  for (int64_t dim = 0; dim < rank; ++dim)
    if (dim != axis)
      order.push_back(dim);
  SmallVector<int64_t> shape;
  for (int64_t dim : order)
    shape.push_back(type.getDimSize(dim));
  auto labels = addTarget(prediction, b.getI64Type(), shape);
  if (failed(labels))
    return failure();
  int64_t classes = type.getDimSize(axis);
  size_t weights = loss->classWeights.size();
  if (weights && int64_t(weights) != classes)
    return emitError(locationOf(options, main), "'loss.class_weights': it has ")
           << weights << " numbers, and the model has " << classes
           << " classes";
  IndexRange range =
      wholeRange(shape, 0, classes - 1,
                 "the model has " + std::to_string(classes) + " classes");
  range.other = loss->ignoreIndex;
  main.setArgAttr(labels->getArgNumber(), "nn.indices",
                  indicesAttr(*b.getContext(), range));
  order.push_back(axis);
  if (axis != rank - 1)
    prediction = TransposeOp::create(b, prediction, order);
  int64_t rows = type.getNumElements() / type.getDimSize(axis);
  Value logits = trains ? flattenRows(b, prediction, rows)
                        : b.reshape(prediction, {rows, type.getDimSize(axis)});
  Value flat = b.reshape(*labels, {rows});
  return crossEntropy({b, logits}, {b, flat});
}
