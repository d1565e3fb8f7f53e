//===- HideKeys.h - Mask scores of attention by their keys ----------------===//

#ifndef FRIT_COMPILER_DECODER_CACHES_HIDEKEYS_H
#define FRIT_COMPILER_DECODER_CACHES_HIDEKEYS_H

#include "dialects/nn/NN.h"

namespace frit::decoder {

/// Finds the scores of attention that a tensor's rows along an axis are keys
/// of, and hides keys from queries. Tensors whose rows are values end in a
/// product with what a softmax gives.
class KeyHider {
public:
  /// `seen` is a bool of batch × queries × keys.
  KeyHider(nn::NNBuilder &b, mlir::Value seen) : b(b), seen(seen) {}

  /// Follows the keys or values of a cache from `value`, whose dimension `axis`
  /// they are. Fails after an error at an operator that it does not know.
  llvm::LogicalResult follow(mlir::Value value, int64_t axis);

  /// Returns how many tensors that were followed are keys.
  int64_t keyCount() const { return keys; }

private:
  llvm::LogicalResult visit(mlir::OpOperand &use, int64_t axis);
  llvm::LogicalResult hide(mlir::Operation *op, mlir::OpOperand *scores);
  mlir::Value seenFor(llvm::ArrayRef<int64_t> shape);

  nn::NNBuilder &b;
  mlir::Value seen;
  int64_t keys = 0;
  bool areKeys = false; ///< what is followed now
  llvm::DenseSet<mlir::Operation *> hidden;
};

} // namespace frit::decoder

#endif // FRIT_COMPILER_DECODER_CACHES_HIDEKEYS_H
