//===- TrainingMode.cpp - Dropout and batch norm as in training -----------===//
//
//   %y = nn.batch_norm %x, %scale, %bias, %mean, %variance
// ==>
//   func.func @main(…, %m {nn.statistic = "bn.running_mean", nn.initial = …},
//                   %v {nn.statistic = "bn.running_var", nn.initial = …})
//       -> (…, tensor<64xf32> {nn.statistic = "bn.running_mean"}, …) {
//     %mean = nn.batch_mean %x
//     %variance = nn.batch_variance %x, %mean
//     %y = nn.batch_norm %x, %scale, %bias, %mean, %variance {batch_statistics}
//     return …, %mean, %variance * 1.0001
//
// A model trains alike whether it was exported for training or for inference.
// Models for inference lack dropout, so it is inserted where the options say.
// In the training step, batch norm normalizes by the batch's statistics, by
// which AddOptimizer updates the running ones, and dropout draws random
// numbers. In the evaluation step, batch norm reads the running statistics and
// dropout does nothing.
//
// A frozen batch norm reads the running statistics in both steps, and they stay
// constants. It is frozen if `freeze` matches one of its running statistics, or
// if the file has it in inference mode and other nodes in training mode.
//
//===----------------------------------------------------------------------===//

#include "compiler/training/Arguments.h"
#include "compiler/training/Passes.h"
#include "compiler/training/Training.h"
#include "compiler/training/loss/Augment.h"
#include "compiler/transform/Graph.h"
#include "compiler/transform/Names.h"
#include "dialects/nn/Fold.h"
#include "dialects/nn/training/Random.h"

#include "llvm/ADT/SetVector.h"

namespace frit {
#define GEN_PASS_DEF_TRAININGMODE
#include "compiler/training/Passes.h.inc"
} // namespace frit

using namespace mlir;
using namespace frit;
using namespace frit::nn;

namespace {
class TrainingMode : public frit::impl::TrainingModeBase<TrainingMode> {
public:
  TrainingMode(const TrainingOptions &options, frit_function_role function)
      : options(options), function(function) {}

  void runOnOperation() override {
    main = getOperation().lookupSymbol<func::FuncOp>("main");
    findModes();
    separateMerged();
    if (failed(checkRecompute()) || failed(addDropout()) ||
        failed(augmentInputs(main, options, trains())))
      return signalPassFailure();
    replaceDropout();
    useBatchStatistics();
    eraseDead(main.getBody().front());
  }

private:
  bool trains() const { return function == FRIT_FUNCTION_TRAIN_STEP; }
  void findModes();
  bool isFrozen(BatchNormOp norm);
  void normalizeByBatch(BatchNormOp norm);
  void separateMerged();
  LogicalResult checkRecompute();
  LogicalResult addDropout();
  void replaceDropout();
  BlockArgument addNumber(StringRef name, Location loc);
  void useBatchStatistics();
  StringAttr nameOfStatistic(Value statistic);
  DictionaryAttr describeStatistic(StringAttr name, FloatAttr momentum);

  const TrainingOptions &options;
  frit_function_role function;
  func::FuncOp main;
  /// Batch norms that the file has in training mode, and whether there are any
  /// or dropout in that mode.
  DenseSet<Operation *> training;
  bool hasTrainingMode = false;
};
} // namespace

/// Attribute of batch norms and dropout that the file has in training mode.
static constexpr llvm::StringLiteral kInTrainingMode = "nn.in_training_mode";

/// Attribute of an nn.where that selects its second operand in training, and
/// the third in evaluation.
static constexpr llvm::StringLiteral kByMode = "nn.by_mode";

/// Finds out which nodes the file has in training mode.
void TrainingMode::findModes() {
  BatchNormOp resting;
  for (Operation &op : main.getBody().front()) {
    auto norm = dyn_cast<BatchNormOp>(op);
    if (op.removeAttr(kInTrainingMode)) {
      hasTrainingMode = true;
      if (norm)
        training.insert(norm);
    } else if (norm && nameOfStatistic(norm.getMean())) {
      resting = norm;
    }
  }
  if (trains() && hasTrainingMode && training.empty() && resting)
    resting.emitWarning(
        "batch norms are in inference mode and dropout is in training mode: "
        "they keep their running statistics. Export the whole network in one "
        "mode, or name the frozen statistics in 'freeze' [-Wfrozen]");
}

