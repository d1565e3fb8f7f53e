//===- CompressWeights.h - Sparse weights without their zeros -------------===//

#ifndef FRIT_DIALECTS_NN_REWRITES_COMPRESSWEIGHTS_H
#define FRIT_DIALECTS_NN_REWRITES_COMPRESSWEIGHTS_H

#include "dialects/nn/Match.h"
#include "dialects/nn/NN.h"

#include <functional>

namespace frit::nn {

/// A target's answer to the pass `compress-weights` (a target rewrite).
struct CompressWeightsRewrite {
  /// Returns why a kernel does not compute a product faster if its constant
  /// matrix, which has numbers or codes, is an nn.decompress.
  std::function<Legality(MatmulOp)> check;
};

} // namespace frit::nn

#endif // FRIT_DIALECTS_NN_REWRITES_COMPRESSWEIGHTS_H
