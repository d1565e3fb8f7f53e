//===- Decoder.h - Turn the texts of tokens into text ---------------------===//

#ifndef FRIT_TOOLS_TOKENIZER_DECODER_H
#define FRIT_TOOLS_TOKENIZER_DECODER_H

#include "tools/tokenizer/Json.h"
#include "tools/tokenizer/Pattern.h"

#include <functional>
#include <optional>

namespace frit::tokenizer {

/// Changes the texts of consecutive tokens, which are joined in the end.
using DecoderStep = std::function<tools::Fault(std::vector<std::string> &)>;

/// Immutable once it is read, so any number of threads may use it.
struct Decoder {
  /// How tokens stand for parts of characters.
  enum class Bytes { none, byteLevel, byteTokens };

  std::vector<DecoderStep> steps;
  Bytes bytes = Bytes::none;
  /// Without steps, tokens are words.
  bool joinsWithSpaces = false;

  /// Joins what the texts of tokens say.
  tools::Fault decode(std::vector<std::string> texts, std::string &text) const;

  /// Returns the bytes that one token's text stands for, as far as the ends of
  /// characters depend on them.
  std::string bytesOf(const std::string &text) const;
};

/// Reads tokenizer.json's "decoder".
tools::Fault readDecoder(const Node &node, Decoder &decoder);

/// Steps of more than one file format.
DecoderStep decodeByteLevel();
DecoderStep decodeByteTokens();
DecoderStep decodeReplace(Regex regex, std::string by);
DecoderStep decodeFuse();
/// Cuts up to `left` and `right` times a character off both ends of each text.
DecoderStep decodeStrip(std::string character, uint32_t left, uint32_t right);

} // namespace frit::tokenizer

#endif // FRIT_TOOLS_TOKENIZER_DECODER_H