/// Maximum elements of a vector that is examined.
static constexpr int64_t kLongestVector = 1 << 20;

/// Gives every reader of a uniform vector its own copy if an exporter merged
/// equal weights: before training, the scales of all norms are ones. A weight
/// with several readers is truly shared if the file says so (`nn.unmerged`), or
/// if the file has two equal vectors, because then it was not merged.
void TrainingMode::separateMerged() {
  SmallVector<ConstantOp> merged;
  DenseSet<Attribute> seen;
  for (auto constant : main.getBody().front().getOps<ConstantOp>()) {
    if (!constant.getName() || !isFloat(constant) ||
        tensorType(constant).getRank() != 1 || constant->use_empty())
      continue;
    DenseElementsAttr value = constantValue(constant, kLongestVector);
    if (!value || !value.isSplat())
      continue;
    if (!seen.insert(value).second)
      return;
    if (!constant->hasOneUse() && !constant->hasAttr("nn.unmerged"))
      merged.push_back(constant);
  }
  for (ConstantOp constant : merged) {
    if (trains())
      constant.emitWarning(
          "has several readers; each trains a copy of its own. ")
          << "Exporters merge equal weights: export the model with "
             "optimize=False or in training mode to keep their names "
             "[-Wshared]";
    SmallVector<OpOperand *> uses(
        llvm::make_pointer_range(constant->getUses()));
    llvm::sort(uses, [](OpOperand *a, OpOperand *b) {
      return a->getOwner() == b->getOwner()
                 ? a->getOperandNumber() < b->getOperandNumber()
                 : a->getOwner()->isBeforeInBlock(b->getOwner());
    });
    OpBuilder b(constant);
    int64_t copies = 0;
    for (OpOperand *use : llvm::drop_begin(uses)) {
      auto copy = cast<ConstantOp>(b.clone(*constant));
      copy.setName((*constant.getName() + "." + Twine(++copies)).str());
      use->set(copy);
    }
  }
}

/// Checks that every pattern of nodes to recompute matches a node. Whether
/// kernels come of them is only known later.
LogicalResult TrainingMode::checkRecompute() {
  SmallVector<StringRef> names;
  for (Operation &op : main.getBody().front())
    llvm::append_range(names, nodeNamesOf(&op));
  return success(checkPatterns(options.recompute, names, "node", "", [&] {
    return emitError(locationOf(options, main), "'recompute': ");
  }));
}

//===----------------------------------------------------------------------===//
// Dropout
//===----------------------------------------------------------------------===//

/// Attribute of an operator whose result has these names in the model.
static constexpr llvm::StringLiteral kValueNames = "nn.value_names";

void frit::recordValueName(Value value, StringRef name) {
  Operation *op = value.getDefiningOp();
  if (!op || op->getNumResults() != 1)
    return;
  // Nodes that compute nothing give a value further names.
  Builder b(op->getContext());
  SmallVector<Attribute> names;
  if (auto known = op->getAttrOfType<ArrayAttr>(kValueNames))
    llvm::append_range(names, known);
  names.push_back(b.getStringAttr(name));
  op->setAttr(kValueNames, b.getArrayAttr(names));
}

