//===- FoldProducts.h - Products of sums with products --------------------===//

#ifndef FRIT_DIALECTS_NN_REWRITES_FOLDPRODUCTS_H
#define FRIT_DIALECTS_NN_REWRITES_FOLDPRODUCTS_H

#include "dialects/nn/NN.h"

#include <functional>

namespace frit::nn {

/// A target's answer to the pass `fold-products` (a target rewrite).
struct FoldProductsRewrite {
  /// Returns whether one kernel computes two convolutions and their sum.
  std::function<bool(ConvOp, ConvOp, AddOp)> takes;
};

} // namespace frit::nn

#endif // FRIT_DIALECTS_NN_REWRITES_FOLDPRODUCTS_H
