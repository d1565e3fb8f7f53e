//===- GateProducts.h - Gated columns of products -------------------------===//

#ifndef FRIT_DIALECTS_NN_REWRITES_GATEPRODUCTS_H
#define FRIT_DIALECTS_NN_REWRITES_GATEPRODUCTS_H

#include "dialects/nn/NN.h"

#include <functional>

namespace frit::nn {

/// A target's answers to the pass `gate-products` (a target rewrite).
struct GateProductsRewrite {
  /// Returns whether a product's kernel computes nn.gate_columns of its result.
  std::function<bool(MatmulOp)> takes;
};

} // namespace frit::nn

#endif // FRIT_DIALECTS_NN_REWRITES_GATEPRODUCTS_H
