//===- JoinRowDots.h - Fuse dot products of rows into products ------------===//

#ifndef FRIT_COMPILER_TRANSFORM_FUSION_JOINROWDOTS_H
#define FRIT_COMPILER_TRANSFORM_FUSION_JOINROWDOTS_H

#include "dialects/nn/NN.h"

#include <functional>

namespace frit {

/// Target rewrite of the pass `join-row-dots`.
struct JoinRowDotsRewrite {
  /// Returns whether one kernel computes the fusion of a product and of dot
  /// products of its result's rows (nn.row_dots).
  std::function<bool(nn::FusionOp)> takes;
};

} // namespace frit

#endif // FRIT_COMPILER_TRANSFORM_FUSION_JOINROWDOTS_H
