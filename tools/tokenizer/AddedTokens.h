//===- AddedTokens.h - Tokens that are found before a text is split -------===//

#ifndef FRIT_TOOLS_TOKENIZER_ADDEDTOKENS_H
#define FRIT_TOOLS_TOKENIZER_ADDEDTOKENS_H

#include "tools/tokenizer/Normalizer.h"
#include "tools/tokenizer/Text.h"
#include "tools/tokenizer/Vocabulary.h"

#include <unordered_set>

namespace frit::tokenizer {

struct AddedToken {
  std::string text;
  TokenId id = 0;
  bool isSpecial = false;    ///< not shown in decoded text
  bool isSingleWord = false; ///< only between characters that are no words'
  bool stripsLeft = false;   ///< takes the white space before it
  bool stripsRight = false;  ///< takes the white space after it
  bool isNormalized = false; ///< found in normalized text
};

/// A part of a text: an added token, or text without one.
struct Segment {
  Span span;
  std::optional<TokenId> id;
};

class AddedTokens {
public:
  tools::Fault add(AddedToken token);
  /// Makes the tokens known to `split`. Texts of tokens that are found in
  /// normalized text become normalized.
  tools::Fault finish(const Normalizer &normalizer);

  /// Splits text at the tokens that are found before, or after, it is
  /// normalized: the leftmost first, then the longest.
  std::vector<Segment> split(std::string_view text, bool isNormalized) const;

  /// Returns null if the token is none of these.
  const AddedToken *find(TokenId id) const;
  /// Returns the last token of a text, as it was added.
  std::optional<TokenId> find(std::string_view text) const;
  /// Returns one more than the largest id.
  size_t size() const { return ids.size(); }

private:
  const AddedToken *longestAt(std::string_view rest, const Trie &trie,
                              size_t &bytes) const;

  std::vector<AddedToken> tokens;
  Vocabulary ids;
  std::unordered_map<TokenId, size_t> places; ///< in `tokens`
  /// Their ids are places.
  Trie raw, normalized;
};

} // namespace frit::tokenizer

#endif // FRIT_TOOLS_TOKENIZER_ADDEDTOKENS_H
