//===- AddLoss.cpp - From a model to the loss that it trains by -----------===//
//
//   func.func @main(%x {nn.name = "x"}) -> (tensor<8x10xf32> {nn.name = "y"}) {
//     %w = nn.constant "fc.weight" dense_resource<…> : tensor<64x10xf32>
//     %y = nn.matmul %x, %w
//     return %y
// ==>
//   func.func @main(%x {nn.name = "x"}, %labels {nn.name = "labels"},
//                   %w {nn.parameter = "fc.weight", nn.initial = dense_…})
//       -> (tensor<f32> {nn.name = "loss"}) {
//     %y = nn.matmul %x, %w
//     %rows = nn.cross_entropy %y, %labels
//     %loss = … the mean of %rows
//     return %loss
//
// Weights that train become arguments, so that no pass folds them. For
// evaluation the model's outputs follow the loss, and `loss_count`, if data
// decide how many items the loss is the mean over. For training only the
// outputs of rank 0 do, the model's metrics. Results that TrainingMode added
// stay last.
//
// If such a mean is over several calls or ranks, the loss is divided by all
// items instead, and a result with the attribute `nn.share` says which part of
// them counts. AddOptimizer divides by it.
//
//===----------------------------------------------------------------------===//

#include "compiler/transform/Graph.h"
#include "compiler/transform/Names.h"
#include "compiler/transform/Passes.h"
#include "compiler/transform/training/Arguments.h"
#include "compiler/transform/training/BufferValues.h"
#include "compiler/transform/training/Sums.h"
#include "compiler/transform/training/Training.h"
#include "dialects/nn/IndexRange.h"
#include "dialects/nn/operators/Loss.h"

namespace frit {
#define GEN_PASS_DEF_ADDLOSS
#include "compiler/transform/Passes.h.inc"
} // namespace frit

using namespace mlir;
using namespace frit;
using namespace frit::nn;

namespace {
/// A loss. If data decide how many items it is the mean over, these have a
/// `sum` and a `count`, which is at most `most`.
struct Loss {
  Value mean, sum, count;
  double most = 1;
};

class AddLoss : public frit::impl::AddLossBase<AddLoss> {
public:
  AddLoss(const TrainingOptions &options, TrainingFunction function)
      : options(options), function(function) {}

  void runOnOperation() override {
    main = getOperation().lookupSymbol<func::FuncOp>("main");
    if (failed(addParameters()) || failed(addLoss()))
      return signalPassFailure();
  }

private:
  bool trains() const { return function == TrainingFunction::trainStep; }
  bool isParameter(ConstantOp constant) const;
  LogicalResult checkNames();
  void warnOfBuffers(ArrayRef<ConstantOp> parameters);
  LogicalResult addParameters();
  LogicalResult addLoss();
  FailureOr<Value> findOutput(StringRef wanted, StringRef use);
  FailureOr<Loss> buildLoss(NNBuilder &b, Value prediction);
  FailureOr<Loss> buildOwnLoss(NNBuilder &b, Value prediction);
  bool isOverCalls() const;
  FailureOr<BlockArgument> addTarget(Value prediction, Type element,
                                     ArrayRef<int64_t> shape);

  const TrainingOptions &options;
  TrainingFunction function;
  func::FuncOp main;
};
} // namespace

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

bool AddLoss::isParameter(ConstantOp constant) const {
  StringAttr name = constant.getNameAttr();
  if (!name || !isFloat(constant) || constant->hasAttr(kFrozen) ||
      matchesAny(options.freeze, name))
    return false;
  if (!options.train.empty())
    return matchesAny(options.train, name);
  if (auto trains = constant->getAttrOfType<BoolAttr>("nn.trains"))
    return trains.getValue();
  return tensorType(constant).getRank() > 0;
}

Location frit::locationOf(const TrainingOptions &options, Operation *main) {
  return options.file.empty()
             ? main->getLoc()
             : Location(FileLineColLoc::get(main->getContext(), options.file,
                                            /*line=*/0, /*column=*/0));
}

/// Checks that every pattern matches some weight: a misspelt one would freeze
/// nothing. For patterns of weights without decay, only warns, since they may
/// be written for many models.
LogicalResult AddLoss::checkNames() {
  SmallVector<StringRef> names;
  for (auto constant : main.getBody().front().getOps<ConstantOp>())
    if (constant.getName())
      names.push_back(*constant.getName());
  for (unsigned i = 0; i < main.getNumArguments(); ++i)
    if (auto statistic = main.getArgAttrOfType<StringAttr>(i, "nn.statistic"))
      names.push_back(statistic);
  auto check = [&](StringRef key, ArrayRef<std::string> patterns) {
    return checkPatterns(patterns, names, "weight", "", [&] {
      return emitError(locationOf(options, main)) << "'" << key << "': ";
    });
  };
  if (trains())
    for (const std::string &pattern : options.optimizer.noDecay)
      checkPatterns(pattern, names, "weight", " [-Wpattern]", [&] {
        return emitWarning(locationOf(options, main))
               << "'optimizer.no_decay': ";
      });
  return success(check("train", options.train) &&
                 check("freeze", options.freeze));
}

