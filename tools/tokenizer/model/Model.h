//===- Model.h - Turn a piece of text into tokens -------------------------===//

#ifndef FRIT_TOOLS_TOKENIZER_MODEL_MODEL_H
#define FRIT_TOOLS_TOKENIZER_MODEL_MODEL_H

#include "tools/tokenizer/Vocabulary.h"

namespace frit::tokenizer {

/// Immutable, so any number of threads may use it.
class Model {
public:
  virtual ~Model() = default;

  /// Appends the tokens of a piece that is not empty. Fails if the piece has a
  /// character that no token can stand for.
  virtual tools::Fault tokenize(std::string_view piece,
                                std::vector<TokenId> &ids) const = 0;
};

} // namespace frit::tokenizer

#endif // FRIT_TOOLS_TOKENIZER_MODEL_MODEL_H
