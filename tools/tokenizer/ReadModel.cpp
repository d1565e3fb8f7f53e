//===- ReadModel.cpp - Read tokenizer.json's "model" ----------------------===//

#include "tools/tokenizer/Parts.h"
#include "tools/tokenizer/model/Bpe.h"
#include "tools/tokenizer/model/Unigram.h"

using namespace frit::tokenizer;
using frit::tools::Fault;

static Fault readVocabulary(const Node &node, Vocabulary &vocabulary) {
  if (!node.value().is_object())
    return node.fault("expected an object of tokens with their ids");
  for (const auto &[text, id] : node.value().items()) {
    if (!id.is_number_unsigned())
      return node.fault("token '" + text + "' has an id that is no integer");
    if (Fault fault = vocabulary.add(text, id.get<uint64_t>()))
      return node.fault(fault.message());
  }
  return {};
}

/// Sets the parts of a merge: ["a", "b"] or "a b".
static bool splitMerge(const Json &json, std::string &left,
                       std::string &right) {
  if (json.is_array()) {
    if (json.size() != 2 || !json[0].is_string() || !json[1].is_string())
      return false;
    left = json[0].get<std::string>();
    right = json[1].get<std::string>();
    return true;
  }
  if (!json.is_string())
    return false;
  std::string pair = json.get<std::string>();
  size_t space = pair.find(' ');
  if (space == pair.npos || pair.find(' ', space + 1) != pair.npos)
    return false;
  left = pair.substr(0, space);
  right = pair.substr(space + 1);
  return true;
}

static Fault readBpeOptions(const Node &node, Bpe::Options &options) {
  double dropout = 0;
  if (Fault fault = node["dropout"].readOptional(dropout))
    return fault;
  if (dropout)
    return node["dropout"].fault("tokens at random are not supported");
  if (Fault fault = node["unk_token"].readOptional(options.unknown))
    return fault;
  if (Fault fault =
          node["continuing_subword_prefix"].readOptional(options.prefix))
    return fault;
  if (Fault fault = node["end_of_word_suffix"].readOptional(options.suffix))
    return fault;
  if (Fault fault = node["fuse_unk"].readOptional(options.fusesUnknown))
    return fault;
  if (Fault fault =
          node["byte_fallback"].readOptional(options.fallsBackToBytes))
    return fault;
  return node["ignore_merges"].readOptional(options.takesWholePieces);
}

static Fault readBpe(const Node &node, Parts &parts) {
  Bpe::Options options;
  if (Fault fault = readBpeOptions(node, options))
    return fault;
  if (Fault fault = readVocabulary(node["vocab"], parts.vocabulary))
    return fault;
  auto bpe = std::make_unique<Bpe>(parts.vocabulary, std::move(options));
  const Node merges = node["merges"];
  if (!merges.isArray())
    return merges.fault("expected an array");
  for (size_t index = 0; index < merges.value().size(); ++index) {
    std::string left, right;
    if (!splitMerge(merges.value()[index], left, right))
      return merges.element(index).fault("expected two tokens");
    if (Fault fault = bpe->addMerge(left, right))
      return merges.fault(fault.message());
  }
  if (Fault fault = bpe->finish())
    return node["unk_token"].fault(fault.message());
  parts.model = std::move(bpe);
  return {};
}

static Fault readUnigram(const Node &node, Parts &parts) {
  bool fallsBackToBytes = false;
  if (Fault fault = node["byte_fallback"].readOptional(fallsBackToBytes))
    return fault;
  const Node list = node["vocab"];
  if (!list.isArray())
    return list.fault("expected an array");
  std::vector<double> scores;
  for (size_t id = 0; id < list.value().size(); ++id) {
    const Json &pair = list.value()[id];
    if (!pair.is_array() || pair.size() != 2 || !pair[0].is_string() ||
        !pair[1].is_number())
      return list.element(id).fault("expected a token and a number");
    if (Fault fault = parts.vocabulary.add(pair[0].get<std::string>(), id))
      return list.fault(fault.message());
    scores.push_back(pair[1].get<double>());
  }
  std::optional<TokenId> unknown;
  if (!node["unk_id"].isNull()) {
    uint32_t id = 0;
    if (Fault fault = node["unk_id"].read(id))
      return fault;
    if (id >= scores.size())
      return node["unk_id"].fault("it is not in the vocabulary, which has " +
                                  std::to_string(scores.size()) + " tokens");
    unknown = TokenId(id);
  }
  parts.model = std::make_unique<Unigram>(parts.vocabulary, std::move(scores),
                                          unknown, fallsBackToBytes);
  return {};
}

Fault frit::tokenizer::readModel(const Node &node, Parts &parts) {
  std::string type;
  if (Fault fault = node["type"].readOptional(type))
    return fault;
  // Early files do not name it.
  if (type.empty() && node["merges"].isArray())
    type = "BPE";
  if (type == "BPE")
    return readBpe(node, parts);
  if (type == "Unigram")
    return readUnigram(node, parts);
  return type.empty() ? node.fault("it is missing, or has no type")
                      : node.fault("model '" + type +
                                   "' is not supported; BPE and Unigram are");
}
