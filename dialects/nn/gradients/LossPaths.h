//===- LossPaths.h - How the loss depends on a value ----------------------===//

#ifndef FRIT_DIALECTS_NN_GRADIENTS_LOSSPATHS_H
#define FRIT_DIALECTS_NN_GRADIENTS_LOSSPATHS_H

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Operation.h"

namespace frit {

/// The shortest paths from values of a block to the loss, through operators
/// with and without gradients.
class LossPaths {
public:
  explicit LossPaths(mlir::Value loss);

  /// Returns how many operators are on the path; none if the loss does not
  /// depend on the value.
  std::optional<unsigned> length(mlir::Value value) const;

  /// Returns the first operator on the path through which no gradient passes
  /// back; null if there is none.
  mlir::Operation *findBlocker(mlir::Value value) const;

  /// Adds a note for each of the operators that follow `op` on its path.
  void attachNotes(mlir::InFlightDiagnostic &message,
                   mlir::Operation *op) const;

private:
  struct Step {
    mlir::Value next; ///< result of a reader; null for the loss
    unsigned length = 0;
  };
  /// Returns the first value after `value`, or null at the path's end.
  mlir::Value after(mlir::Value value) const {
    return steps.lookup(value).next;
  }

  llvm::DenseMap<mlir::Value, Step> steps;
};

} // namespace frit

#endif // FRIT_DIALECTS_NN_GRADIENTS_LOSSPATHS_H