/// Puts dropout where the options ask for it.
LogicalResult TrainingMode::addDropout() {
  Block &block = main.getBody().front();
  SmallVector<StringRef> known;
  auto dropBehind = [&](Value value, ArrayRef<StringRef> names) {
    if (!isFloat(value))
      return;
    llvm::append_range(known, names);
    const DropoutOptions *first = nullptr;
    for (const DropoutOptions &dropout : options.dropout)
      if (!first && llvm::any_of(names, [&](StringRef name) {
            return matchesAny(dropout.after, name);
          }))
        first = &dropout;
    if (!first)
      return;
    NNBuilder b(value.getLoc(), block.getTerminator());
    b.setInsertionPointAfterValue(value);
    Value dropped = DropoutOp::create(b, value, b.getF32FloatAttr(first->rate));
    value.replaceAllUsesExcept(dropped, dropped.getDefiningOp());
  };
  for (BlockArgument argument : main.getArguments())
    if (auto name = main.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                                      "nn.name"))
      dropBehind(argument, name.getValue());
  for (Operation &op : llvm::make_early_inc_range(block.without_terminator())) {
    auto values = dyn_cast_or_null<ArrayAttr>(op.removeAttr(kValueNames));
    if (!values || isa<ConstantOp>(op))
      continue;
    SmallVector<StringRef> names = nodeNamesOf(&op);
    for (auto name : values.getAsValueRange<StringAttr>())
      names.push_back(name);
    dropBehind(op.getResult(0), names);
  }
  return success(llvm::all_of(options.dropout, [&](const auto &dropout) {
    return checkPatterns(
        dropout.after, known, "node, and no value of floats,", "",
        [&] { return emitError(locationOf(options, main), "'dropout': "); });
  }));
}

/// Replaces dropout by a random mask in training, by its operand in evaluation.
/// In training other random numbers are different in each call too.
void TrainingMode::replaceDropout() {
  Block &block = main.getBody().front();
  BlockArgument seed, calls;
  auto addNumbers = [&](Location loc) {
    if (seed)
      return;
    seed = addNumber("seed", loc);
    calls = addNumber("calls", loc);
  };
  for (auto choice : llvm::make_early_inc_range(block.getOps<WhereOp>()))
    if (choice->hasAttr(kByMode)) {
      choice.replaceAllUsesWith(choice->getOperand(trains() ? 1 : 2));
      choice.erase();
    }
  eraseDead(block);
  int64_t stream = 0;
  for (auto drawn : block.getOps<RandomUniformOp>()) {
    drawn.setStream(stream++);
    if (!trains()) {
      drawn.emitWarning("draws the same random numbers in every call of "
                        "eval_step, and others in each of train_step "
                        "[-Wrandom]");
      continue;
    }
    addNumbers(drawn.getLoc());
    drawn->setOperands({seed, calls});
  }
  for (auto dropout : llvm::make_early_inc_range(block.getOps<DropoutOp>())) {
    double rate = dropout.getRate().convertToDouble();
    Value y = dropout.getX();
    if (trains() && rate >= 1) {
      // Without a draw: 1 / (1 - rate) is infinite, also in the gradient.
      NNBuilder b(dropout.getLoc(), dropout);
      y = TensorExpr(b, y) * 0.0;
    } else if (trains() && rate > 0) {
      NNBuilder b(dropout.getLoc(), dropout);
      addNumbers(dropout.getLoc());
      TensorExpr x(b, y);
      TensorExpr drawn(
          b, RandomUniformOp::create(b, seed, calls, shapeOf(x), stream++));
      y = where(drawn >= rate, x * (1 / (1 - rate)), 0.0);
    }
    dropout.replaceAllUsesWith(y);
    dropout.erase();
  }
}

/// Adds an argument that AddOptimizer turns into a number of the state.
BlockArgument TrainingMode::addNumber(StringRef name, Location loc) {
  Builder b(&getContext());
  return addArgument(main, RankedTensorType::get({}, b.getI64Type()),
                     b.getNamedAttr("nn.number", b.getStringAttr(name)), loc);
}

//===----------------------------------------------------------------------===//
// Batch norm
//===----------------------------------------------------------------------===//

/// Returns the name of a running statistic, which is a weight or the argument
/// that replaced one; null if it is neither.
StringAttr TrainingMode::nameOfStatistic(Value statistic) {
  if (auto constant = statistic.getDefiningOp<ConstantOp>())
    return constant.getNameAttr();
  auto argument = dyn_cast<BlockArgument>(statistic);
  return argument ? main.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                                      "nn.statistic")
                  : StringAttr();
}

