//===- ScoredPairs.h - SentencePiece's byte pair encoding -----------------===//

#ifndef FRIT_TOOLS_TOKENIZER_MODEL_SCOREDPAIRS_H
#define FRIT_TOOLS_TOKENIZER_MODEL_SCOREDPAIRS_H

#include "tools/tokenizer/model/Model.h"

namespace frit::tokenizer {

/// Merges neighbours that together are a token, of all such pairs the one of
/// highest score first. Characters that are no token become tokens of bytes.
class ScoredPairs final : public Model {
public:
  /// The vocabulary outlives the model. `scores` has one for each id.
  ScoredPairs(const Vocabulary &vocabulary, std::vector<float> scores,
              std::optional<TokenId> unknown)
      : vocabulary(vocabulary), scores(std::move(scores)), unknown(unknown) {}

  tools::Fault tokenize(std::string_view piece,
                        std::vector<TokenId> &ids) const override;

private:
  const Vocabulary &vocabulary;
  std::vector<float> scores;
  std::optional<TokenId> unknown;
};

} // namespace frit::tokenizer

#endif // FRIT_TOOLS_TOKENIZER_MODEL_SCOREDPAIRS_H
