//===- JoinMaps.h - Small kernels that run side by side -------------------===//

#ifndef FRIT_DIALECTS_NN_REWRITES_JOINMAPS_H
#define FRIT_DIALECTS_NN_REWRITES_JOINMAPS_H

#include "dialects/nn/NN.h"

#include <functional>

namespace frit::nn {

/// Target rewrite of the pass `join-maps`.
struct JoinMapsRewrite {
  /// Returns whether a fusion's kernel takes hardly longer than its launch, and
  /// computes results of different sizes side by side.
  std::function<bool(FusionOp)> takes;

  /// Likewise for fusions that replace rows of a state, which may have many
  /// elements, and what they are joined with: the kernel computes each element
  /// by itself.
  std::function<bool(FusionOp)> takesAppends;
};

} // namespace frit::nn

#endif // FRIT_DIALECTS_NN_REWRITES_JOINMAPS_H
