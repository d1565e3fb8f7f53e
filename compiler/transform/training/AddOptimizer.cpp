//===- AddOptimizer.cpp - From a loss to a training step ------------------===//
//
//   func.func @main(%x, %labels, %w {nn.parameter = "fc.weight", …})
//       -> (tensor<f32> {nn.name = "loss"})
// ==>
//   nn.state @parameters.0 : tensor<4096xf32> [#nn.member<"fc.weight" at 0 …>]
//   nn.state @step : tensor<i64> [#nn.member<"step" at 0 : tensor<i64>>]
//   func.func @main(%x, %labels, %p: tensor<4096xf32> {nn.state =
//   @parameters.0},
//                   %step: tensor<i64> {nn.state = @step}, …)
//       -> (tensor<f32> {nn.name = "loss"},
//           tensor<4096xf32> {nn.state = @parameters.0}, …)
//
// One call is a micro-step: gradients are added to those of earlier ones, and
// every `accumulate` calls the optimizer runs. All decisions are numbers of the
// graph: whether gradients overflowed, how they are clipped, the loss scale.
//
// With several ranks, each has a part of the batch. Gradients and the loss are
// means over them, so that all ranks take the same decisions and steps.
//
//===----------------------------------------------------------------------===//

#include "compiler/transform/training/Buckets.h"
#include "compiler/transform/training/Gradients.h"
#include "compiler/transform/training/Optimizer.h"
#include "compiler/transform/training/Training.h"

#include <limits>

using namespace mlir;
using namespace frit;
using namespace frit::nn;

namespace {
class AddOptimizer : public PassWrapper<AddOptimizer, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(AddOptimizer)
  AddOptimizer(const TrainingOptions &options, TrainingFunction function)
      : options(options), function(function) {}

  StringRef getArgument() const override { return "add-optimizer"; }
  StringRef getDescription() const override {
    return "Compute gradients and update the weights that train";
  }

  void runOnOperation() override {
    auto main = getOperation().lookupSymbol<func::FuncOp>("main");
    if (failed(run(main)))
      signalPassFailure();
  }

private:
  LogicalResult run(func::FuncOp main);
  FailureOr<SmallVector<Value>> buildMeanGradients(NNBuilder &b,
                                                   ArrayRef<Bucket> buckets,
                                                   Value loss, Value seed);
  void addStatistics(func::FuncOp main, States &states);
  void addNumbers(func::FuncOp main, States &states, NNBuilder &b);

  const TrainingOptions &options;
  TrainingFunction function;
};
} // namespace

/// Makes the running statistics of batch norms state. The function's results
/// with `nn.statistic` are their next values.
void AddOptimizer::addStatistics(func::FuncOp main, States &states) {
  std::vector<Bucket> buckets = makeBuckets(main, "nn.statistic", {});
  if (buckets.empty())
    return;
  Operation *terminator = main.getBody().front().getTerminator();
  NNBuilder b(main.getLoc(), terminator);
  Bucket &bucket = buckets.front();
  Value before = addBucket(states, bucket, "statistics");

  llvm::DenseMap<Attribute, Value> next;
  llvm::BitVector gone(main.getNumResults());
  for (unsigned i = 0; i < main.getNumResults(); ++i)
    if (Attribute name = main.getResultAttr(i, "nn.statistic")) {
      next[name] = terminator->getOperand(i);
      gone.set(i);
    }
  terminator->eraseOperands(gone);
  (void)main.eraseResults(gone);
  if (!next.empty())
    states.set(before, packMembers(b, bucket,
                                   llvm::map_to_vector(
                                       bucket.members, [&](auto &member) {
                                         return next.lookup(member.name);
                                       })));
  replaceArguments(main, bucket, before);
}

/// Makes arguments with `nn.number` state: the seed of random numbers, and the
/// number of calls, by which each draws others.
void AddOptimizer::addNumbers(func::FuncOp main, States &states, NNBuilder &b) {
  llvm::BitVector gone(main.getNumArguments());
  for (unsigned i = 0; i < gone.size(); ++i) {
    auto name = main.getArgAttrOfType<StringAttr>(i, "nn.number");
    if (!name)
      continue;
    TensorExpr number = states.addNumber(b, name, b.getI64Type(), 0);
    if (name == "calls")
      states.set(number, number + 1);
    main.getArgument(i).replaceAllUsesWith(number.value());
    gone.set(i);
  }
  gone.resize(main.getNumArguments());
  (void)main.eraseArguments(gone);
}

/// Returns each bucket's gradients of the loss times `seed`.
FailureOr<SmallVector<Value>>
AddOptimizer::buildMeanGradients(NNBuilder &b, ArrayRef<Bucket> buckets,
                                 Value loss, Value seed) {
  SmallVector<Value> parameters;
  for (const Bucket &bucket : buckets)
    for (const BucketMember &member : bucket.members)
      parameters.push_back(member.argument);
  auto gradients = buildGradients(loss, seed, parameters);
  if (failed(gradients))
    return failure();
  if (llvm::none_of(*gradients, [](Value v) { return bool(v); }))
    return loss.getDefiningOp()->emitError(
        "the loss does not depend on any weight that trains");
  SmallVector<Value> packed;
  ArrayRef<Value> rest = *gradients;
  for (const Bucket &bucket : buckets) {
    packed.push_back(
        packMembers(b, bucket, rest.take_front(bucket.members.size())));
    rest = rest.drop_front(bucket.members.size());
  }
  return packed;
}

