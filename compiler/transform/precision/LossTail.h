//===- LossTail.h - The operators between products and a loss -------------===//

#ifndef FRIT_COMPILER_TRANSFORM_PRECISION_LOSSTAIL_H
#define FRIT_COMPILER_TRANSFORM_PRECISION_LOSSTAIL_H

#include "mlir/IR/Block.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace frit::precision {

/// The operators of a function that trains which compute its loss from the last
/// products, and nothing else but results of the function. Those that read an
/// f32 value there stay f32, as types promote under PyTorch's autocast: a
/// number of 16 bits would have 2 or 3 digits of the loss.
class LossTail {
public:
  /// Finds the tail of a function's only block; none if nothing trains.
  explicit LossTail(mlir::Block &block);

  /// Returns whether an operator stays f32: in the tail, means and softmax, and
  /// those of which an operand `isWide`.
  bool keepsWide(mlir::Operation *op,
                 llvm::function_ref<bool(mlir::Value)> isWide) const;

private:
  llvm::DenseSet<mlir::Operation *> tail;
};

/// Returns whether a value is an input of a model.
bool isInput(mlir::Value value);

} // namespace frit::precision

#endif // FRIT_COMPILER_TRANSFORM_PRECISION_LOSSTAIL_H
