//===- Vocabulary.h - Tokens and their texts ------------------------------===//

#ifndef FRIT_TOOLS_TOKENIZER_VOCABULARY_H
#define FRIT_TOOLS_TOKENIZER_VOCABULARY_H

#include "tools/support/Fault.h"
#include "tools/tokenizer/model/Trie.h"

#include <optional>
#include <unordered_map>

namespace frit::tokenizer {

/// A map between texts and ids from 0 to 4,194,303, some of which may have no
/// text. Texts have at most 4096 bytes.
class Vocabulary {
public:
  static constexpr uint64_t kMostTokens = 1 << 22;
  static constexpr size_t kMostBytes = 4096;

  /// Adds a token. A text that another token has too means the later one; an id
  /// that has a text already loses it.
  tools::Fault add(std::string text, uint64_t id);

  /// Returns one more than the largest id.
  size_t size() const { return texts.size(); }
  std::optional<TokenId> find(std::string_view text) const;
  /// Returns null if the id has no text.
  const std::string *textOf(TokenId id) const;

  /// Returns the tokens of bytes: "<0xE4>". False if one is missing.
  bool findBytes(std::string_view bytes, std::vector<TokenId> &ids) const;

private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>()(text);
    }
  };

  std::unordered_map<std::string, TokenId, Hash, std::equal_to<>> ids;
  std::vector<std::optional<std::string>> texts;
};

/// Returns "<0xE4>".
std::string byteToken(uint8_t byte);
/// Returns the byte of "<0xE4>"; nothing for any other text.
std::optional<uint8_t> byteOfToken(std::string_view text);

} // namespace frit::tokenizer

#endif // FRIT_TOOLS_TOKENIZER_VOCABULARY_H
