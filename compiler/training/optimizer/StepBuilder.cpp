//===- StepBuilder.cpp - Gradients and updates behind a loss --------------===//

#include "compiler/training/optimizer/StepBuilder.h"

#include "compiler/training/Arguments.h"
#include "compiler/training/Sums.h"
#include "compiler/training/Training.h"
#include "compiler/training/optimizer/CheckGradients.h"
#include "compiler/training/optimizer/Moments.h"
#include "compiler/training/optimizer/Optimizer.h"
#include "compiler/transform/Graph.h"
#include "dialects/nn/gradients/Gradients.h"

#include <limits>

using namespace mlir;
using namespace frit;
using namespace frit::nn;

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

StepBuilder::StepBuilder(const TrainingOptions &options, func::FuncOp main,
                         States &states, NNBuilder &b, ArrayRef<Bucket> buckets,
                         ArrayRef<Value> parameters, ArrayRef<Value> averages)
    : options(options), main(main),
      terminator(main.getBody().front().getTerminator()), states(states), b(b),
      buckets(buckets), parameters(parameters), averages(averages),
      rate(states.addNumber(b, "learning_rate", FRIT_STATE_LEARNING_RATE,
                            b.getF32Type(), options.optimizer.learningRate)),
      step(states.addNumber(b, "step", FRIT_STATE_COUNTER, b.getI64Type(), 0)),
      scale(addScale()), factor(scale.number(1. / options.accumulate) / scale) {
}

TensorExpr StepBuilder::addScale() {
  return options.lossScale.enabled
             ? states.addNumber(b, "loss_scale", FRIT_STATE_LOSS_SCALE,
                                b.getF32Type(), options.lossScale.initial)
             : rate.number(1);
}

/// Moves the operators that only sum the loss after the gradients, which do not
/// need them. So one kernel can compute the rows' losses and gradients.
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

/// Rounds a gradient to bf16 right after it is computed, so that its average
/// can begin there, and before a reshape, so that its own kernel rounds it.
static Value roundEarly(NNBuilder &b, Value gradient) {
  if (!gradient)
    return gradient;
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointAfterValue(gradient);
  return b.reshape(b.cast(throughReshapes(gradient), b.getBF16Type()),
                   shapeOf(gradient));
}

/// Returns whether a bucket has gradients in bf16: because they are to be
/// compressed, or because all of them are products in bf16, as those of weights
/// of mixed precision are, so that f32 would only take memory. Sums over ranks
/// are in f32 unless compressed.
bool StepBuilder::roundsGradients(const Bucket &bucket,
                                  ArrayRef<Value> members) const {
  if (options.dataParallel.enabled)
    return options.dataParallel.compressGradients;
  return bucket.multiplied && llvm::all_of(members, [](Value gradient) {
           if (!gradient) // The loss does not depend on this weight.
             return true;
           auto cast = throughReshapes(gradient).getDefiningOp<CastOp>();
           return cast && tensorType(cast.getX()).getElementType().isBF16();
         });
}

/// Returns whether a rank has the gradients of its shard only. Sums over
/// several calls are whole, so that any number of ranks can go on with them.
bool StepBuilder::scattersGradients() const {
  return options.dataParallel.shardOptimizer && options.accumulate == 1;
}

/// Returns the mean of a bucket's gradients over the ranks.
Value StepBuilder::averageOverRanks(Value gradient) {
  if (!options.dataParallel.enabled || gradient.getDefiningOp<ConstantOp>())
    return gradient;
  if (scattersGradients())
    return ReduceScatterOp::create(b, gradient);
  return AllReduceOp::create(b, gradient);
}

/// Takes the share of items that count out of the results; with several ranks,
/// its mean over them. It depends on labels alone, so ranks average it while
/// they compute the forward pass.
void StepBuilder::takeShare() {
  for (unsigned i = 0; i < main.getNumResults(); ++i) {
    if (!main.getResultAttr(i, kShare))
      continue;
    Value own = terminator->getOperand(i);
    terminator->eraseOperand(i);
    (void)main.eraseResult(i);
    share = {b, options.dataParallel.enabled
                    ? Value(AllReduceOp::create(b, own))
                    : own};
    return;
  }
}

