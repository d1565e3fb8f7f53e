//===- GenaiConfig.h - Folders of onnxruntime-genai -----------------------===//
//===//

#ifndef FRIT_COMPILER_DRIVER_OPTIONS_GENAICONFIG_H
#define FRIT_COMPILER_DRIVER_OPTIONS_GENAICONFIG_H

#include "compiler/import/CacheShapes.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <optional>
#include <string>

namespace frit {

/// What a folder's genai_config.json says of its language model.
struct GenaiConfig {
  std::string file;    ///< the decoder's path, in the folder
  int64_t context = 0; ///< the most tokens that it is for
  DecoderSizes sizes;
  DecoderNames names;
};

/// Reads genai_config.json of a folder; none if there is no such file. A model
/// with parts besides a decoder is an error.
llvm::Expected<std::optional<GenaiConfig>>
readGenaiConfig(llvm::StringRef folder);

/// Fails if the bytes of the decoder's file contradict a size.
llvm::Error checkSizes(const GenaiConfig &config, llvm::StringRef file);

} // namespace frit

#endif // FRIT_COMPILER_DRIVER_OPTIONS_GENAICONFIG_H
