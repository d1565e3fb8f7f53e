//===- AddOptimizer.cpp - From a loss to a training step ------------------===//
//
//   func.func @main(%x, %labels, %w {nn.parameter = "fc.weight", …})
//       -> (tensor<f32> {nn.name = "loss"})
// ==>
//   nn.state @parameters.0 : tensor<4096xf32> [#nn.member<"fc.weight" at 0 …>]
//   nn.state @step : tensor<i64> [#nn.member<"step" at 0 : tensor<i64>>]
//   func.func @main(%x, %labels, %p {nn.state = @parameters.0},
//                   %step {nn.state = @step}, …)
//       -> (tensor<f32> {nn.name = "loss"},
//           tensor<4096xf32> {nn.state = @parameters.0}, …)
//
// A call is a micro-step: its gradients are added to those of earlier calls,
// and the optimizer runs every `accumulate` calls. All decisions are values in
// the graph: whether gradients overflowed, how they are clipped, the loss
// scale.
//
// If a moving average of the weights is kept, each update ends with it, and the
// evaluation reads it instead of the weights.
//
// With several ranks, each computes a part of the batch. Gradients, losses and
// metrics are averaged over the ranks, so all make the same decisions and
// updates. If the loss is a mean over items of which data decide how many count
// (`nn.share`), gradients are those of the sum over items, and the update
// divides them by the share of items that count in all calls and ranks. If
// the optimizer's state is sharded, a rank holds the moments of its shard of
// each bucket and gets the mean gradients of that shard only. It updates the
// shard's parameters, which the ranks then gather.
//
//===----------------------------------------------------------------------===//

#include "compiler/training/Arguments.h"
#include "compiler/training/Passes.h"
#include "compiler/training/Training.h"
#include "compiler/training/optimizer/Buckets.h"
#include "compiler/training/optimizer/RunningStatistics.h"
#include "compiler/training/optimizer/StepBuilder.h"
#include "compiler/transform/Graph.h"

namespace frit {
#define GEN_PASS_DEF_ADDOPTIMIZER
#include "compiler/training/Passes.h.inc"
} // namespace frit

using namespace mlir;
using namespace frit;
using namespace frit::nn;

namespace {
class AddOptimizer : public frit::impl::AddOptimizerBase<AddOptimizer> {
public:
  AddOptimizer(const TrainingOptions &options, frit_function_role function,
               bool isBf16)
      : options(options), function(function), isBf16(isBf16) {}

  void runOnOperation() override {
    auto main = getOperation().lookupSymbol<func::FuncOp>("main");
    if (failed(run(main)))
      signalPassFailure();
  }

private:
  LogicalResult run(func::FuncOp main);

  const TrainingOptions &options;
  frit_function_role function;
  bool isBf16;
};
} // namespace

LogicalResult AddOptimizer::run(func::FuncOp main) {
  BucketRule rule = options.dataParallel.enabled ? kReducedBuckets : kBuckets;
  rule.multipliedApart = isBf16 && !options.dataParallel.enabled;
  std::vector<Bucket> buckets =
      makeBuckets(main, "nn.parameter", options.optimizer, rule);
  States states(main);
  NNBuilder b(main.getLoc(), main.getBody().front().getTerminator());
  SmallVector<Value> parameters =
      llvm::map_to_vector(buckets, [&](Bucket &bucket) -> Value {
        return addBucket(states, bucket, FRIT_STATE_PARAMETER, "parameters");
      });
  SmallVector<Value> averages;
  if (options.emaDecay > 0)
    averages = llvm::map_to_vector(
        buckets, [&](Bucket &bucket) { return addAverages(states, bucket); });
  bool trains = function == FRIT_FUNCTION_TRAIN_STEP;
  std::optional<StepBuilder> step;
  if (trains) {
    step.emplace(options, main, states, b, buckets, parameters, averages);
    if (failed(step->buildGradients()))
      return failure();
    if (options.accumulate > 1)
      step->accumulate();
    step->divideByShare();
    if (options.lossScale.enabled || options.clipNorm > 0)
      step->addMetrics();
    step->update();
  }
  bool readsAverages = !trains && !averages.empty();
  replaceArguments(main, buckets, readsAverages ? averages : parameters);
  addRunningStatistics(main, states, options.batchNormMomentum);
  if (trains) {
    step->addNumbers();
    states.addResults();
  }
  return success();
}

std::unique_ptr<Pass> frit::createAddOptimizer(const TrainingOptions &options,
                                               frit_function_role function,
                                               bool isBf16) {
  return std::make_unique<AddOptimizer>(options, function, isBf16);
}