/// Returns the sum of the squares of all elements.
static TensorExpr sumSquares(NNBuilder &b, ArrayRef<Value> buckets) {
  std::optional<TensorExpr> sum;
  for (Value bucket : buckets) {
    int64_t rows = shapeOf(bucket)[0] / kBucketRow;
    TensorExpr x(b, b.reshape(bucket, {rows, kBucketRow}));
    Value partial = b.reduce(x * x, Combiner::sum, 1);
    partial = b.reduce(b.reshape(partial, {rows}), Combiner::sum, 0);
    TensorExpr part(b, b.reshape(partial, {}));
    sum = sum ? *sum + part : part;
  }
  return *sum;
}

/// Moves the operators that only add up the loss behind those of the gradients,
/// which do not wait for it. So a kernel can compute the rows' losses and
/// gradients at once.
static void sinkLoss(Operation *terminator) {
  SmallVector<Value> work = {terminator->getOperand(0)};
  Operation *end = terminator;
  llvm::SmallPtrSet<Operation *, 8> sunk = {terminator};
  while (!work.empty()) {
    Value value = work.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (!op || tensorType(value).getNumElements() != 1 ||
        !llvm::all_of(op->getUsers(),
                      [&](Operation *user) { return sunk.contains(user); }))
      continue;
    op->moveBefore(end);
    end = op;
    sunk.insert(op);
    llvm::append_range(work, op->getOperands());
  }
}

LogicalResult AddOptimizer::run(func::FuncOp main) {
  std::vector<Bucket> buckets =
      options.dataParallel
          ? makeBuckets(main, "nn.parameter", options.optimizer.noDecay,
                        kReducedElements)
          : makeBuckets(main, "nn.parameter", options.optimizer.noDecay);
  States states(main);
  Operation *terminator = main.getBody().front().getTerminator();
  NNBuilder b(main.getLoc(), terminator);
  SmallVector<Value> parameters =
      llvm::map_to_vector(buckets, [&](Bucket &bucket) -> Value {
        return addBucket(states, bucket, "parameters");
      });
  if (function == TrainingFunction::evalStep) {
    replaceArguments(main, buckets, parameters);
    addStatistics(main, states);
    return success();
  }

  TensorExpr rate = states.addNumber(b, "learning_rate", b.getF32Type(),
                                     options.optimizer.learningRate);
  TensorExpr step = states.addNumber(b, "step", b.getI64Type(), 0);
  TensorExpr scale = rate.number(1);
  if (options.lossScale.enabled)
    scale = states.addNumber(b, "loss_scale", b.getF32Type(),
                             options.lossScale.initial);
  Value loss = terminator->getOperand(0);
  auto gradients = buildMeanGradients(b, buckets, loss, scale);
  if (failed(gradients))
    return failure();
  sinkLoss(terminator);
  if (options.dataParallel) {
    for (Value &gradient : *gradients)
      if (!gradient.getDefiningOp<ConstantOp>())
        gradient = AllReduceOp::create(b, gradient);
    terminator->setOperand(0, AllReduceOp::create(b, loss));
  }

  // Gradients of several calls are added; `complete` says that they are all.
  std::optional<TensorExpr> complete;
  SmallVector<Value> sums;
  if (options.accumulate > 1) {
    TensorExpr micro = states.addNumber(b, "micro_step", b.getI64Type(), 0);
    complete = equal(micro, micro.number(options.accumulate - 1));
    states.set(micro, where(*complete, micro.number(0), micro + 1));
    for (auto [bucket, gradient] : llvm::zip(buckets, *gradients)) {
      sums.push_back(addBucket(states, bucket, "gradients", "gradient"));
      gradient = b.add(sums.back(), gradient);
    }
  }
  TensorExpr factor = scale.number(1. / options.accumulate) / scale;
  std::optional<TensorExpr> applies = complete;
  SmallVector<std::pair<StringRef, Value>> metrics;
  if (options.lossScale.enabled || options.clipNorm > 0) {
    TensorExpr norm = sqrt(sumSquares(b, *gradients)) * factor;
    metrics.push_back({"gradient_norm", norm});
    if (options.lossScale.enabled) {
      TensorExpr finite = norm <= std::numeric_limits<float>::max();
      applies = complete ? *complete & finite : finite;
      addLossScale(states, b, options.lossScale, scale, finite, complete);
    }
    if (options.clipNorm > 0) {
      // As torch.nn.utils.clip_grad_norm_.
      TensorExpr clip = norm.number(options.clipNorm) / (norm + 1e-6);
      factor = factor * TensorExpr(b, MinOp::create(b, clip, clip.number(1)));
    }
  }
  for (auto [sum, gradient] : llvm::zip(sums, *gradients))
    states.set(sum, where(*complete, 0.0, TensorExpr(b, gradient)));

  TensorExpr now = step + 1;
  states.set(step, applies ? where(*applies, now, step) : now);
  for (auto [bucket, before, gradient] :
       llvm::zip_equal(buckets, parameters, *gradients)) {
    OptimizerStep update{states, b,      options.optimizer, bucket, rate,
                         now,    applies};
    states.set(before, update.build(TensorExpr(b, before),
                                    TensorExpr(b, gradient) * factor));
  }
  for (auto [name, value] : metrics) {
    (void)main.insertResult(
        main.getNumResults(), value.getType(),
        b.getDictionaryAttr(b.getNamedAttr("nn.name", b.getStringAttr(name))));
    terminator->insertOperands(terminator->getNumOperands(), value);
  }
  replaceArguments(main, buckets, parameters);
  addStatistics(main, states);
  addNumbers(main, states, b);
  states.addResults();
  return success();
}

std::unique_ptr<Pass> frit::createAddOptimizer(const TrainingOptions &options,
                                               TrainingFunction function) {
  return std::make_unique<AddOptimizer>(options, function);
}
