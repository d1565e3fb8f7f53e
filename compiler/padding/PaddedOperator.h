//===- PaddedOperator.h - One operator on a small and on a large tensor ---===//

#ifndef FRIT_COMPILER_PADDING_PADDEDOPERATOR_H
#define FRIT_COMPILER_PADDING_PADDEDOPERATOR_H

#include "compiler/padding/PaddedValue.h"

#include "mlir/IR/Operation.h"

namespace frit {

/// Where the result of an nn operator, no composite, is in that of another from
/// where its operands are. Nothing: it cannot be shown to be there.
std::optional<PaddedValue> padOperator(mlir::Operation *small,
                                       mlir::Operation *large,
                                       llvm::ArrayRef<PaddedValue> operands);

} // namespace frit

#endif // FRIT_COMPILER_PADDING_PADDEDOPERATOR_H
