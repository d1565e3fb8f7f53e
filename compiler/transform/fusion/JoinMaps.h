//===- JoinMaps.h - Small kernels that run side by side -------------------===//

#ifndef FRIT_COMPILER_TRANSFORM_FUSION_JOINMAPS_H
#define FRIT_COMPILER_TRANSFORM_FUSION_JOINMAPS_H

#include "dialects/nn/NN.h"

#include <functional>

namespace frit {

/// Target rewrite of the pass `join-maps`.
struct JoinMapsRewrite {
  /// Returns whether a fusion's kernel takes hardly longer than its launch, and
  /// computes results of different sizes side by side.
  std::function<bool(nn::FusionOp)> takes;
};

} // namespace frit

#endif // FRIT_COMPILER_TRANSFORM_FUSION_JOINMAPS_H
