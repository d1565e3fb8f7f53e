//===- Parts.h - What a tokenizer consists of -----------------------------===//

#ifndef FRIT_TOOLS_TOKENIZER_PARTS_H
#define FRIT_TOOLS_TOKENIZER_PARTS_H

#include "tools/tokenizer/AddedTokens.h"
#include "tools/tokenizer/Decoder.h"
#include "tools/tokenizer/Splitter.h"
#include "tools/tokenizer/model/Model.h"

namespace frit::tokenizer {

/// In the order of use. Immutable once it is read.
struct Parts {
  Parts() = default;
  Parts(const Parts &) = delete; // the model refers to the vocabulary

  AddedTokens added;
  Normalizer normalizer;
  Splitter splitter;
  Vocabulary vocabulary; ///< the model's; added tokens may not be there
  std::unique_ptr<Model> model;
  std::vector<TokenId> before, after; ///< special tokens around a text
  Decoder decoder;

  std::optional<TokenId> begin;
  std::vector<TokenId> ends;
  std::string chatTemplate, toolTemplate;
  /// What templates call tokens, as "bos_token", and their texts.
  std::vector<std::pair<std::string, std::string>> namedTokens;

  /// Both look at added tokens first.
  const std::string *textOf(TokenId id) const;
  std::optional<TokenId> find(std::string_view text) const;
};

/// Reads the value of "model", and makes the model.
tools::Fault readModel(const Node &node, Parts &parts);
/// Reads the value of "post_processor".
tools::Fault readSurroundings(const Node &node, Parts &parts);
/// Reads a tokenizer.json.
tools::Fault readJsonParts(tools::Bytes bytes, Parts &parts);
/// Reads tokens and the template from files beside tokenizer.json.
tools::Fault readNeighbours(const std::string &folder, Parts &parts);
/// Reads a GGUF file's key-values.
tools::Fault readGgufParts(tools::Bytes bytes, Parts &parts);

} // namespace frit::tokenizer

#endif // FRIT_TOOLS_TOKENIZER_PARTS_H
