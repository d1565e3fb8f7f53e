//===- TransposeWeights.h - Weights along the columns of products ---------===//

#ifndef FRIT_DIALECTS_NN_REWRITES_TRANSPOSEWEIGHTS_H
#define FRIT_DIALECTS_NN_REWRITES_TRANSPOSEWEIGHTS_H

#include "dialects/nn/NN.h"

#include <functional>

namespace frit::nn {

/// A target's answer to the pass `transpose-weights` (a target rewrite).
struct TransposeWeightsRewrite {
  /// Returns whether a product that reads its constant B transposed is faster
  /// by so much if rows of B are neighbours that another copy of B in memory
  /// pays. `uses` products read B so.
  std::function<bool(MatmulOp, size_t uses)> takes;
};

} // namespace frit::nn

#endif // FRIT_DIALECTS_NN_REWRITES_TRANSPOSEWEIGHTS_H
