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
};

} // namespace frit::nn

#endif // FRIT_DIALECTS_NN_REWRITES_JOINMAPS_H
