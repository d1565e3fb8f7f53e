//===- WideReaders.h - Values that must stay f32 --------------------------===//

#ifndef FRIT_COMPILER_TRANSFORM_PRECISION_WIDEREADERS_H
#define FRIT_COMPILER_TRANSFORM_PRECISION_WIDEREADERS_H

#include "compiler/transform/precision/PrecisionClasses.h"

#include "mlir/IR/Block.h"
#include "llvm/ADT/DenseMap.h"

namespace frit::precision {

/// Returns whether one of the patterns `keep` names a node of the operator.
bool isNamed(llvm::ArrayRef<std::string> keep, mlir::Operation *op);

/// Finds the f32 values of a block that reach an operator that stays f32, or a
/// node that `keep` names, through operators that preserve precision.
class WideReaders {
public:
  WideReaders(llvm::ArrayRef<std::string> keep, mlir::Block &block);

  /// Return whether some reader of `value` leads there, and whether all do.
  bool some(mlir::Value value) const { return readers.lookup(value).some; }
  bool all(mlir::Value value) const { return readers.lookup(value).all; }
  /// Returns whether `value` leads to a sine, cosine or tangent.
  bool angle(mlir::Value value) const { return readers.lookup(value).angle; }
  /// Returns whether `value` leads to a position.
  bool position(mlir::Value value) const {
    return readers.lookup(value).position;
  }
  /// Returns whether an operator is one of those that preserve precision.
  bool passes(mlir::Operation *op) const {
    return preservesPrecision(op) ||
           (computesAngles(op) &&
            (angle(op->getResult(0)) || position(op->getResult(0))));
  }
  /// Returns whether an operator computes positions.
  bool findsPosition(mlir::Operation *op) const {
    return computesPositions(op) && position(op->getResult(0));
  }
  /// Returns whether an operator leads to a logarithm.
  bool findsLog(mlir::Operation *op) const {
    return leadsToLog(op) && readers.lookup(op->getResult(0)).log;
  }
  /// Returns whether `value` leads to a result of the function.
  bool result(mlir::Value value) const { return readers.lookup(value).result; }
  /// Returns whether `value` leads to a sum or mean, at most moved.
  bool sum(mlir::Value value) const { return readers.lookup(value).sum; }
  /// Returns whether `value` leads to a mask.
  bool mask(mlir::Value value) const { return readers.lookup(value).mask; }

private:
  struct Readers {
    bool some = false, all = false, angle = false, result = false,
         position = false, log = false, sum = false, mask = false;
  };
  Readers readersOf(mlir::Value value) const;

  llvm::ArrayRef<std::string> kept; ///< globs of nodes' names
  llvm::DenseMap<mlir::Value, Readers> readers;
};

} // namespace frit::precision

#endif // FRIT_COMPILER_TRANSFORM_PRECISION_WIDEREADERS_H
