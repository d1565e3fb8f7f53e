//===- JoinColumnSums.h - Fuse column sums into row kernels ---------------===//

#ifndef FRIT_COMPILER_TRANSFORM_FUSION_JOINCOLUMNSUMS_H
#define FRIT_COMPILER_TRANSFORM_FUSION_JOINCOLUMNSUMS_H

#include "dialects/nn/NN.h"

#include <functional>

namespace frit {

/// Target rewrite of the pass `join-column-sums`.
struct JoinColumnSumsRewrite {
  /// Returns whether one kernel computes the fusion and reads its inputs once.
  std::function<bool(nn::FusionOp)> takes;
};

} // namespace frit

#endif // FRIT_COMPILER_TRANSFORM_FUSION_JOINCOLUMNSUMS_H
