//===- Bpe.h - Byte pair encoding -----------------------------------------===//

#ifndef FRIT_TOOLS_TOKENIZER_MODEL_BPE_H
#define FRIT_TOOLS_TOKENIZER_MODEL_BPE_H

#include "tools/tokenizer/model/Model.h"

namespace frit::tokenizer {

/// Merges neighbours, of all possible pairs the one of lowest rank first.
class Bpe final : public Model {
public:
  struct Options {
    std::string unknown; ///< text of a token; empty for none
    std::string prefix;  ///< of parts that do not begin a piece
    std::string suffix;  ///< of the part that ends a piece
    bool fusesUnknown = false;
    bool fallsBackToBytes = false;
    bool takesWholePieces = false; ///< pieces that are tokens are not merged
  };

  /// The vocabulary outlives the model.
  Bpe(const Vocabulary &vocabulary, Options options)
      : vocabulary(vocabulary), options(std::move(options)) {}

  /// Adds the merge of the next rank. The parts and what they make must be
  /// tokens.
  tools::Fault addMerge(std::string_view left, std::string_view right);

  /// Fails if the unknown token is none of the vocabulary.
  tools::Fault finish();

  tools::Fault tokenize(std::string_view piece,
                        std::vector<TokenId> &ids) const override;

private:
  struct Merge {
    uint32_t rank;
    TokenId result;
  };
  class Merging;

  static uint64_t keyOf(TokenId left, TokenId right) {
    return uint64_t(uint32_t(left)) << 32 | uint32_t(right);
  }
  /// Appends the tokens of single characters.
  void splitCharacters(std::string_view piece, std::vector<TokenId> &ids) const;

  const Vocabulary &vocabulary;
  Options options;
  std::optional<TokenId> unknown;
  std::unordered_map<uint64_t, Merge> merges;
  uint32_t ranks = 0;
};

} // namespace frit::tokenizer

#endif // FRIT_TOOLS_TOKENIZER_MODEL_BPE_H
