//===- Optimizer.cpp - The update rules of optimizers ---------------------===//

#include "compiler/training/optimizer/Optimizer.h"

#include "compiler/training/Sums.h"
#include "compiler/training/optimizer/Moments.h"

using namespace mlir;
using namespace frit;
using namespace frit::nn;

TensorExpr OptimizerStep::keep(TensorExpr after, TensorExpr before) {
  return applies ? where(*applies, after, before) : after;
}

/// Returns 1 - betaᵗ, computed in f64: beta is close to 1.
TensorExpr OptimizerStep::biasCorrection(double beta) {
  TensorExpr t(b, b.cast(step, b.getF64Type()));
  return {b, CastOp::create(b, 1.0 - pow(t.number(beta), t), b.getF32Type())};
}

/// Returns the ratio of the bias-corrected moments (Kingma and Ba, "Adam",
/// arXiv:1412.6980, algorithm 1).
TensorExpr OptimizerStep::direction(TensorExpr g) {
  bool inBytes = options.byteMoments;
  Moment m =
      addMoment(states, b, bucket, "m", /*isSquare=*/false, inBytes, sharded);
  Moment v =
      addMoment(states, b, bucket, "v", /*isSquare=*/true, inBytes, sharded);
  TensorExpr mean = m.value * options.beta1 + g * (1 - options.beta1);
  TensorExpr square = v.value * options.beta2 + g * g * (1 - options.beta2);
  setMoment(states, b, m, mean, applies);
  setMoment(states, b, v, square, applies);
  TensorExpr root = sqrt(square) / sqrt(biasCorrection(options.beta2));
  return mean / biasCorrection(options.beta1) / (root + options.epsilon);
}

/// Builds Adam with L2 regularisation, or with decoupled weight decay
/// (Loshchilov and Hutter, arXiv:1711.05101), as torch.optim.Adam and AdamW.
TensorExpr OptimizerStep::buildAdam(TensorExpr p, TensorExpr g) {
  if (options.kind == OptimizerKind::adam && decay())
    g = g + p * decay();
  TensorExpr moved = direction(g) * rate;
  if (options.kind == OptimizerKind::adamw && decay())
    p = p * (1.0 - rate * decay());
  return p - moved;
}

/// Builds the rule of torch.optim.SGD without dampening.
TensorExpr OptimizerStep::buildSgd(TensorExpr p, TensorExpr g) {
  if (decay())
    g = g + p * decay();
  if (options.momentum) {
    Moment before = addMoment(states, b, bucket, "momentum", /*isSquare=*/false,
                              options.byteMoments, sharded);
    TensorExpr after = before.value * options.momentum + g;
    setMoment(states, b, before, after, applies);
    g = options.nesterov ? g + after * options.momentum : after;
  }
  return p - g * rate;
}

static TensorExpr norm(NNBuilder &b, TensorExpr x) {
  return sqrt(sumAll(b, x * x));
}

/// Builds LAMB (You et al., "Large Batch Optimization for Deep Learning",
/// arXiv:1904.00962, algorithm 2): each parameter moves by a fraction of its
/// own norm.
Value OptimizerStep::buildLamb(TensorExpr p, TensorExpr g) {
  TensorExpr moved = direction(g);
  if (options.byteMoments) {
    moved = {b, b.reshape(moved, {bucket.size})};
    p = {b, b.reshape(p, {bucket.size})};
  }
  if (decay())
    moved = moved + p * decay();
  SmallVector<Value> parts;
  for (const BucketMember &member : bucket.members) {
    TensorExpr part(b, memberOf(b, p, member));
    TensorExpr change(b, memberOf(b, moved, member));
    TensorExpr size = norm(b, part), length = norm(b, change);
    TensorExpr both = (size > 0.0) & (length > 0.0);
    TensorExpr trust = where(both, size / length, 1.0);
    parts.push_back(keep(part - change * (trust * rate), part));
  }
  return packMembers(b, bucket, parts);
}

Value OptimizerStep::buildRule(TensorExpr p, TensorExpr g) {
  switch (options.kind) {
  case OptimizerKind::sgd:
    return keep(buildSgd(p, g), p);
  case OptimizerKind::adam:
  case OptimizerKind::adamw:
    return keep(buildAdam(p, g), p);
  case OptimizerKind::lamb:
    return buildLamb(p, g);
  }
  llvm_unreachable("no such optimizer");
}

Value OptimizerStep::build(TensorExpr p, TensorExpr g) {
  // One kernel finds the scales of blocks and updates these.
  return options.byteMoments
             ? b.reshape(buildRule(inBlocks(b, p), g), {bucket.size})
             : buildRule(p, g);
}

void frit::addLossScale(States &states, NNBuilder &b,
                        const LossScaleOptions &options, TensorExpr scale,
                        TensorExpr finite, std::optional<TensorExpr> complete) {
  TensorExpr steps = states.addNumber(b, "loss_scale_steps", FRIT_STATE_COUNTER,
                                      b.getI64Type(), 0);
  TensorExpr next = steps + 1;
  TensorExpr grows = equal(next, next.number(options.growthInterval));
  TensorExpr after = where(finite, where(grows, scale * options.growth, scale),
                           scale * options.backoff);
  TensorExpr count =
      where(finite, where(grows, next.number(0), next), next.number(0));
  states.set(scale, complete ? where(*complete, after, scale) : after);
  states.set(steps, complete ? where(*complete, count, steps) : count);
}
