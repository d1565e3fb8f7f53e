//===- Tokenizer.h - Turn text into tokens and back -----------------------===//
//
//   Tokenizer tokenizer;
//   if (Fault fault = Tokenizer::load("model", tokenizer))
//     return fault;
//   std::vector<TokenId> ids;
//   if (Fault fault = tokenizer.encode("text", Specials::add, ids))
//     return fault;
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_TOOLS_TOKENIZER_TOKENIZER_H
#define FRIT_TOOLS_TOKENIZER_TOKENIZER_H

#include "tools/support/Bytes.h"
#include "tools/tokenizer/model/Trie.h"

#include <memory>
#include <optional>
#include <span>

namespace frit::tokenizer {

struct Parts;

/// Whether the tokens that the file wants at both ends are added, such as the
/// one that begins a text.
enum class Specials { add, omit };
/// Whether tokens that steer the model are part of decoded text.
enum class Shown { text, everything };

/// Copies share what was loaded, which does not change: any number of threads
/// may use it. Before `load`, only assignment and destruction are possible.
class Tokenizer {
public:
  /// Loads a folder with tokenizer.json, such a file, or a GGUF file. Reads
  /// tokenizer_config.json, generation_config.json, genai_config.json and
  /// chat_template.jinja beside tokenizer.json if they are there.
  static tools::Fault load(const std::string &path, Tokenizer &tokenizer);
  /// Read the bytes of a tokenizer.json and of a GGUF file.
  static tools::Fault readJson(tools::Bytes bytes, Tokenizer &tokenizer);
  static tools::Fault readGguf(tools::Bytes bytes, Tokenizer &tokenizer);

  /// Appends the tokens of a text. Texts of special tokens within it become
  /// these tokens. Fails if the text is no UTF-8 or has a character that no
  /// token stands for.
  tools::Fault encode(std::string_view text, Specials specials,
                      std::vector<TokenId> &ids) const;

  /// Returns the text of tokens, always UTF-8: U+FFFD stands for bytes that are
  /// not. Ids without a token count for nothing, because models have more ids
  /// than tokens.
  tools::Fault decode(std::span<const TokenId> ids, Shown shown,
                      std::string &text) const;

  /// Returns one more than the largest id.
  size_t size() const;
  /// Returns the token's own text, in which spaces and bytes may be other
  /// characters; null if there is none.
  const std::string *textOf(TokenId id) const;
  std::optional<TokenId> find(std::string_view text) const;

  /// Returns the token that begins a text, if the files name one.
  std::optional<TokenId> begin() const;
  /// Returns the tokens after which a model has no more to say; none if the
  /// files name none.
  const std::vector<TokenId> &ends() const;
  /// Returns the Jinja template of conversations; empty if there is none.
  const std::string &chatTemplate() const;
  /// Returns that of conversations with tools, if there is one of its own.
  const std::string &toolTemplate() const;
  /// Returns what templates call tokens, as "bos_token", and their texts.
  const std::vector<std::pair<std::string, std::string>> &namedTokens() const;

private:
  friend class TextStream;
  std::shared_ptr<const Parts> parts;
};

/// Decodes tokens one by one, as a model makes them.
class TextStream {
public:
  explicit TextStream(Tokenizer tokenizer, Shown shown = Shown::text)
      : tokenizer(std::move(tokenizer)), shown(shown) {}

  /// Appends what one more token adds to the text. Holds back a character
  /// until its last byte is there.
  tools::Fault push(TokenId id, std::string &text);
  /// Appends what was held back, and begins again.
  tools::Fault finish(std::string &text);

private:
  tools::Fault advance(bool isEnd, std::string &text);

  Tokenizer tokenizer;
  Shown shown;
  /// The last tokens' own texts. The first `shownTexts` of them, and
  /// `shownBytes` of what they decode to, were appended.
  std::vector<std::string> texts;
  size_t shownTexts = 0, shownBytes = 0;
};

} // namespace frit::tokenizer

#endif // FRIT_TOOLS_TOKENIZER_TOKENIZER_H
