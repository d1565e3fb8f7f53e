//===- AttentionScores.h - From a softmax back to a product ---------------===//

#ifndef FRIT_COMPILER_TRANSFORM_RECOGNIZE_ATTENTIONSCORES_H
#define FRIT_COMPILER_TRANSFORM_RECOGNIZE_ATTENTIONSCORES_H

#include "compiler/transform/recognize/MaskValue.h"

namespace frit {

/// Returns the number that all elements of a value are equal to, looking
/// through views.
std::optional<double> numberOf(mlir::Value value);

/// Returns the value that `op` multiplies by a number, and multiplies `scale`
/// by that number; null if `op` does something else.
mlir::Value takeScale(mlir::Operation *op, double &scale);

bool isFloatCast(mlir::Operation *op);

/// Returns whether `op` is a view that keeps the last two dimensions.
bool keepsMatrices(mlir::Operation *op);

/// Returns the dimensions before the last two; the rank is at least 2.
llvm::SmallVector<int64_t> leadingShape(mlir::Value value);

/// Returns whether `value` comes from a product through operators that
/// AttentionScores understands.
bool reachesProduct(mlir::Value value, unsigned depth = 12);

/// Returns the lowest number of a float type.
double lowestOf(mlir::Type type);

/// Returns the type in which scores of the type of `like` are masked.
mlir::Type maskType(mlir::Value like);

/// Follows the operators from a softmax back to the product of queries and
/// keys. AttentionScores.cpp collects what lies between, AttentionMasks.cpp
/// makes one mask of it.
class AttentionScores {
public:
  explicit AttentionScores(nn::NNBuilder &b) : b(b) {}

  /// Collects scale and masks from `value`, the softmax's operand, to the
  /// product. Returns false if there is no such product, or if an operator on
  /// the way has other readers; `value` itself has `readers` that are known.
  bool follow(mlir::Value value, unsigned readers = 1);
  /// Combines the masks found into one for batch×heads matrices; returns false
  /// on failure.
  bool combineMasks(llvm::ArrayRef<int64_t> batchAndHeads);

  nn::MatmulOp product;
  double scale = 1;
  bool causal = false;
  mlir::Value mask;
  /// The factor of each row of the scores, or null, and the leading dimensions
  /// of the scores at that point.
  mlir::Value rowScale;
  llvm::SmallVector<int64_t> scaledShape;
  /// The two leading dimensions of the scores, from a point where there are
  /// two.
  llvm::SmallVector<int64_t> batchAndHeads;

private:
  struct Mask {
    mlir::Value value;
    bool hides = false; ///< whether true means hidden
    llvm::SmallVector<int64_t>
        leading;      ///< leading dimensions of the masked scores
    double scale = 1; ///< scale of an additive mask
    /// The finite number by which a condition replaces scores: a query with no
    /// other scores gives the mean of their values.
    std::optional<double> number = std::nullopt;
    /// The ranges of keys that the mask shows, if it hides the others by a
    /// finite number.
    std::optional<MaskRanges> ranges = std::nullopt;
  };

  mlir::Value step(mlir::Operation *op);
  mlir::Value stepRowScale(nn::MulOp op);
  mlir::Value stepBias(nn::AddOp op);
  mlir::Value stepSelection(nn::WhereOp op);
  bool stepSelectedBias(nn::WhereOp bias, mlir::Value scores);
  void addMask(mlir::Value mask, bool hides, mlir::Value scores);
  bool addRanges(const MaskRanges &more, llvm::ArrayRef<int64_t> leading);
  void joinFiniteRanges();
  bool chooseNumbers();

  nn::NNBuilder &b;
  /// Masks whose form has no name.
  llvm::SmallVector<Mask> masks;
  /// The ranges of keys that the others show, if there are any.
  std::optional<MaskRanges> ranges;
};

} // namespace frit

#endif // FRIT_COMPILER_TRANSFORM_RECOGNIZE_ATTENTIONSCORES_H
