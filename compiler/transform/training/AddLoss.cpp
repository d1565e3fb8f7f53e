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
#include "compiler/transform/training/BuildLoss.h"
#include "compiler/transform/training/Training.h"

namespace frit {
#define GEN_PASS_DEF_ADDLOSS
#include "compiler/transform/Passes.h.inc"
} // namespace frit

using namespace mlir;
using namespace frit;
using namespace frit::nn;

namespace {
class AddLoss : public frit::impl::AddLossBase<AddLoss> {
public:
  AddLoss(const TrainingOptions &options, frit_function_role function)
      : options(options), function(function) {}

  void runOnOperation() override {
    main = getOperation().lookupSymbol<func::FuncOp>("main");
    if (failed(addParameters()) || failed(addLoss()))
      return signalPassFailure();
  }

private:
  bool trains() const { return function == FRIT_FUNCTION_TRAIN_STEP; }
  bool isParameter(ConstantOp constant) const;
  LogicalResult checkNames();
  void warnOfBuffers(ArrayRef<ConstantOp> parameters);
  LogicalResult addParameters();
  LogicalResult addLoss();
  bool isOverCalls() const;

  const TrainingOptions &options;
  frit_function_role function;
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
  for (auto [i, group] : llvm::enumerate(options.optimizer.groups))
    if (!check("optimizer.groups[" + std::to_string(i) + "].match",
               group.match))
      return failure();
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

/// Returns whether the loss is a mean over the items of several calls or ranks.
bool AddLoss::isOverCalls() const {
  return trains() && options.loss.mean == LossMean::all &&
         (options.accumulate > 1 || options.dataParallel.enabled);
}

LogicalResult AddLoss::addLoss() {
  auto prediction = findOutput(main, options.loss.output, "the loss is of");
  if (failed(prediction))
    return failure();
  Operation *terminator = main.getBody().front().getTerminator();
  NNBuilder b(main.getLoc(), terminator);
  auto built = buildLoss(b, main, options, trains(), *prediction);
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
                                          frit_function_role function) {
  return std::make_unique<AddLoss>(options, function);
}
