//===- Caches.h - Decoders whose caches are inputs and outputs ------------===//

#ifndef FRIT_COMPILER_DECODER_CACHES_CACHES_H
#define FRIT_COMPILER_DECODER_CACHES_CACHES_H

#include "frit/roles.h"

#include "mlir/IR/BuiltinOps.h"

#include <optional>

namespace frit::decoder {

/// The sizes for which a model with caches was imported.
struct CacheSizes {
  int64_t batch;      ///< sequences
  int64_t context;    ///< entries of caches before a call
  int64_t tokens;     ///< of each sequence in a call
  int64_t places = 0; ///< of the source; 0: there is no encoder
};

/// Returns whether an input of a decoder is of an encoder's source, as
/// encoder_hidden_states and past_key_values.0.encoder.key are.
inline bool isOfSource(llvm::StringRef name) {
  return name.contains("encoder");
}

/// Turns @main of an imported model into a function of FRIT_FUNCTION_PREFILL,
/// FRIT_FUNCTION_DECODE or FRIT_FUNCTION_VERIFY (runtime/include/frit/roles.h).
///
/// The model was imported once for each size of a chunk. It takes tokens and
/// positions, batch × tokens, and may take a mask of keys, batch × (context +
/// tokens). To the model a sequence is padded on the left, so that masks which
/// it computes of its shapes stay right; each call copies the caches in that
/// order. An output that is an input with rows after it is the input's cache.
/// Of a model with an encoder, inputs of the source become states that the
/// function does not write. Fails after reporting what does not fit.
llvm::LogicalResult bindCaches(mlir::ModuleOp module, const CacheSizes &sizes,
                               frit_function_role role);

/// The place of a cache's empty entries: before the filled ones if the model
/// concatenates rows, behind them if it writes rows in place.
enum class Padding { front, back };

/// Compares two imports of a model, for `entries` and `entries` + 1 entries and
/// otherwise alike: whether padding, which the entries' number decides, changes
/// what the model computes. Constants have to be the same, or the same but for
/// one more entry on that side. Fails after reporting the first that is not.
llvm::LogicalResult checkPadding(mlir::ModuleOp model, mlir::ModuleOp longer,
                                 Padding padding, int64_t entries);

} // namespace frit::decoder

#endif // FRIT_COMPILER_DECODER_CACHES_CACHES_H
