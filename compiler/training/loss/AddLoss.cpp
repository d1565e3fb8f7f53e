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
// Several losses are added; the mean of each follows the sum, under its name.
//
// If such a mean is over several calls or ranks, the loss is divided by all
// items instead, and a result with the attribute `nn.share` says which part of
// them counts. AddOptimizer divides by it.
//
//===----------------------------------------------------------------------===//

#include "compiler/training/Arguments.h"
#include "compiler/training/Passes.h"
#include "compiler/training/Training.h"
#include "compiler/training/loss/BufferValues.h"
#include "compiler/training/loss/BuildLoss.h"
#include "compiler/transform/Graph.h"
#include "compiler/transform/Names.h"

namespace frit {
#define GEN_PASS_DEF_ADDLOSS
#include "compiler/training/Passes.h.inc"
} // namespace frit

using namespace mlir;
using namespace frit;
using namespace frit::nn;

namespace {
/// A step's loss, and the results that come with it.
struct StepLoss {
  Value loss;
  /// Outputs of the model that are losses.
  SmallVector<Value> outputs;
  /// The means that have names, and the share or count of items.
  SmallVector<std::pair<Value, NamedAttribute>> named, counts;
};

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
  bool isLossName(StringRef name) const;
  LogicalResult checkName(StringAttr output);
  bool isOverCalls(const LossOptions &loss) const;
  FailureOr<StepLoss> buildLosses(NNBuilder &b);

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
bool AddLoss::isOverCalls(const LossOptions &loss) const {
  return trains() && loss.mean == LossMean::all &&
         (options.accumulate > 1 || options.dataParallel.enabled);
}

FailureOr<StepLoss> AddLoss::buildLosses(NNBuilder &b) {
  LossBuilder builder(b, main, options, trains());
  StepLoss step;
  bool isSum = options.losses.size() > 1;
  auto nameOf = [&](StringRef name) {
    return b.getNamedAttr("nn.name", b.getStringAttr(name));
  };
  for (const LossOptions &loss : options.losses) {
    std::string what = describeLoss(loss);
    auto output = findOutput(main, loss.output, what + " is of");
    if (failed(output))
      return failure();
    auto built = builder.build(loss, *output);
    if (failed(built))
      return failure();
    if (loss.kind == LossKind::output)
      step.outputs.push_back(*output);
    TensorExpr mean(b, built->mean);
    if (built->count && isOverCalls(loss)) {
      if (isSum)
        return emitError(locationOf(options, main), what)
               << " is a mean over as many items as data decide, of all calls "
                  "or ranks; beside other losses it is one of each call: set "
                  "its 'mean' to 'call'";
      double most = built->most;
      mean = TensorExpr(b, built->sum) * (1 / most);
      step.counts.push_back({TensorExpr(b, built->count) * (1 / most),
                             b.getNamedAttr(kShare, b.getUnitAttr())});
    } else if (built->count && !trains() && !isSum) {
      step.counts.push_back({built->count, nameOf(kLossCount)});
    }
    if (!loss.name.empty())
      step.named.push_back({mean, nameOf(loss.name)});
    if (loss.weight != 1)
      mean = mean * loss.weight;
    step.loss = step.loss ? TensorExpr(b, step.loss) + mean : mean;
  }
  return step;
}

/// Returns whether the step's loss, or one of several, has this name.
bool AddLoss::isLossName(StringRef name) const {
  return name == "loss" ||
         llvm::any_of(options.losses, [&](const LossOptions &loss) {
           return name == loss.name;
         });
}

/// Checks that the name of a model's output is not that of a result of the
/// step.
LogicalResult AddLoss::checkName(StringAttr output) {
  if (output == "loss")
    return emitError(main.getLoc(),
                     "the model has an output 'loss', as the training "
                     "step's loss is called; give it another name");
  if (output == kLossCount || output == "gradient_norm" || isLossName(output))
    return emitError(main.getLoc(), "the model has an output '")
           << output.getValue()
           << "', as one of the training step is called; give it another name";
  return success();
}

LogicalResult AddLoss::addLoss() {
  Operation *terminator = main.getBody().front().getTerminator();
  NNBuilder b(main.getLoc(), terminator);
  auto step = buildLosses(b);
  if (failed(step))
    return failure();
  SmallVector<Value> results;
  SmallVector<DictionaryAttr> attributes;
  auto add = [&](Value value, NamedAttribute kind) {
    results.push_back(value);
    attributes.push_back(b.getDictionaryAttr(kind));
  };
  auto addCounts = [&] {
    for (auto [value, kind] : step->counts)
      add(value, kind);
    step->counts.clear();
  };
  add(step->loss, b.getNamedAttr("nn.name", b.getStringAttr("loss")));
  for (auto [value, kind] : step->named)
    add(value, kind);
  for (unsigned i = 0; i < main.getNumResults(); ++i) {
    auto name = main.getResultAttrOfType<StringAttr>(i, "nn.name");
    Value output = terminator->getOperand(i);
    bool isLoss = llvm::is_contained(step->outputs, output);
    if (name && trains() && (isLoss || !shapeOf(output).empty()))
      continue;
    // The output is that loss, or its elements are what the loss averages.
    if (name && isLoss && isLossName(name))
      continue;
    if (name && failed(checkName(name)))
      return failure();
    if (!name)
      addCounts();
    results.push_back(output);
    attributes.push_back(main.getResultAttrDict(i));
  }
  addCounts();
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