/// Returns 1 / share, where a share of 0, of gradients that are 0, is no
/// infinity.
static TensorExpr inverseOf(NNBuilder &b, TensorExpr share) {
  return 1.0 / TensorExpr(b, MaxOp::create(b, share, share.number(1e-20)));
}

/// Makes the loss the mean over all ranks, and the model's metrics too.
void StepBuilder::averageNumbers() {
  if (share)
    terminator->setOperand(0, TensorExpr(b, terminator->getOperand(0)) *
                                  inverseOf(b, *share));
  if (!options.dataParallel.enabled)
    return;
  SmallVector<unsigned> places;
  SmallVector<Value> numbers;
  SmallVector<int64_t> offsets;
  for (unsigned i = 0; i < main.getNumResults(); ++i) {
    if (!main.getResultAttr(i, "nn.name"))
      continue;
    Value number = b.cast(terminator->getOperand(i), b.getF32Type());
    offsets.push_back(places.size());
    places.push_back(i);
    numbers.push_back(b.reshape(number, {1}));
  }
  if (places.size() == 1) {
    terminator->setOperand(0,
                           AllReduceOp::create(b, terminator->getOperand(0)));
    return;
  }
  Value all = AllReduceOp::create(
      b, PackOp::create(b, numbers, offsets, places.size()));
  for (auto [i, offset] : llvm::zip_equal(places, offsets)) {
    Value mean = SliceOp::create(b, all, offset, 1, ArrayRef<int64_t>{1});
    terminator->setOperand(i, b.reshape(mean, {}));
  }
  SmallVector<Type> types(terminator->getOperandTypes());
  main.setType(b.getFunctionType(main.getArgumentTypes(), types));
}

/// Computes each bucket's gradients of the loss times the scale; with several
/// ranks, means over them of these and of the loss.
LogicalResult StepBuilder::buildGradients() {
  takeShare();
  Value loss = terminator->getOperand(0);
  SmallVector<Value> members;
  for (const Bucket &bucket : buckets)
    for (const BucketMember &member : bucket.members)
      members.push_back(member.argument);
  auto found = frit::buildGradients(loss, scale, members);
  if (failed(found))
    return failure();
  // Composites on the way have been decomposed, the loss maybe too.
  if (failed(checkGradients(terminator->getOperand(0), buckets, *found)))
    return failure();
  ArrayRef<Value> rest = *found;
  for (const Bucket &bucket : buckets) {
    auto members = llvm::to_vector(rest.take_front(bucket.members.size()));
    rest = rest.drop_front(members.size());
    if (roundsGradients(bucket, members))
      llvm::transform(members, members.begin(),
                      [&](Value gradient) { return roundEarly(b, gradient); });
    Value packed = packMembers(b, bucket, members);
    gradients.push_back(b.cast(averageOverRanks(packed), b.getF32Type()));
  }
  sinkLoss(terminator);
  averageNumbers();
  return success();
}

/// Adds the gradients to those of earlier calls, which are state.
void StepBuilder::accumulate() {
  TensorExpr micro =
      states.addNumber(b, "micro_step", FRIT_STATE_COUNTER, b.getI64Type(), 0);
  complete = equal(micro, micro.number(options.accumulate - 1));
  applies = complete;
  states.set(micro, where(*complete, micro.number(0), micro + 1));
  if (share) {
    TensorExpr before =
        states.addNumber(b, "loss_share", FRIT_STATE_OTHER, b.getF32Type(), 0);
    share = before + *share;
    states.set(before, where(*complete, 0.0, *share));
  }
  for (auto [bucket, gradient] : llvm::zip_equal(buckets, gradients)) {
    Value sum =
        addBucket(states, bucket, FRIT_STATE_OTHER, "gradients", "gradient");
    gradient = b.add(sum, gradient);
    // A kernel that also updates a shard would compute the sum's shard only.
    if (options.dataParallel.shardOptimizer)
      gradient = PackOp::create(b, SmallVector<Value>{gradient},
                                SmallVector<int64_t>{0}, shapeOf(gradient)[0]);
    states.set(sum, where(*complete, 0.0, TensorExpr(b, gradient)));
  }
}

/// Makes the update divide by the items that count in all calls and ranks. Both
/// gradients and shares are sums over the calls.
void StepBuilder::divideByShare() {
  if (share)
    factor = inverseOf(b, *share) / scale;
}

