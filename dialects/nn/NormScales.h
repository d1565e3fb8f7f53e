//===- NormScales.h - A target's choice of the type of norms' scales ------===//

#ifndef FRIT_DIALECTS_NN_NORMSCALES_H
#define FRIT_DIALECTS_NN_NORMSCALES_H

#include "dialects/nn/NN.h"

#include <functional>

namespace frit {

/// Target rewrite of the pass `fold-norms`, which gives a scale the type of the
/// rows that it scales.
struct FoldScalesRewrite {
  /// Returns whether the kernels of a norm's readers then normalize the rows.
  std::function<bool(nn::RmsNormOp)> takes;
};

} // namespace frit

#endif // FRIT_DIALECTS_NN_NORMSCALES_H
