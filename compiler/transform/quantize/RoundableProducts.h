//===- RoundableProducts.h - Products whose weights get few bits ----------===//

#ifndef FRIT_COMPILER_TRANSFORM_QUANTIZE_ROUNDABLEPRODUCTS_H
#define FRIT_COMPILER_TRANSFORM_QUANTIZE_ROUNDABLEPRODUCTS_H

#include "dialects/nn/NN.h"

namespace frit {

/// The pass's default: smaller weights stay as they are.
inline constexpr int64_t kFewestRounded = 16384;

/// Returns whether a product's matrix is made of constants that are no codes.
bool isRoundable(nn::MatmulOp product);

/// Returns whether a product's result reaches the function's results through
/// elementwise operators and movement only, as logits do. Its weights have
/// int8: their errors are not averaged by what follows.
bool endsModel(nn::MatmulOp product);

} // namespace frit

#endif // FRIT_COMPILER_TRANSFORM_QUANTIZE_ROUNDABLEPRODUCTS_H