/// Returns whether a batch norm keeps its running statistics.
bool TrainingMode::isFrozen(BatchNormOp norm) {
  if (hasTrainingMode && !training.contains(norm))
    return true;
  return llvm::any_of(
      ValueRange{norm.getMean(), norm.getVariance()}, [&](Value statistic) {
        return matchesAny(options.freeze, nameOfStatistic(statistic));
      });
}

/// Makes a norm normalize by the statistics of the batch; with
/// `syncBatchNorm`, of the batches of all ranks.
void TrainingMode::normalizeByBatch(BatchNormOp norm) {
  NNBuilder b(norm.getLoc(), norm);
  Value x = norm.getX();
  auto overRanks = [&](Value v) {
    return options.dataParallel.syncBatchNorm && trains()
               ? Value(AllReduceOp::create(b, v))
               : v;
  };
  Value mean = overRanks(BatchMeanOp::create(b, x));
  norm.getMeanMutable().assign(mean);
  norm.getVarianceMutable().assign(
      overRanks(BatchVarianceOp::create(b, x, mean)));
  norm.setBatchStatistics(true);
}

/// Makes the running statistics arguments and, for training, normalizes by the
/// batch's own and returns them. A norm that is applied several times returns
/// statistics of the same names several times. A norm in training mode without
/// running statistics always normalizes by those of the batch.
void TrainingMode::useBatchStatistics() {
  SmallVector<BatchNormOp> norms;
  llvm::SetVector<ConstantOp> constants;
  for (auto norm : main.getBody().front().getOps<BatchNormOp>()) {
    Value statistics[] = {norm.getMean(), norm.getVariance()};
    bool hasRunning = llvm::all_of(
        statistics, [&](Value v) { return bool(nameOfStatistic(v)); });
    if (!hasRunning && training.contains(norm))
      normalizeByBatch(norm);
    if (!hasRunning || isFrozen(norm)) {
      norm->removeAttr("nn.momentum");
      for (Value statistic : statistics)
        if (auto constant = statistic.getDefiningOp<ConstantOp>())
          constant->setAttr(kFrozen, UnitAttr::get(&getContext()));
      continue;
    }
    norms.push_back(norm);
    for (Value statistic : statistics)
      if (auto constant = statistic.getDefiningOp<ConstantOp>())
        constants.insert(constant);
  }
  replaceByArguments(main, constants.getArrayRef(), "nn.statistic");

  SmallVector<Value> results;
  SmallVector<DictionaryAttr> attributes;
  for (BatchNormOp norm : norms) {
    auto momentum =
        dyn_cast_or_null<FloatAttr>(norm->removeAttr("nn.momentum"));
    if (!trains())
      continue;
    StringAttr names[] = {nameOfStatistic(norm.getMean()),
                          nameOfStatistic(norm.getVariance())};
    normalizeByBatch(norm);
    NNBuilder b(norm.getLoc(), norm);
    auto type = tensorType(norm.getX());
    // The running variance is the unbiased one.
    double count = double(type.getNumElements()) / type.getDimSize(1);
    TensorExpr variance(b, norm.getVariance());
    results.append({norm.getMean(),
                    (variance * (count / std::max(count - 1, 1.))).value()});
    for (StringAttr name : names)
      attributes.push_back(describeStatistic(name, momentum));
  }
  addResults(main, results, attributes);
}

/// Returns the attributes of a result that is the next value of the running
/// statistic `name`, with the norm's momentum if it has one.
DictionaryAttr TrainingMode::describeStatistic(StringAttr name,
                                               FloatAttr momentum) {
  Builder b(&getContext());
  SmallVector<NamedAttribute> attributes = {
      b.getNamedAttr("nn.statistic", name)};
  if (momentum)
    attributes.push_back(b.getNamedAttr("nn.momentum", momentum));
  return b.getDictionaryAttr(attributes);
}

std::unique_ptr<Pass> frit::createTrainingMode(const TrainingOptions &options,
                                               frit_function_role function) {
  return std::make_unique<TrainingMode>(options, function);
}
