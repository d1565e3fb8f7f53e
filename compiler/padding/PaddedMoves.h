//===- PaddedMoves.h - Elements that several operators move ---------------===//

#ifndef FRIT_COMPILER_PADDING_PADDEDMOVES_H
#define FRIT_COMPILER_PADDING_PADDEDMOVES_H

#include "compiler/padding/ValuePairs.h"

#include "llvm/ADT/MapVector.h"

namespace frit {

/// Compares chains of operators that only move elements by what they do
/// together, where one of them alone does not keep the small model's elements
/// in front.
class PaddedMoves {
public:
  explicit PaddedMoves(ValuePairs &pairs) : pairs(pairs) {}

  /// Leaves two operators to be compared where what they move is used. `reason`
  /// is the operator of the large model that could not be compared. Returns
  /// false for operators that do not move elements.
  bool putOff(mlir::Operation *small, mlir::Operation *large,
              mlir::Operation *reason);
  /// Returns the small model's elements as the leading ones of the large
  /// model's, or nothing if they are not, and adds what it returns to the
  /// pairs.
  std::optional<PaddedValue> find(mlir::Value small, mlir::Value large);
  /// Returns the operator for whose sake a value's comparison was put off, or
  /// null.
  mlir::Operation *reasonOf(mlir::Value large) const;

private:
  /// An element of a value that is known, by its number; or an element of a
  /// pad.
  struct Source {
    int root = -1;
    int64_t at = 0;
  };
  using Sources = std::vector<Source>;

  size_t countUntouched(mlir::Value value) const;
  std::optional<Sources> findSources(mlir::Value value, size_t untouched,
                                     llvm::SmallVectorImpl<mlir::Value> &roots);
  bool isMoved(mlir::Value value) const;
  bool areEqual(const Sources &small, const Sources &large,
                const PaddedValue &value, mlir::Value from, size_t untouched,
                llvm::ArrayRef<mlir::Value> roots,
                llvm::ArrayRef<PaddedValue> known) const;

  ValuePairs &pairs;
  /// Operators of both models, by the operator of the large one that could not
  /// be compared.
  llvm::DenseMap<mlir::Operation *, mlir::Operation *> reasons;
};

} // namespace frit

#endif // FRIT_COMPILER_PADDING_PADDEDMOVES_H
