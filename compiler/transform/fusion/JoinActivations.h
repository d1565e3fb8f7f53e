//===- JoinActivations.h - Products store activations, too ----------------===//

#ifndef FRIT_COMPILER_TRANSFORM_FUSION_JOINACTIVATIONS_H
#define FRIT_COMPILER_TRANSFORM_FUSION_JOINACTIVATIONS_H

#include "dialects/nn/NN.h"

#include <functional>

namespace frit {

/// Target rewrite of the pass `join-activations`.
struct JoinActivationsRewrite {
  /// Returns whether one kernel computes the fusion of a product and an
  /// activation of its result, and stores both.
  std::function<bool(nn::FusionOp)> takes;
};

} // namespace frit

#endif // FRIT_COMPILER_TRANSFORM_FUSION_JOINACTIVATIONS_H
