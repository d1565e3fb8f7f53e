//===- ReadConfig.h - Read config.json of Hugging Face --------------------===//

#ifndef FRIT_COMPILER_DECODER_READCONFIG_H
#define FRIT_COMPILER_DECODER_READCONFIG_H

#include "compiler/decoder/Families.h"
#include "compiler/decoder/JsonFields.h"

namespace frit::decoder {

/// The most layers that a model may have.
inline constexpr int64_t kMostLayers = 1000;

/// Reads the text of a config.json, as transformers 4 and 5 write it. None
/// after an error at `loc`: an unknown family or kind of rotary positions, a
/// quantised model, a missing or wrong member.
std::optional<DecoderConfig> readConfig(llvm::StringRef text,
                                        mlir::Location loc);

/// Reads the rotary positions of all layers into `config`, and which layers
/// have which. Wrong members clear `fields.isGood`.
void readRotaries(JsonFields &fields, mlir::Location loc, const Family &family,
                  DecoderConfig &config);

/// Reads all but the type and the activation of a model that has an encoder:
/// T5 or Whisper. Wrong members clear `fields.isGood`.
void readEncoderDecoder(JsonFields &fields, const Family &family,
                        DecoderConfig &config);

} // namespace frit::decoder

#endif // FRIT_COMPILER_DECODER_READCONFIG_H
