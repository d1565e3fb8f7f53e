//===- FoldNorms.h - Layer norms between products -------------------------===//

#ifndef FRIT_DIALECTS_NN_REWRITES_FOLDNORMS_H
#define FRIT_DIALECTS_NN_REWRITES_FOLDNORMS_H

#include "dialects/nn/NN.h"

#include <functional>

namespace frit::nn {

/// A target's answers to the pass `fold-norms` (a target rewrite).
struct FoldNormsRewrite {
  /// Returns the part width of the nn.moments that a product's kernel can
  /// compute for its result; 0 if it cannot. If not 0, it can also multiply
  /// rows normalized by such moments, and add a residual normalized by them.
  std::function<int64_t(MatmulOp)> momentWidth;
  /// Returns whether a separate kernel should merge the moments of so many
  /// rows, rather than every product that uses them.
  std::function<bool(int64_t)> mergesMoments;
};

/// A target's answer to the same pass: whether a scale gets the type of the
/// rows that it scales.
struct FoldScalesRewrite {
  /// Returns whether the kernels of a norm's readers then normalize the rows.
  std::function<bool(RmsNormOp)> takes;
};

} // namespace frit::nn

#endif // FRIT_DIALECTS_NN_REWRITES_FOLDNORMS_H
