//===- Unigram.h - The most likely tokens ---------------------------------===//

#ifndef FRIT_TOOLS_TOKENIZER_MODEL_UNIGRAM_H
#define FRIT_TOOLS_TOKENIZER_MODEL_UNIGRAM_H

#include "tools/tokenizer/model/Model.h"

namespace frit::tokenizer {

/// Finds the tokens whose log probabilities have the largest sum.
class Unigram final : public Model {
public:
  /// The vocabulary outlives the model. `scores` has a log probability for each
  /// id.
  Unigram(const Vocabulary &vocabulary, std::vector<double> scores,
          std::optional<TokenId> unknown, bool fallsBackToBytes);

  tools::Fault tokenize(std::string_view piece,
                        std::vector<TokenId> &ids) const override;

private:
  tools::Fault appendUnknown(std::string_view text,
                             std::vector<TokenId> &ids) const;

  const Vocabulary &vocabulary;
  std::vector<double> scores;
  std::optional<TokenId> unknown;
  bool fallsBackToBytes;
  Trie trie;
  double unknownScore = 0;
};

} // namespace frit::tokenizer

#endif // FRIT_TOOLS_TOKENIZER_MODEL_UNIGRAM_H
