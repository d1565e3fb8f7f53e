//===- PairConfig.h - Sizes of a model in files of ONNX -------------------===//

#ifndef FRIT_COMPILER_DECODER_CACHES_PAIRCONFIG_H
#define FRIT_COMPILER_DECODER_CACHES_PAIRCONFIG_H

#include "mlir/IR/Location.h"
#include "llvm/Support/LogicalResult.h"

#include <optional>

namespace frit::decoder {

/// What config.json beside an encoder's file says; 0 or none: nothing.
struct PairConfig {
  /// Tokens that the decoder is for; of a text also those of its source.
  std::optional<int64_t> positions;
  int64_t bins = 0;   ///< of each frame of a sound's spectrum
  int64_t frames = 0; ///< places of a sound, one for two frames
};

/// Reads a configuration; nothing if there is no such file. Fails after an
/// error at `loc`.
llvm::FailureOr<PairConfig> readPairConfig(llvm::StringRef path,
                                           mlir::Location loc);

} // namespace frit::decoder

#endif // FRIT_COMPILER_DECODER_CACHES_PAIRCONFIG_H
