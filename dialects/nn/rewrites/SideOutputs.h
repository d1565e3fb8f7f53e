//===- SideOutputs.h - Second results of kernels --------------------------===//

#ifndef FRIT_DIALECTS_NN_REWRITES_SIDEOUTPUTS_H
#define FRIT_DIALECTS_NN_REWRITES_SIDEOUTPUTS_H

#include "dialects/nn/NN.h"

#include <functional>

namespace frit::nn {

/// Target rewrite of the pass `side-outputs`. A target may have several.
struct SideOutputsRewrite {
  /// Returns whether one kernel computes the fusion and reads its inputs once.
  std::function<bool(FusionOp)> takes;
  /// Rows of a part whose columns the kernel can sum (nn.column_sums); 0 if it
  /// sums none.
  int64_t sumHeight = 0;
};

} // namespace frit::nn

#endif // FRIT_DIALECTS_NN_REWRITES_SIDEOUTPUTS_H
