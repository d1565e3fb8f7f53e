//===- Sums.h - Sums over whole tensors -----------------------------------===//

#ifndef FRIT_COMPILER_TRAINING_SUMS_H
#define FRIT_COMPILER_TRAINING_SUMS_H

#include "dialects/nn/NN.h"

namespace frit {

/// Returns the sum of all elements as a tensor of rank 0.
inline nn::TensorExpr sumAll(nn::NNBuilder &b, mlir::Value x) {
  auto axes = llvm::to_vector(llvm::seq<int64_t>(nn::shapeOf(x).size()));
  return {b, b.reshape(b.reduce(x, nn::Combiner::sum, axes), {})};
}

} // namespace frit

#endif // FRIT_COMPILER_TRAINING_SUMS_H
