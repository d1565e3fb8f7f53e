//===- CacheShapes.h - Sizes of inputs of decoders with caches ------------===//

#ifndef FRIT_COMPILER_IMPORT_CACHESHAPES_H
#define FRIT_COMPILER_IMPORT_CACHESHAPES_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"

namespace frit {

/// Sizes of one call of a language model whose caches are inputs.
struct CacheCall {
  int64_t batch;   ///< sequences
  int64_t context; ///< entries of the caches before the call
  int64_t tokens;  ///< of each sequence
};

/// An input that chooses between a model with caches and one without, where a
/// file has both, as optimum's decoder_model_merged.onnx; and its value where
/// the caches are used, for ImportOptions::constInputs.
inline constexpr llvm::StringLiteral kCacheBranch = "use_cache_branch";
inline constexpr llvm::StringLiteral kTrue = "=true";

/// Returns whether an ONNX model has the input kCacheBranch, a bool.
bool hasCacheBranch(llvm::StringRef file);

/// Returns the shapes of the inputs of an ONNX model that `call` gives, by
/// name. Caches are inputs of floats with one open dimension besides the batch;
/// tokens and positions are batch × tokens, masks batch × (context + tokens).
/// None for a file that is no model, which the import reports. `constants` are
/// no inputs. Fails if the model has no caches.
llvm::Expected<llvm::StringMap<llvm::SmallVector<int64_t>>>
findCacheShapes(llvm::StringRef file, const CacheCall &call,
                const llvm::StringMap<std::string> &constants);

} // namespace frit

#endif // FRIT_COMPILER_IMPORT_CACHESHAPES_H
