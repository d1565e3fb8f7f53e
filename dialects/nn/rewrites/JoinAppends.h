//===- JoinAppends.h - Attention that appends to its caches ---------------===//

#ifndef FRIT_DIALECTS_NN_REWRITES_JOINAPPENDS_H
#define FRIT_DIALECTS_NN_REWRITES_JOINAPPENDS_H

#include "dialects/nn/NN.h"

#include <functional>

namespace frit::nn {

/// Target rewrite of the pass `join-appends`.
struct JoinAppendsRewrite {
  /// Returns whether one kernel computes a fusion of an attention, the updates
  /// of the states that are its keys and values, and what these and the queries
  /// are computed from.
  std::function<bool(FusionOp)> takes;
  /// If not null, only fusions of which this is true are joined to an attention
  /// that reads their results, whether they update states or not.
  std::function<bool(FusionOp)> joins = nullptr;
  /// Returns whether one kernel computes a fusion of a product, of what makes
  /// weights of its scores, and of the product of these with values. May be
  /// null.
  std::function<bool(FusionOp)> takesProducts = nullptr;
};

} // namespace frit::nn

#endif // FRIT_DIALECTS_NN_REWRITES_JOINAPPENDS_H
