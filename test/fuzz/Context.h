//===- Context.h - An MLIR context that is renewed regularly --------------===//

#ifndef FRIT_TEST_FUZZ_CONTEXT_H
#define FRIT_TEST_FUZZ_CONTEXT_H

#include "mlir/IR/MLIRContext.h"

namespace frit::fuzz {

/// Returns a context with the dialects that `load` loads. It is renewed after
/// some inputs, so that what they leave in it does not accumulate. It
/// suppresses diagnostics and counts them.
mlir::MLIRContext &context(void (*load)(mlir::MLIRContext &) = nullptr);

/// Number of errors that `context()` has seen.
unsigned errors();

} // namespace frit::fuzz

#endif // FRIT_TEST_FUZZ_CONTEXT_H
