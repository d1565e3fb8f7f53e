//===- AlignColumns.h - Whole vectors in the columns of products ----------===//

#ifndef FRIT_COMPILER_TRANSFORM_TRAINING_ALIGNCOLUMNS_H
#define FRIT_COMPILER_TRANSFORM_TRAINING_ALIGNCOLUMNS_H

#include "dialects/nn/NN.h"

#include <functional>

namespace frit {

/// What the pass `align-columns` asks (a target rewrite).
struct AlignColumnsRewrite {
  /// Returns a number of which the columns of a product's result should be a
  /// multiple, so that products can read it fast; 1 if any do.
  std::function<int64_t(nn::MatmulOp)> multiple;
};

} // namespace frit

#endif // FRIT_COMPILER_TRANSFORM_TRAINING_ALIGNCOLUMNS_H
