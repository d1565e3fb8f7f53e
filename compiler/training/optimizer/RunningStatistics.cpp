//===- RunningStatistics.cpp - Batch norms' statistics as state -----------===//

#include "compiler/training/optimizer/RunningStatistics.h"

#include "compiler/training/Arguments.h"
#include "compiler/training/optimizer/Buckets.h"

#include <limits>

using namespace mlir;
using namespace frit;
using namespace frit::nn;

void frit::addRunningStatistics(func::FuncOp main, States &states,
                                std::optional<double> chosen) {
  constexpr int64_t unlimited = std::numeric_limits<int64_t>::max();
  std::vector<Bucket> buckets =
      makeBuckets(main, "nn.statistic", {}, {unlimited, unlimited});
  if (buckets.empty())
    return;
  Operation *terminator = main.getBody().front().getTerminator();
  NNBuilder b(main.getLoc(), terminator);
  Bucket &bucket = buckets.front();
  Value before = addBucket(states, bucket, FRIT_STATE_STATISTIC, "statistics");

  double momentum = chosen.value_or(0.1);
  llvm::DenseMap<Attribute, Value> running, next;
  for (BlockArgument argument : main.getArguments())
    if (Attribute name =
            main.getArgAttr(argument.getArgNumber(), "nn.statistic"))
      running[name] = argument;
  llvm::BitVector gone(main.getNumResults());
  for (unsigned i = 0; i < main.getNumResults(); ++i)
    if (Attribute name = main.getResultAttr(i, "nn.statistic")) {
      auto given = main.getResultAttrOfType<FloatAttr>(i, "nn.momentum");
      double own = given && !chosen ? given.getValueAsDouble() : momentum;
      Value &target = next[name];
      TensorExpr before(b, running.lookup(name));
      TensorExpr now(b, terminator->getOperand(i));
      // All statistics move by `momentum` below. The target of a norm with
      // another momentum is scaled accordingly; a norm that is applied again
      // continues from its last target.
      if (own != momentum)
        now = before + (now - before) * (own / momentum);
      if (target)
        now = now + (TensorExpr(b, target) - before) * (1 - own);
      target = now;
      gone.set(i);
    }
  terminator->eraseOperands(gone);
  (void)main.eraseResults(gone);
  if (!next.empty()) {
    auto now = llvm::map_to_vector(
        bucket.members, [&](auto &member) { return next.lookup(member.name); });
    states.set(before,
               TensorExpr(b, before) * (1 - momentum) +
                   TensorExpr(b, packMembers(b, bucket, now)) * momentum);
  }
  replaceArguments(main, bucket, before);
}
