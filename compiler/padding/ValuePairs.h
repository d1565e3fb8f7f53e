//===- ValuePairs.h - Values of a small model in a large one --------------===//

#ifndef FRIT_COMPILER_PADDING_VALUEPAIRS_H
#define FRIT_COMPILER_PADDING_VALUEPAIRS_H

#include "compiler/padding/values/PaddedValue.h"

#include "dialects/nn/NN.h"
#include "dialects/nn/constants/ConstantValues.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace frit {

/// Returns whether two operators have the same kind and numbers of operands and
/// results.
bool areAlike(mlir::Operation *small, mlir::Operation *large);

/// Elements of constants of the large model, evaluated once.
using EvaluatedConstants =
    llvm::DenseMap<mlir::Value, std::optional<nn::ConstantValue>>;

/// Finds the padded value of an operand of the small model in the operand of
/// the large one that takes its place. The operators of both models are
/// compared in order, except those that importers create or fold away as sizes
/// have it: what depends on constants alone, and views. These have no
/// counterpart by order; they are compared where they are used.
class ValuePairs {
public:
  /// Compares two operators whose operands are paired.
  using Compare = llvm::function_ref<std::optional<PaddedValue>(
      mlir::Operation *small, mlir::Operation *large,
      llvm::ArrayRef<PaddedValue> operands)>;

  ValuePairs(Compare compare, EvaluatedConstants &evaluated)
      : compare(compare), evaluated(evaluated) {}

  void set(mlir::Value small, PaddedValue value) { known[small] = value; }

  /// Returns whether an operator is compared where it is used. Operators are
  /// passed in order, each after those that it depends on.
  bool isCompared(mlir::Operation *op);
  /// Skips a slice of either model that takes adjacent elements, where the
  /// other model takes all. Returns false for other operators.
  bool skipSlice(mlir::Operation *op);
  bool isSkipped(mlir::Operation *op) const { return slices.contains(op); }

  /// Returns nothing if the values are no pair, or the small one is not part of
  /// the large one.
  std::optional<PaddedValue> find(mlir::Value small, mlir::Value large);
  /// Returns the operator of the large model at which find() failed; null if
  /// the values are no pair.
  mlir::Operation *failed() const { return failure; }

private:
  std::optional<PaddedValue> search(mlir::Value small, mlir::Value large,
                                    int levels);
  std::optional<PaddedValue> findSlice(nn::SliceOp small, mlir::Value large,
                                       int levels);
  std::optional<PaddedValue> findInSlice(mlir::Value small, nn::SliceOp large,
                                         int levels);
  /// Returns a value's slice that was skipped, or null.
  nn::SliceOp skippedSlice(mlir::Value value) const;
  std::optional<PaddedValue> findRows(nn::GatherOp small, mlir::Value large,
                                      int levels);
  std::optional<PaddedValue> findConstant(mlir::Value small, mlir::Value large,
                                          int levels);
  std::optional<PaddedValue> compareElements(mlir::Value small,
                                             mlir::Value large);

  Compare compare;
  EvaluatedConstants &evaluated;
  llvm::DenseMap<mlir::Value, PaddedValue> known; ///< by value of the small
  llvm::DenseMap<std::pair<mlir::Value, mlir::Value>,
                 std::optional<PaddedValue>>
      pairs;
  /// Operators of both models that depend on constants alone.
  llvm::DenseSet<mlir::Operation *> constants;
  llvm::DenseSet<mlir::Operation *> slices; ///< skipped
  mlir::Operation *failure = nullptr;
};

} // namespace frit

#endif // FRIT_COMPILER_PADDING_VALUEPAIRS_H
