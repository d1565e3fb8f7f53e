//===- AlignColumns.h - Align the columns of products ---------------------===//

#ifndef FRIT_DIALECTS_NN_REWRITES_ALIGNCOLUMNS_H
#define FRIT_DIALECTS_NN_REWRITES_ALIGNCOLUMNS_H

#include "dialects/nn/NN.h"

#include <functional>

namespace frit::nn {

/// A target's answers to the pass `align-columns` (a target rewrite).
struct AlignColumnsRewrite {
  /// Returns the number that a product result's columns should be a multiple
  /// of, so that products can read it fast; 1 if any number of columns will do.
  std::function<int64_t(MatmulOp)> multiple;
};

} // namespace frit::nn

#endif // FRIT_DIALECTS_NN_REWRITES_ALIGNCOLUMNS_H