//===----------------------------------------------------------------------===//
// The update
//===----------------------------------------------------------------------===//

/// Returns the sum of the squares of all elements. If gradients are scattered,
/// rows of other ranks are zeros, so that sums over the ranks are exact.
TensorExpr StepBuilder::sumSquares() {
  SmallVector<Value> sums;
  SmallVector<int64_t> offsets;
  int64_t end = 0;
  for (Value bucket : gradients) {
    int64_t rows = shapeOf(bucket)[0] / kBucketRow;
    TensorExpr x(b, b.reshape(bucket, {rows, kBucketRow}));
    sums.push_back(b.reshape(b.reduce(x * x, Combiner::sum, 1), {rows}));
    offsets.push_back(end);
    end += rows;
  }
  if (scattersGradients()) {
    Value all =
        AllReduceOp::create(b, PackOp::create(b, sums, offsets, end), true);
    for (auto [sum, offset] : llvm::zip_equal(sums, offsets))
      sum = SliceOp::create(b, all, offset, shapeOf(sum)[0],
                            ArrayRef<int64_t>{1});
  }
  std::optional<TensorExpr> total;
  for (Value sum : sums) {
    TensorExpr part = sumAll(b, sum);
    total = total ? *total + part : part;
  }
  return *total;
}

/// Computes the norm of all gradients, for clipping and to skip steps whose
/// gradients overflowed.
void StepBuilder::addMetrics() {
  TensorExpr norm = sqrt(sumSquares()) * factor;
  addResult(main, norm,
            b.getNamedAttr("nn.name", b.getStringAttr("gradient_norm")));
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

void StepBuilder::update() {
  TensorExpr now = step + 1;
  states.set(step, applies ? where(*applies, now, step) : now);
  bool sharded = options.dataParallel.shardOptimizer;
  for (auto [i, bucket] : llvm::enumerate(buckets)) {
    Value before = parameters[i];
    TensorExpr whole(b, gradients[i]);
    TensorExpr g =
        (options.optimizer.byteMoments ? inBlocks(b, whole) : whole) * factor;
    if (options.clipValue > 0) {
      // As torch.nn.utils.clip_grad_value_.
      g = {b, MinOp::create(b, g, g.number(options.clipValue))};
      g = {b, MaxOp::create(b, g, g.number(-options.clipValue))};
    }
    TensorExpr own = bucket.rateFactor == 1 ? rate : rate * bucket.rateFactor;
    OptimizerStep update{states, b,   options.optimizer, bucket,
                         own,    now, applies,           sharded};
    Value after = update.build(TensorExpr(b, before), g);
    if (sharded)
      after = AllGatherOp::create(b, after);
    // What is pruned stays so.
    if (bucket.keepsZeros) {
      TensorExpr old(b, before);
      after = where(equal(old, old.number(0)), 0.0, TensorExpr(b, after));
    }
    states.set(before, after);
    if (!averages.empty())
      average(TensorExpr(b, averages[i]), TensorExpr(b, after));
  }
}

/// Updates the moving average of a bucket: the first update copies the
/// parameters, as torch.optim.swa_utils.AveragedModel does.
void StepBuilder::average(TensorExpr before, TensorExpr parameters) {
  TensorExpr isFirst = equal(step, step.number(0));
  TensorExpr mean =
      before * options.emaDecay + parameters * (1 - options.emaDecay);
  TensorExpr after = where(isFirst, parameters, mean);
  states.set(before, applies ? where(*applies, after, before) : after);
}

/// Turns arguments with `nn.number` into state: the seed of random numbers, and
/// the number of calls, so that each call draws different ones.
void StepBuilder::addNumbers() {
  llvm::BitVector gone(main.getNumArguments());
  for (unsigned i = 0; i < gone.size(); ++i) {
    auto name = main.getArgAttrOfType<StringAttr>(i, "nn.number");
    if (!name)
      continue;
    bool counts = name == "calls";
    TensorExpr number = states.addNumber(
        b, name, counts ? FRIT_STATE_RANDOM_COUNTER : FRIT_STATE_RANDOM_SEED,
        b.getI64Type(), 0);
    if (counts)
      states.set(number, number + 1);
    main.getArgument(i).replaceAllUsesWith(number.value());
    gone.set(i);
  }
  gone.resize(main.getNumArguments());
  (void)main.eraseArguments(gone);
}
