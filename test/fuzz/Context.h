//===- Context.h - A context for inputs that leave things in it -----------===//

#ifndef FRIT_TEST_FUZZ_CONTEXT_H
#define FRIT_TEST_FUZZ_CONTEXT_H

#include "mlir/IR/MLIRContext.h"

namespace frit::fuzz {

/// A context with the dialects that `load` loads. It serves some inputs and
/// then is made anew, so that what they leave in it does not add up. It keeps
/// diagnostics to itself and counts them.
mlir::MLIRContext &context(void (*load)(mlir::MLIRContext &) = nullptr);

/// How many errors `context()` has seen.
unsigned errors();

} // namespace frit::fuzz

#endif // FRIT_TEST_FUZZ_CONTEXT_H
