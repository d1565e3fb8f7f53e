//===- PaddedWindows.h - Windows over padded inputs -----------------------===//

#ifndef FRIT_COMPILER_PADDING_VALUES_PADDEDWINDOWS_H
#define FRIT_COMPILER_PADDING_VALUES_PADDEDWINDOWS_H

#include "compiler/padding/values/PaddedValue.h"

#include "mlir/IR/Operation.h"

namespace frit {

/// Returns where the result of a convolution, of pooling or of a pad with a
/// constant is. Elements of the
/// input beyond the small model's must be what windows read outside of their
/// input: zeros for sums, -inf for maxima. Then each window of the small model
/// reads the same in both. The pads before the input decide where windows are;
/// those after it only how many there are. Returns nothing for other operators.
std::optional<PaddedValue> padWindows(mlir::Operation *small,
                                      mlir::Operation *large,
                                      llvm::ArrayRef<PaddedValue> operands);

} // namespace frit

#endif // FRIT_COMPILER_PADDING_VALUES_PADDEDWINDOWS_H