/// Warns of weights that train by default but look like buffers.
void AddLoss::warnOfBuffers(ArrayRef<ConstantOp> parameters) {
  if (!trains() || !options.train.empty())
    return;
  constexpr size_t kMostNames = 4;
  SmallVector<StringRef> names;
  for (ConstantOp parameter : parameters)
    if ((!parameter->hasAttr("nn.trains") ||
         parameter->hasAttr("nn.presumed")) &&
        looksLikeBuffer(parameter))
      names.push_back(*parameter.getName());
  if (names.empty())
    return;
  InFlightDiagnostic message =
      emitWarning(main.getLoc(), "weights train that look like buffers: ");
  llvm::interleaveComma(ArrayRef(names).take_front(kMostNames), message,
                        [&](StringRef name) { message << "'" << name << "'"; });
  if (names.size() > kMostNames)
    message << " and " << names.size() - kMostNames << " more";
  message << ". The file does not say which weights are parameters: name those "
             "that are none in 'freeze' [-Wbuffer]";
}

LogicalResult AddLoss::addParameters() {
  if (failed(checkNames()))
    return failure();
  Block &block = main.getBody().front();
  SmallVector<ConstantOp> parameters;
  for (auto constant : block.getOps<ConstantOp>()) {
    if (!isParameter(constant))
      continue;
    if (!tensorType(constant).getElementType().isF32())
      return emitError(constant.getLoc(), "weight '")
             << *constant.getName() << "' has type "
             << tensorType(constant).getElementType()
             << "; weights that train must be f32: export the model in f32 and "
                "choose 16 bits with -fprecision";
    parameters.push_back(constant);
  }
  warnOfBuffers(parameters);
  replaceByArguments(main, parameters, "nn.parameter");
  if (!parameters.empty())
    return success();
  return emitError(main.getLoc(), "no weight trains: ")
         << (options.train.empty()
                 ? "the model has no named float weights that 'freeze' "
                   "leaves"
                 : "no weight's name matches the patterns of 'train'");
}

//===----------------------------------------------------------------------===//
// The loss
//===----------------------------------------------------------------------===//

