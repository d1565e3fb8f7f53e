//===- PositionMasks.h - Masks by positions as ranges of keys -------------===//

#ifndef FRIT_COMPILER_TRANSFORM_RECOGNIZE_POSITIONMASKS_H
#define FRIT_COMPILER_TRANSFORM_RECOGNIZE_POSITIONMASKS_H

#include "mlir/IR/Block.h"

namespace frit {

/// Gives attention ranges of keys instead of masks that compare the keys'
/// places with the tokens' positions behind a sequence's length.
void rewritePositionMasks(mlir::Block &block);

} // namespace frit

#endif // FRIT_COMPILER_TRANSFORM_RECOGNIZE_POSITIONMASKS_H
