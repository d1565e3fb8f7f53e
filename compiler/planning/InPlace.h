//===- InPlace.h - Which values may be overwritten ------------------------===//

#ifndef FRIT_COMPILER_PLANNING_INPLACE_H
#define FRIT_COMPILER_PLANNING_INPLACE_H

#include "dialects/nn/NN.h"

namespace frit::planning {

/// Returns whether nothing but one operator, possibly through reshapes, uses
/// a value.
bool hasOneReader(mlir::Value value);

/// Returns whether a value, possibly through reshapes, is replaced by its mean
/// over ranks.
bool isReduced(mlir::Value value);

/// Returns the nn.update that replaces a whole state; null if a value is the
/// result of none, possibly through reshapes.
nn::UpdateOp replacementOf(mlir::Value value);

/// Returns the argument that a value is tied to: that of which nn.update makes
/// it, in fusions or not, possibly through reshapes. Null if there is none.
mlir::BlockArgument tiedArgument(mlir::Value value);

/// Returns whether a state's value before a replacement is read later.
bool isReadAfter(nn::UpdateOp update, mlir::BlockArgument before);

/// Returns whether the kernel may write a state's new value over the old one:
/// nothing reads the old one later, and result i needs only its element i.
bool mayOverwrite(mlir::BlockArgument before, mlir::Value after);

/// Returns whether the fusion may write over an operand that one of its results
/// is tied to: all other readers of the operand's value run earlier, and the
/// fusion itself reads none of its elements.
bool mayReplace(nn::FusionOp fusion, unsigned operand);

} // namespace frit::planning

#endif // FRIT_COMPILER_PLANNING_INPLACE_H
