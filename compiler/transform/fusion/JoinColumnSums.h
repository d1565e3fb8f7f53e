//===- JoinColumnSums.h - Sums down columns join rows ---------------------===//

#ifndef FRIT_COMPILER_TRANSFORM_FUSION_JOINCOLUMNSUMS_H
#define FRIT_COMPILER_TRANSFORM_FUSION_JOINCOLUMNSUMS_H

#include "dialects/nn/NN.h"

#include <functional>

namespace frit {

/// The question that the pass `join-column-sums` asks the target.
struct JoinColumnSumsRewrite {
  /// Returns whether one kernel computes the fusion and reads its inputs once.
  std::function<bool(nn::FusionOp)> takes;
};

} // namespace frit

#endif // FRIT_COMPILER_TRANSFORM_FUSION_JOINCOLUMNSUMS_H
