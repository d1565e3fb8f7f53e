//===- CacheShapes.h - Sizes of inputs of decoders with caches ------------===//

#ifndef FRIT_COMPILER_IMPORT_CACHESHAPES_H
#define FRIT_COMPILER_IMPORT_CACHESHAPES_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"

#include <optional>
#include <string>

namespace frit {

/// Sizes of one call of a language model whose caches are inputs.
struct CacheCall {
  int64_t batch;      ///< sequences
  int64_t context;    ///< entries of the caches before the call
  int64_t tokens;     ///< of each sequence
  int64_t places = 0; ///< of the source; 0: the model has no encoder
};

/// What a file of a model with an encoder has, as optimum lays it out.
enum class ModelPart {
  other,
  encoder,      ///< what a decoder's input encoder_hidden_states is
  firstDecoder, ///< its first call, which gives caches of the source
  nextDecoder,  ///< later calls, which take them
  bothDecoders, ///< both, chosen by kCacheBranch
};

/// An input that chooses between a model with caches and one without, where a
/// file has both, as optimum's decoder_model_merged.onnx; and its value where
/// the caches are used, for ImportOptions::constInputs.
inline constexpr llvm::StringLiteral kCacheBranch = "use_cache_branch";
inline constexpr llvm::StringLiteral kTrue = "=true";
inline constexpr llvm::StringLiteral kFalse = "=false";

/// Returns whether an ONNX model has the input kCacheBranch, a bool.
bool hasCacheBranch(llvm::StringRef file);

/// Returns which part of a model with an encoder a file is; none if it is no
/// ONNX model.
std::optional<ModelPart> partOf(llvm::StringRef file);

/// Returns whether an encoder's file reads a sound: floats.
bool readsSound(llvm::StringRef file);

/// What a decoder's file says of its sizes; none where it leaves one open, or
/// has no such value.
struct DecoderSizes {
  std::optional<int64_t> layers; ///< caches of keys
  std::optional<int64_t> groups, headSize, heads, vocabulary;
};

/// Names of a decoder's values: caches of a layer have "%d" in theirs.
struct DecoderNames {
  std::string keys = "past_key_values.%d.key", logits = "logits";
};

/// Finds the sizes; none of a file that is no model.
DecoderSizes findDecoderSizes(llvm::StringRef file, const DecoderNames &names);

/// Returns the tokens of a call if a decoder's file fixes them.
std::optional<int64_t> fixedTokens(llvm::StringRef file);

/// Sizes of one call of an encoder.
struct EncoderCall {
  int64_t batch;
  int64_t places;     ///< tokens of each source
  int64_t bins = 0;   ///< of each frame of a sound; 0: the file says it
  int64_t frames = 0; ///< of a sound; 0: the file says it
};

/// Returns the shapes of the inputs of an ONNX model that `call` gives, by
/// name. Caches are inputs of floats with one open dimension besides the batch;
/// tokens and positions are batch × tokens, masks batch × (context + tokens).
/// With places, inputs of the source (names with "encoder") have those. None
/// for a file that is no model, which the import reports. `constants` are no
/// inputs. Fails if the model has no caches and no places.
llvm::Expected<llvm::StringMap<llvm::SmallVector<int64_t>>>
findCacheShapes(llvm::StringRef file, const CacheCall &call,
                const llvm::StringMap<std::string> &constants);

/// Returns the shapes of the inputs of an encoder. Fails if a size is open.
llvm::Expected<llvm::StringMap<llvm::SmallVector<int64_t>>>
findEncoderShapes(llvm::StringRef file, const EncoderCall &call);

} // namespace frit

#endif // FRIT_COMPILER_IMPORT_CACHESHAPES_H
