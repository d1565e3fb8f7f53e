//===- FoldUpsampling.h - Convolutions of doubled images ------------------===//

#ifndef FRIT_DIALECTS_NN_REWRITES_FOLDUPSAMPLING_H
#define FRIT_DIALECTS_NN_REWRITES_FOLDUPSAMPLING_H

#include "dialects/nn/NN.h"

#include <functional>

namespace frit::nn {

/// A target's answer to the pass `fold-upsampling` (a target rewrite).
struct FoldUpsamplingRewrite {
  /// Returns whether the second convolution, of the small image by four times
  /// the filters, and a kernel that orders its results are faster than the
  /// first, of the doubled image.
  std::function<bool(ConvOp, ConvOp)> takes;
};

} // namespace frit::nn

#endif // FRIT_DIALECTS_NN_REWRITES_FOLDUPSAMPLING_H
