//===- Families.h - Families of decoders that the builder knows -----------===//

#ifndef FRIT_COMPILER_DECODER_FAMILIES_H
#define FRIT_COMPILER_DECODER_FAMILIES_H

#include "compiler/decoder/Config.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace frit::decoder {

/// Which layers have a sliding window, where no list says so.
enum class WindowRule {
  none,
  all,
  alternate, ///< layers 0, 2, 4, …
  pattern,   ///< all but each sixth, or as a pattern of another length says
  fromLayer, ///< with use_sliding_window, from layer max_window_layers on
};

/// A family of models: the switches of its name, and what its configurations
/// may leave out.
struct Family {
  llvm::StringRef type;         ///< model_type in config.json
  llvm::StringRef architecture; ///< of language models in "architectures"
  DecoderConfig switches;
  WindowRule windows = WindowRule::none;
  int64_t window = 0;   ///< sliding_window; 0: none
  int64_t headSize = 0; ///< head_dim; 0: hidden_size / num_attention_heads
  double theta = 10000;
  bool hasEncoder = false; ///< the decoder attends to what it reads
  bool hasBias = false; ///< has attention_bias for all of attention's products
};

/// Returns the family of a model_type; null if it is unknown.
const Family *findFamily(llvm::StringRef type);

/// Returns all families.
llvm::ArrayRef<Family> families();

} // namespace frit::decoder

#endif // FRIT_COMPILER_DECODER_FAMILIES_H