/// Finds the output that the options name `wanted`; "" is the only one. `use`
/// says in messages what it is for.
FailureOr<Value> AddLoss::findOutput(StringRef wanted, StringRef use) {
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

FailureOr<BlockArgument> AddLoss::addTarget(Value prediction, Type element,
                                            ArrayRef<int64_t> shape) {
  Builder b(&getContext());
  for (unsigned i = 0; i < main.getNumArguments(); ++i)
    if (auto name = main.getArgAttrOfType<StringAttr>(i, "nn.name"))
      if (name == options.loss.target)
        return emitError(main.getLoc(), "the loss's target '")
               << options.loss.target
               << "' has the name of an input of the model; choose another "
                  "with 'target' of 'loss'";
  // After the model's inputs, before its weights.
  unsigned index = 0;
  while (index < main.getNumArguments() && main.getArgAttr(index, "nn.name"))
    ++index;
  return insertArgument(
      main, index, RankedTensorType::get(shape, element),
      b.getNamedAttr("nn.name", b.getStringAttr(options.loss.target)),
      prediction.getLoc());
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
FailureOr<Loss> AddLoss::buildOwnLoss(NNBuilder &b, Value prediction) {
  auto meanOf = [&](Value x) {
    return sumAll(b, b.cast(x, b.getF32Type())) *
           (1. / tensorType(x).getNumElements());
  };
  Value counted;
  if (!options.loss.count.empty()) {
    auto found = findOutput(options.loss.count, "the loss's count is");
    if (failed(found))
      return failure();
    if (tensorType(*found).getNumElements() != 1)
      return emitError(main.getLoc(), "'")
             << options.loss.count << "', the loss's count, has shape "
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

FailureOr<Loss> AddLoss::buildLoss(NNBuilder &b, Value prediction) {
  auto type = tensorType(prediction);
  if (!isFloat(prediction))
    return emitError(main.getLoc(), "the loss needs an output of floats, not ")
           << type;
  if (options.loss.kind == LossKind::output)
    return buildOwnLoss(b, prediction);
  // A model that ends with sigmoid trains on what sigmoid reads.
  if (options.loss.kind == LossKind::bceWithLogits)
    prediction = beforeLast<SigmoidOp>(b, prediction, std::nullopt,
                                       [](SigmoidOp, int64_t) { return true; });
  if (options.loss.kind != LossKind::crossEntropy) {
    auto target = addTarget(prediction, b.getF32Type(), type.getShape());
    if (failed(target))
      return failure();
    Value x = b.cast(prediction, b.getF32Type());
    bool isBce = options.loss.kind == LossKind::bceWithLogits;
    Value losses = isBce ? BceWithLogitsOp::create(b, x, *target).getY()
                         : SquaredErrorOp::create(b, x, *target).getY();
    TensorExpr each(b, losses);
    return Loss{sumAll(b, each) * (1. / type.getNumElements())};
  }

  int64_t rank = type.getRank(), axis = options.loss.axis;
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
  IndexRange range =
      wholeRange(shape, 0, classes - 1,
                 "the model has " + std::to_string(classes) + " classes");
  range.other = options.loss.ignoreIndex;
  main.setArgAttr(labels->getArgNumber(), "nn.indices",
                  indicesAttr(getContext(), range));
  order.push_back(axis);
  if (axis != rank - 1)
    prediction = TransposeOp::create(b, prediction, order);
  int64_t rows = type.getNumElements() / type.getDimSize(axis);
  Value logits = trains()
                     ? flattenRows(b, prediction, rows)
                     : b.reshape(prediction, {rows, type.getDimSize(axis)});
  Value flat = b.reshape(*labels, {rows});
  Value losses = CrossEntropyOp::create(
      b, logits, flat,
      b.getIntegerAttr(b.getIntegerType(64, /*isSigned=*/true),
                       options.loss.ignoreIndex),
      b.getF32FloatAttr(options.loss.labelSmoothing));
  Value ignored =
      EqualOp::create(b, flat, b.scalarLike(flat, options.loss.ignoreIndex));
  Value counts = CastOp::create(b, NotOp::create(b, ignored), b.getF32Type());
  TensorExpr count = sumAll(b, counts), sum = sumAll(b, losses);
  // The gradient has the same factor, and does not wait for the losses.
  TensorExpr atLeastOne(b, MaxOp::create(b, count, count.number(1)));
  return Loss{sum * (1.0 / atLeastOne), sum, count, double(rows)};
}

/// Returns whether the loss is a mean over the items of several calls or ranks.
bool AddLoss::isOverCalls() const {
  return trains() && options.loss.mean == LossMean::all &&
         (options.accumulate > 1 || options.dataParallel.enabled);
}

LogicalResult AddLoss::addLoss() {
  auto prediction = findOutput(options.loss.output, "the loss is of");
  if (failed(prediction))
    return failure();
  Operation *terminator = main.getBody().front().getTerminator();
  NNBuilder b(main.getLoc(), terminator);
  auto built = buildLoss(b, *prediction);
  if (failed(built))
    return failure();
  Value loss = built->mean;
  SmallVector<Value> added;
  SmallVector<NamedAttribute> kinds;
  if (built->count && isOverCalls()) {
    double most = built->most;
    loss = TensorExpr(b, built->sum) * (1 / most);
    added.push_back(TensorExpr(b, built->count) * (1 / most));
    kinds.push_back(b.getNamedAttr(kShare, b.getUnitAttr()));
  } else if (built->count && !trains()) {
    added.push_back(built->count);
    kinds.push_back(b.getNamedAttr("nn.name", b.getStringAttr(kLossCount)));
  }

  SmallVector<Value> results = {loss};
  SmallVector<DictionaryAttr> attributes = {
      b.getDictionaryAttr(b.getNamedAttr("nn.name", b.getStringAttr("loss")))};
  auto addOutputs = [&] {
    for (auto [value, kind] : llvm::zip_equal(added, kinds)) {
      results.push_back(value);
      attributes.push_back(b.getDictionaryAttr(kind));
    }
    added.clear();
    kinds.clear();
  };
  for (unsigned i = 0; i < main.getNumResults(); ++i) {
    auto name = main.getResultAttrOfType<StringAttr>(i, "nn.name");
    Value output = terminator->getOperand(i);
    bool isLoss =
        options.loss.kind == LossKind::output && output == *prediction;
    if (name && trains() && (isLoss || !shapeOf(output).empty()))
      continue;
    if (name && name == "loss") {
      // The output is that loss, or its elements are what the loss averages.
      if (isLoss)
        continue;
      return emitError(main.getLoc(),
                       "the model has an output 'loss', as the training "
                       "step's loss is called; give it another name");
    }
    if (name && (name == kLossCount || name == "gradient_norm"))
      return emitError(main.getLoc(), "the model has an output '")
             << name.getValue()
             << "', as one of the training step is called; give it another "
                "name";
    if (!name)
      addOutputs();
    results.push_back(output);
    attributes.push_back(main.getResultAttrDict(i));
  }
  addOutputs();
  terminator->setOperands(results);
  main.setType(b.getFunctionType(main.getArgumentTypes(),
                                 TypeRange(ValueRange(results))));
  main.setAllResultAttrs(attributes);
  eraseDead(main.getBody().front());
  return success();
}

std::unique_ptr<Pass> frit::createAddLoss(const TrainingOptions &options,
                                          TrainingFunction function) {
  return std::make_unique<AddLoss>(options, function);
}
