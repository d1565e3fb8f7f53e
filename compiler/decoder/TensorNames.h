//===- TensorNames.h - Names of tensors on Hugging Face -------------------===//

#ifndef FRIT_COMPILER_DECODER_TENSORNAMES_H
#define FRIT_COMPILER_DECODER_TENSORNAMES_H

#include "compiler/decoder/Config.h"
#include "compiler/decoder/Weights.h"

namespace frit::decoder {

/// Returns the name of the module that has a tensor, after the prefix that all
/// but the head have: "layers.3.self_attn.q_proj".
std::string moduleName(const DecoderConfig &config, const TensorId &id);

/// Returns a tensor's name in the files of a model's family, after the prefix
/// that all but the head have: "layers.3.self_attn.q_proj.weight".
std::string tensorName(const DecoderConfig &config, const TensorId &id);

/// Returns the prefixes that the files of a family may have, the longest
/// first: "model.".
llvm::ArrayRef<llvm::StringRef> tensorPrefixes(const DecoderConfig &config);

/// Returns whether a tensor of the files is not part of the decoder: a buffer
/// that old files have, a tied head, or a model's part for images.
bool isUnused(const DecoderConfig &config, llvm::StringRef name);

} // namespace frit::decoder

#endif // FRIT_COMPILER_DECODER_TENSORNAMES_H
