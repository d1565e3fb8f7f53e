//===- FusedStep.h - Kernels of a training step, in order -----------------===//

#ifndef FRIT_COMPILER_TRAINING_GRADIENTS_FUSEDSTEP_H
#define FRIT_COMPILER_TRAINING_GRADIENTS_FUSEDSTEP_H

#include "dialects/nn/NN.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace frit {

/// Returns the bytes of tensors.
int64_t bytesOf(mlir::ValueRange values);

/// A fused training step, whose operators are in the order in which they run.
class FusedStep {
public:
  explicit FusedStep(mlir::func::FuncOp main);

  /// Inserts copies of `chosen` for the backward pass; returns them.
  llvm::SmallVector<mlir::Operation *>
  copy(const llvm::DenseSet<mlir::Operation *> &chosen);

  /// Returns the most bytes that are live at once.
  int64_t peak() const;

  /// All fusions, and those of the forward pass.
  llvm::SmallVector<mlir::Operation *> fusions, forward;

  /// Returns the bytes of an operator's results that the backward pass reads.
  int64_t keptBytes(mlir::Operation *op) const;

  /// Returns whether a fusion of the forward pass after the one numbered
  /// `position` reads results of `op`.
  bool crosses(mlir::Operation *op, size_t position) const;

private:
  mlir::Value newest(mlir::Value value, mlir::Operation *before);
  llvm::SmallVector<mlir::Operation *> readersOf(mlir::Value value) const;

  mlir::Block &block;
  llvm::DenseMap<mlir::Operation *, size_t> positions; ///< of `forward`
  /// Operators that the loss depends on.
  llvm::DenseSet<mlir::Operation *> lossNeeds;
  /// Operators of the backward pass, in order.
  llvm::SmallVector<mlir::Operation *> backward;
  llvm::DenseSet<mlir::Operation *> isBackward;

  const llvm::DenseSet<mlir::Operation *> *chosen = nullptr;
  llvm::DenseMap<mlir::Value, mlir::Value> copies;
  llvm::SmallVector<mlir::Operation *> made;
};

} // namespace frit

#endif // FRIT_COMPILER_TRAINING_GRADIENTS_FUSEDSTEP_H
