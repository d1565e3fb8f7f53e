//===- Caches.h - Decoders whose caches are inputs and outputs ------------===//

#ifndef FRIT_COMPILER_DECODER_CACHES_H
#define FRIT_COMPILER_DECODER_CACHES_H

#include "frit/roles.h"

#include "mlir/IR/BuiltinOps.h"

namespace frit::decoder {

/// Turns @main of an imported model into a function of FRIT_FUNCTION_PREFILL,
/// FRIT_FUNCTION_DECODE or FRIT_FUNCTION_VERIFY (runtime/include/frit/roles.h).
///
/// The model was imported for caches of `context` entries and calls of `tokens`
/// tokens for each of `batch` sequences, once for each size of a chunk. It
/// takes tokens and positions, batch × tokens, and a mask of keys, batch ×
/// (context + tokens). To the model a sequence is padded on the left, so that
/// masks which it computes of its shapes stay right; each call copies the
/// caches in that order. An output that is an input with rows after it is the
/// input's cache. Fails after reporting what does not fit.
llvm::LogicalResult bindCaches(mlir::ModuleOp module, int64_t batch,
                               int64_t context, int64_t tokens,
                               frit_function_role role);

} // namespace frit::decoder

#endif // FRIT_COMPILER_DECODER_CACHES_H
