//===- Places.h - Places of the best elements -----------------------------===//

#ifndef FRIT_DIALECTS_NN_OPERATORS_PLACES_H
#define FRIT_DIALECTS_NN_OPERATORS_PLACES_H

#include "dialects/nn/NN.h"

namespace frit::nn {

/// A unit attribute of nn.arg_max, with which a NaN has no place: the result is
/// the size of the dimension if any element of it is NaN. Nothing is computed
/// for it. Without it, as after a rewrite that does not know it, the place of
/// a NaN is the result.
inline constexpr llvm::StringLiteral kNumbersOnly = "nn.numbers_only";

/// Returns the place of the largest element along the last dimension, which
/// stays with size 1, or its size if an element is NaN.
inline mlir::Value createPlaceOfMost(NNBuilder &b, mlir::Value x) {
  auto best = ArgMaxOp::create(b, x, /*axis=*/-1, /*keepdims=*/1,
                               /*select_last_index=*/0);
  best->setAttr(kNumbersOnly, b.getUnitAttr());
  return best;
}

} // namespace frit::nn

#endif // FRIT_DIALECTS_NN_OPERATORS_PLACES_H
