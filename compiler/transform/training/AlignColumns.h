//===- AlignColumns.h - Align the columns of products ---------------------===//

#ifndef FRIT_COMPILER_TRANSFORM_TRAINING_ALIGNCOLUMNS_H
#define FRIT_COMPILER_TRANSFORM_TRAINING_ALIGNCOLUMNS_H

#include "dialects/nn/NN.h"

#include <functional>

namespace frit {

/// With fewer columns, the additional ones would cost too much.
inline constexpr int64_t kFewColumns = 1000;

/// A target's answers to the pass `align-columns` (a target rewrite).
struct AlignColumnsRewrite {
  /// Returns the number that a product result's columns should be a multiple
  /// of, so that products can read it fast; 1 if any number of columns will do.
  std::function<int64_t(nn::MatmulOp)> multiple;
};

} // namespace frit

#endif // FRIT_COMPILER_TRANSFORM_TRAINING_ALIGNCOLUMNS_H
