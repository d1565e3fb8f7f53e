//===- AttentionScores.h - From a softmax back to a product ---------------===//

#ifndef FRIT_COMPILER_TRANSFORM_RECOGNIZE_ATTENTIONSCORES_H
#define FRIT_COMPILER_TRANSFORM_RECOGNIZE_ATTENTIONSCORES_H

#include "dialects/nn/NN.h"

#include <optional>

namespace frit {

/// The number that all elements of a value are, seen through views.
std::optional<double> numberOf(mlir::Value value);

/// The value that `op` multiplies by a number, which is multiplied to `scale`.
mlir::Value takeScale(mlir::Operation *op, double &scale);

bool isFloatCast(mlir::Operation *op);

/// Whether a view leaves the last two dimensions alone.
bool keepsMatrices(mlir::Operation *op);

/// The dimensions before the last two, of which there are as many at least.
llvm::SmallVector<int64_t> leadingShape(mlir::Value value);

/// The way from a softmax back to the product of queries and keys.
class AttentionScores {
public:
  explicit AttentionScores(nn::NNBuilder &b) : b(b) {}

  /// Collects scale and masks on the way from `value`, which the softmax reads.
  bool follow(mlir::Value value);
  /// Makes one mask of those found, for scores of batch×heads matrices.
  bool combineMasks(llvm::ArrayRef<int64_t> batchAndHeads);

  nn::MatmulOp product;
  double scale = 1;
  bool causal = false;
  mlir::Value mask;
  /// What rows of the scores are multiplied by, or null, and the dimensions
  /// before the scores' last two where they are.
  mlir::Value rowScale;
  llvm::SmallVector<int64_t> scaledShape;
  /// The two dimensions before the scores' last two, wherever there are two.
  llvm::SmallVector<int64_t> batchAndHeads;

private:
  struct Mask {
    mlir::Value value;
    bool hides = false;                 ///< true where scores do not count
    llvm::SmallVector<int64_t> leading; ///< of the scores that it applies to
    double scale = 1; ///< which a mask that is added is scaled by
  };

  mlir::Value step(mlir::Operation *op);
  mlir::Value stepRowScale(nn::MulOp op);
  mlir::Value stepBias(nn::AddOp op);
  mlir::Value stepSelection(nn::WhereOp op);
  bool reaches(mlir::Value value, unsigned depth = 12) const;
  bool isKnownMask(mlir::Value mask, mlir::Value scores, double scale = 1);

  nn::NNBuilder &b;
  llvm::SmallVector<Mask> masks;
};

} // namespace frit

#endif // FRIT_COMPILER_TRANSFORM_RECOGNIZE_ATTENTIONSCORES_H
